import { setTimeout as sleep } from 'node:timers/promises';
import type { RunHandle } from '../../client/run-handle.ts';
import type { ApprovalView } from '../../core/domain/approvals/approval.ts';
import { isToolCall } from '../../core/domain/content/content.ts';
import type { Event } from '../../core/domain/record/event.ts';
import type { ApprovalDriver } from '../harness/approval-driver.ts';

/** The interval between two looks at a run, in milliseconds: short after an event, longer when nothing happens. */
const SHORTEST_INTERVAL_MS = 15;
const LONGEST_INTERVAL_MS = 250;

/** Ends driving the approvals of a run. */
export interface DrivingEnd {
  signal: AbortSignal;
  /** Called if the run waits for a decision that the test does not make. Always rejects. */
  undecided: (pending: readonly ApprovalView[]) => Promise<never>;
}

/** Makes the test's decisions in a run on a server until the signal is aborted. */
export async function driveApprovals(run: RunHandle<unknown>, driver: ApprovalDriver, { signal, undecided }: DrivingEnd): Promise<void> {
  const events: Event[] = [];
  let intervalMs = SHORTEST_INTERVAL_MS;
  while (!signal.aborted) {
    // Events are read before pending calls: a result that is missing here may have arrived before the pending calls
    // are read.
    for await (const event of run.events({ from: events.length })) events.push(event);
    const { pending } = await run.approvals();
    const waitsIdly = isIdle(events, pending);
    if (waitsIdly && (await driver.decideNext(pending))) intervalMs = SHORTEST_INTERVAL_MS;
    else if (waitsIdly && pending.every(({ deadlineAt }) => deadlineAt === undefined)) await requireDeadline(run, () => undecided(pending));
    await sleep(intervalMs);
    intervalMs = Math.min(intervalMs * 1.5, LONGEST_INTERVAL_MS);
  }
}

/** True if a decision is pending and nothing else is running: all other calls of the response have results. */
function isIdle(events: readonly Event[], pending: readonly ApprovalView[]): boolean {
  if (pending.length === 0) return false;
  if (pending.some(({ kind }) => kind === 'limit')) return true;
  // In a program each call has an event of its own, and several may be open.
  const isProgram = events.some(({ step }) => step !== undefined);
  const response = events.findLastIndex(({ content }) => content.some(isToolCall));
  if (isProgram) return openCalls(events) === pending.length;
  const calls = events[response]?.content.filter(isToolCall).length ?? 0;
  const results = events.slice(response + 1).flatMap(({ content }) => content.filter(({ type }) => type === 'tool_result')).length;
  return calls - results === pending.length;
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
