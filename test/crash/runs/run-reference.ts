import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import { setTimeout as pause } from 'node:timers/promises';
import { runHistory } from '../../../src/history/history-events.ts';
import { RunChain } from '../../../src/client/read/chain.ts';
import { AGENT_RUN, type RunInput } from '../../../src/core/protocol.ts';
import type { Waiting } from '../processes/crash-worker.ts';
import { kill, type CrashTestbed } from '../processes/crash-testbed.ts';
import { retryWhileDown, within } from '../processes/retry-while-down.ts';
import { IDLE } from '../points/points.ts';
import { AGENT } from '../reference/reference-agent.ts';
import { DEPS, REFUND } from '../reference/reference-script.ts';
import type { RunRecord } from './run-record.ts';

/** The longest wait is that for an attempt without heartbeats, which is given up after a minute. */
const PATIENCE_MS = 150_000;

/** A task whose worker has died is given to another one after this time. */
const TASK_TIMEOUT_MS = 2_000;

const LOOK_EVERY_MS = 20;

/** The disturbance of a run. */
export type Disturbance =
  | { type: 'none' }
  /** The testbed's victim is killed when the run reaches the point. */
  | { type: 'at'; point: string }
  /** Work that goes on until the run has ended. */
  | { type: 'meanwhile'; work: (ended: AbortSignal) => Promise<void> };

/** Does the reference run. Throws if it does not end. */
export async function runReference(testbed: CrashTestbed, runId: string, disturbance: Disturbance): Promise<RunRecord> {
  const deadline = Date.now() + PATIENCE_MS;
  const { worker, client } = testbed;
  const kills = killsOf(testbed);
  const point = disturbance.type === 'at' ? disturbance.point : undefined;
  await worker.arm(point === undefined || point === IDLE ? undefined : { runId, point, victim: victimOf(testbed) });
  const waiting = waitingOf(testbed, runId);
  await retryWhileDown('The start', deadline, () => start(testbed, runId));
  const run = client.handle(runId);
  const ending = retryWhileDown('The end of the run', deadline, () => run.result({ steps: true }));
  const meanwhile = whileOpen(disturbance, ending);
  // A run that ends before it has waited has the reason in its result.
  const digest = await within('The wait for the approval', deadline, Promise.race([waiting, ending.then(() => undefined)]));
  await idle(testbed, runId, deadline);
  if (point === IDLE) await kill(testbed, testbed.pass);
  const { status, waitingFor } = await retryWhileDown('The status', deadline, () => run.status());
  if (digest !== undefined)
    await retryWhileDown('The approval', deadline, () => run.approve({ callId: REFUND, digest }, { id: 'yes', by: 'boss' }));
  const result = (await ending).toJSON();
  await meanwhile;
  const events = await retryWhileDown('Reading the events', deadline, () => Array.fromAsync(run.events()));
  const timedOut = await retryWhileDown('Reading the history', deadline, () => timedOutOf(testbed, runId));
  const { executions } = await retryWhileDown('The status', deadline, () => run.status());
  await worker.whenReady();
  const effects = testbed.ledger.effects(runId);
  return { runId, result, events, waiting: { status, waitingFor }, executions, effects, timedOut, kills: killsOf(testbed) - kills };
}

/** Starts the run like the client, but with a time limit for workflow tasks, which the client does not offer. */
async function start({ client, taskQueue }: CrashTestbed, runId: string): Promise<void> {
  const input: RunInput = { agent: AGENT, input: 'Please see to the order', deps: DEPS };
  try {
    await client.temporal.workflow.start<(input: RunInput) => Promise<unknown>>(AGENT_RUN, {
      workflowId: runId,
      taskQueue,
      args: [input],
      workflowTaskTimeout: TASK_TIMEOUT_MS,
    });
  } catch (error) {
    // The answer to an earlier attempt was lost.
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
  }
}

/** Waits for the pending approval, and returns its digest. */
function waitingOf({ worker }: CrashTestbed, runId: string): Promise<string> {
  return new Promise((resolve) => {
    worker.onWaiting = (waiting: Waiting) => {
      if (waiting.runId === runId) resolve(waiting.digest);
    };
  });
}

/** Resolves when the run has no other work than to wait. */
async function idle({ client }: CrashTestbed, runId: string, deadline: number): Promise<void> {
  const handle = client.temporal.workflow.getHandle(runId);
  for (;;) {
    const { raw } = await retryWhileDown('Looking at the run', deadline, () => handle.describe());
    if ((raw.pendingActivities ?? []).length === 0 && !raw.pendingWorkflowTask) return;
    if (Date.now() > deadline) throw new Error('The run did not come to rest');
    await pause(LOOK_EVERY_MS);
  }
}

async function whileOpen(disturbance: Disturbance, ending: Promise<unknown>): Promise<void> {
  if (disturbance.type !== 'meanwhile') return;
  const ended = new AbortController();
  void ending.catch(() => undefined).finally(() => ended.abort());
  await disturbance.work(ended.signal);
}

function victimOf({ pass, worker, server }: CrashTestbed): number {
  return pass === 'worker' ? worker.pid : server.pid;
}

function killsOf({ worker, server }: CrashTestbed): number {
  return worker.kills + server.kills;
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
