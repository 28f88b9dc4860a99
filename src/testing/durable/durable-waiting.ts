import { setTimeout as sleep } from 'node:timers/promises';
import type { RunHandle } from '../../client/run-handle.ts';
import type { ApprovalView } from '../../core/domain/approvals/approval.ts';
import { type ContentItem, isToolCall, type ToolCall } from '../../core/domain/content/content.ts';
import { TRANSFER_TO_AGENT } from '../../core/domain/handoffs/handoff-policy.ts';
import type { Event } from '../../core/domain/record/event.ts';
import type { ApprovalDriver } from '../harness/approval-driver.ts';

/** The interval between two looks at a run, in milliseconds: short after an event, longer when nothing happens. */
const SHORTEST_INTERVAL_MS = 15;
const LONGEST_INTERVAL_MS = 250;

/** Ends driving the approvals of a run. */
export interface DrivingEnd {
  signal: AbortSignal;
  /** Returns a child of the run, whose decisions the test makes too. */
  child: (runId: string) => RunHandle<unknown>;
  /** Called if the run waits for a decision that the test does not make. Always rejects. */
  undecided: (pending: readonly ApprovalView[]) => Promise<never>;
}

/** Makes the test's decisions in a run on a server, and in its children, until the signal is aborted. */
export async function driveApprovals(
  run: RunHandle<unknown>,
  driver: ApprovalDriver,
  { signal, child, undecided }: DrivingEnd,
): Promise<void> {
  const events: Event[] = [];
  const waitingRuns = new Map<string, Event[]>();
  let intervalMs = SHORTEST_INTERVAL_MS;
  while (!signal.aborted) {
    // Events are read before pending calls: a result that is missing here may have arrived before the pending calls
    // are read.
    await readOn(run, events);
    for (const [runId, ofChild] of waitingRuns) await readOn(child(runId), ofChild);
    const pending = withoutOwnId(run.runId, (await run.approvals()).pending);
    const waitsIdly = pending.length > 0 && areIdle(pending, { runId: run.runId, events, waitingRuns });
    if (waitsIdly && (await driver.decideNext(pending))) intervalMs = SHORTEST_INTERVAL_MS;
    else if (waitsIdly && pending.every(({ deadlineAt }) => deadlineAt === undefined)) await requireDeadline(run, () => undecided(pending));
    await sleep(intervalMs);
    intervalMs = Math.min(intervalMs * 1.5, LONGEST_INTERVAL_MS);
  }
}

/** Returns approvals of which only those of runs below name their run, as those of a run in memory do. */
function withoutOwnId(ownId: string, pending: readonly ApprovalView[]): ApprovalView[] {
  return pending.map(({ runId, ...waiting }) => (runId === undefined || runId === ownId ? waiting : { ...waiting, runId }));
}

async function readOn(run: RunHandle<unknown>, events: Event[]): Promise<void> {
  for await (const event of run.events({ from: events.length })) events.push(event);
}

/** The events of a run, and of its children in which decisions are pending. */
interface ReadEvents {
  runId: string;
  events: readonly Event[];
  waitingRuns: Map<string, Event[]>;
}

/** True if nothing is running in the run and in those below it that wait. A child that has just begun to wait is read first. */
function areIdle(pending: readonly ApprovalView[], { runId: root, events, waitingRuns }: ReadEvents): boolean {
  const waiting = new Set(pending.flatMap(({ runId }) => runId ?? []));
  const isKnown = [...waiting].every((runId) => waitingRuns.has(runId));
  for (const runId of waiting) if (!waitingRuns.has(runId)) waitingRuns.set(runId, []);
  for (const runId of waitingRuns.keys()) if (!waiting.has(runId)) waitingRuns.delete(runId);
  const of = (run: string | undefined): ApprovalView[] => pending.filter(({ runId }) => runId === run);
  const below = (run: string): number => childrenAmong(run, waiting);
  return (
    isKnown &&
    isIdle(events, of(undefined), below(root)) &&
    [...waitingRuns].every(([run, ofChild]) => isIdle(ofChild, of(run), below(run)))
  );
}

/** Returns the number of children of a run that wait, or that have runs below them which wait. */
function childrenAmong(runId: string, waiting: ReadonlySet<string>): number {
  const below = [...waiting].filter((one) => one.startsWith(`${runId}/`));
  return new Set(below.map((one) => one.slice(runId.length + 1).split('/', 1)[0])).size;
}

/** True if nothing is running beside the pending decisions, and the agents below that wait: all other calls of the response have results. */
function isIdle(events: readonly Event[], pending: readonly ApprovalView[], below: number): boolean {
  if (pending.some(({ kind }) => kind === 'limit')) return true;
  // In a program each call has an event of its own, and several may be open.
  const isProgram = events.some(({ step }) => step !== undefined);
  const response = events.findLastIndex(({ content }) => content.some(isToolCall));
  if (isProgram) return openCalls(events) === pending.length;
  const since = events.slice(response).flatMap(({ content }) => content);
  // A transfer starts once all other calls have ended.
  const waits = (item: ContentItem): boolean => isToolCall(item) && (item.name !== TRANSFER_TO_AGENT || isPending(item, pending));
  const results = since.filter((item) => item.type === 'tool_result' && item.name !== TRANSFER_TO_AGENT);
  return since.filter(waits).length - results.length === pending.length + below;
}

function isPending({ toolCallId }: ToolCall, pending: readonly ApprovalView[]): boolean {
  return pending.some(({ callId }) => callId === toolCallId);
}

/** Returns the number of calls that have no result yet. */
function openCalls(events: readonly Event[]): number {
  const items = events.flatMap(({ content }) => content);
  const ended = new Set(items.flatMap((item) => (item.type === 'tool_result' ? [item.toolCallId] : [])));
  return items.filter((item) => isToolCall(item) && !ended.has(item.toolCallId)).length;
}

/** Rejects unless the run has a deadline, which would end the wait too. */
async function requireDeadline(run: RunHandle<unknown>, undecided: () => Promise<never>): Promise<void> {
  const { limits, status } = await run.status();
  if (status === 'pending_confirmation' && (limits?.deadlineMs === undefined || limits.onLimit === 'ask')) await undecided();
}
