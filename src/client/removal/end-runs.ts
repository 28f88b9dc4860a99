import type { Client } from '@temporalio/client';
import { isGone } from '../../history/history-events.ts';
import { requestCancel } from '../../temporal/request-cancel.ts';
import { type RunState, runState } from '../../temporal/run-state.ts';
import { sleep } from '../../temporal/waiting.ts';
import { inBatches } from '../../temporal/in-batches.ts';

/** The reason for which runs are ended, and the time that they have. */
export interface EndRunsOptions {
  /** Shown as the reason of the cancellation, in clear text unless payloads are encrypted. */
  reason: string;
  /** Milliseconds that the runs have to end by themselves. Those that have not are terminated. */
  graceMs: number;
  /** Returns the state of a run, so far as it is to be ended. Default: that of its newest execution. */
  stateOf?: (runId: string) => Promise<RunState>;
  signal?: AbortSignal | undefined;
}

/** Milliseconds after which a run that has begun is listed: most servers take about a second. */
export const LISTING_DELAY_MS = 1_500;

const POLL_MS = 250;

/** Requests that are sent at once. */
const AT_ONCE = 10;

/**
 * Cancels runs, those above before those below, and waits until they have ended. Terminates those that take too long, such as all runs
 * without a worker. Returns the number of those that went on.
 */
export async function endRuns(client: Client, runIds: readonly string[], options: EndRunsOptions): Promise<number> {
  const { reason, graceMs, signal, stateOf = (runId) => runState(client, runId) } = options;
  let open = await stillOpen(runIds, stateOf);
  const ended = open.length;
  // One by one: a run whose child is cancelled first would take the failure for a result and go on.
  for (const runId of open.toSorted((one, other) => one.length - other.length)) await requestCancel(client, runId, reason);
  for (const end = performance.now() + graceMs; open.length > 0 && performance.now() < end;) {
    await sleep(POLL_MS, signal);
    open = await stillOpen(open, stateOf);
  }
  for (const runId of open) await terminate(client, runId, reason);
  return ended;
}

async function terminate(client: Client, runId: string, reason: string): Promise<void> {
  try {
    await client.workflow.getHandle(runId).terminate(reason);
  } catch (error) {
    // It has ended meanwhile.
    if (!isGone(error) && !(error instanceof Error && error.name === 'WorkflowNotFoundError')) throw error;
  }
}

async function stillOpen(runIds: readonly string[], stateOf: (runId: string) => Promise<RunState>): Promise<string[]> {
  const open: string[] = [];
  const states = inBatches(runIds, AT_ONCE, async (runId) => ({ runId, state: await stateOf(runId) }));
  for await (const { runId, state } of states) if (state === 'open') open.push(runId);
  return open;
}
