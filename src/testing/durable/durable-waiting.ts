import { setTimeout as sleep } from 'node:timers/promises';
import type { RunHandle } from '../../client/run-handle.ts';
import type { ApprovalView } from '../../core/domain/approvals/approval.ts';
import { isToolCall } from '../../core/domain/content/content.ts';
import type { Event } from '../../core/domain/record/event.ts';
import type { ApprovalDriver } from '../harness/approval-driver.ts';

/** How often a run is looked at, in milliseconds: at once where something happens, seldom where nothing does. */
const SHORTEST_PAUSE_MS = 15;
const LONGEST_PAUSE_MS = 250;

/** When attending a run is over. */
export interface Attendance {
  signal: AbortSignal;
  /** Called if the run waits for what will not come. Always rejects. */
  stuck: (pending: readonly ApprovalView[]) => Promise<never>;
}

/** Lets the people of a test deal with what waits in a run on a server, until the signal is aborted. */
export async function attendRun(run: RunHandle<unknown>, attendant: ApprovalDriver, { signal, stuck }: Attendance): Promise<void> {
  const events: Event[] = [];
  let pauseMs = SHORTEST_PAUSE_MS;
  while (!signal.aborted) {
    // In this order: a result that is missing here may have come before what waits is read.
    for await (const event of run.events({ from: events.length })) events.push(event);
    const { pending } = await run.approvals();
    const waitsIdly = isIdle(events, pending);
    if (waitsIdly && (await attendant.attend(pending))) pauseMs = SHORTEST_PAUSE_MS;
    else if (waitsIdly && pending.every(({ deadlineAt }) => deadlineAt === undefined)) await requireDeadline(run, () => stuck(pending));
    await sleep(pauseMs);
    pauseMs = Math.min(pauseMs * 1.5, LONGEST_PAUSE_MS);
  }
}

/** Something waits, and nothing else of the run goes on: all other calls of the response have their results. */
function isIdle(events: readonly Event[], pending: readonly ApprovalView[]): boolean {
  if (pending.length === 0) return false;
  if (pending.some(({ kind }) => kind === 'limit')) return true;
  const response = events.findLastIndex(({ content }) => content.some(isToolCall));
  const calls = events[response]?.content.filter(isToolCall).length ?? 0;
  const results = events.slice(response + 1).flatMap(({ content }) => content.filter(({ type }) => type === 'tool_result')).length;
  return calls - results === pending.length;
}

/** The deadline of the run ends the wait as well. */
async function requireDeadline(run: RunHandle<unknown>, stuck: () => Promise<never>): Promise<void> {
  const { limits, status } = await run.status();
  if (status === 'pending_confirmation' && (limits?.deadlineMs === undefined || limits.onLimit === 'ask')) await stuck();
}
