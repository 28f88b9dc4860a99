import type { Event } from '../../../src/core/domain/record.ts';
import type { RunResultJson } from '../../../src/core/domain/result.ts';
import type { Effect } from '../processes/ledger.ts';
import { runHistory } from '../../../src/history/history-events.ts';
import { RunChain } from '../../../src/client/executions.ts';
import { AGENT_RUN, type RunInput } from '../../../src/core/protocol.ts';
import type { CrashTestbed } from '../processes/crash-testbed.ts';
import { retryWhileDown, within, startOnce, untilRun } from './run-on-server.ts';
import { armFor, type Disturbance, disturbUntilEnded, killIdle, killsOf } from '../subject.ts';

/** The data about a run after its end. */
export interface RunRecord {
  runId: string;
  /** With its steps. */
  result: RunResultJson<unknown>;
  events: Event[];
  /** The status of the run while it waited for the decision. */
  waiting: { status: string; waitingFor: string[] };
  /** The number of its executions. */
  executions: number;
  effects: Effect[];
  /** The number of times that worker or server were killed meanwhile. */
  kills: number;
  /** The types of the activities whose last attempt the server has given up. */
  timedOut: string[];
}

/** The longest wait is for an attempt without heartbeats, which is given up after a minute. */
const PATIENCE_MS = 150_000;

/** A run of an agent with one call that waits for an approval. */
interface ApprovedRun {
  runId: string;
  input: RunInput;
  /** The id of the call. */
  callId: string;
}

/** Does a run, and approves its call. Throws if it does not end. */
export async function runApproved(
  testbed: CrashTestbed,
  { runId, input, callId }: ApprovedRun,
  disturbance: Disturbance,
): Promise<RunRecord> {
  const deadline = Date.now() + PATIENCE_MS;
  const { worker, client } = testbed;
  const kills = killsOf(testbed);
  await armFor(testbed, runId, disturbance);
  const waiting = waitingOf(testbed, runId);
  await retryWhileDown('The start', deadline, () => startOnce(testbed, { runId, workflow: AGENT_RUN, input }));
  const run = client.handle(runId);
  const ending = retryWhileDown('The end of the run', deadline, () => run.result({ steps: true }));
  const meanwhile = disturbUntilEnded(disturbance, ending);
  // A run that ends before it has waited has the reason in its result.
  const digest = await within('The wait for the approval', deadline, Promise.race([waiting, ending.then(() => undefined)]));
  await untilRun(testbed, { runId, deadline, isMet: ({ isIdle }) => isIdle });
  await killIdle(testbed, runId, disturbance);
  const { status, waitingFor } = await retryWhileDown('The status', deadline, () => run.status());
  if (digest !== undefined)
    await retryWhileDown('The approval', deadline, () => run.approve({ callId, digest }, { id: 'yes', by: 'boss' }));
  const result = (await ending).toJSON();
  await meanwhile;
  const events = await retryWhileDown('Reading the events', deadline, () => Array.fromAsync(run.events()));
  const timedOut = await retryWhileDown('Reading the history', deadline, () => timedOutOf(testbed, runId));
  const { executions } = await retryWhileDown('The status', deadline, () => run.status());
  await worker.whenReady();
  const effects = testbed.ledger.effects(runId);
  return { runId, result, events, waiting: { status, waitingFor }, executions, effects, timedOut, kills: killsOf(testbed) - kills };
}

/** Waits for the pending approval, and returns its digest. */
function waitingOf({ worker }: CrashTestbed, runId: string): Promise<string> {
  return new Promise((resolve) => {
    worker.listen('waiting', (waiting) => {
      if (waiting.runId === runId) resolve(waiting.digest);
    });
  });
}

/** The types of the activities that have timed out in the history of the run. */
async function timedOutOf({ client: { temporal } }: CrashTestbed, runId: string): Promise<string[]> {
  const types: string[] = [];
  for (const { executionId } of await new RunChain(temporal, runId).executions()) {
    const scheduled = new Map<string, string>();
    for await (const event of runHistory(temporal, runId, executionId)) {
      const { activityTaskScheduledEventAttributes: started, activityTaskTimedOutEventAttributes: timedOut } = event;
      if (started) scheduled.set(String(event.eventId), started.activityType?.name ?? '');
      if (timedOut) types.push(scheduled.get(String(timedOut.scheduledEventId)) ?? '');
    }
  }
  return types;
}
