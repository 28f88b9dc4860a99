import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import { setTimeout as pause } from 'node:timers/promises';
import type { CrashTestbed } from '../processes/crash-testbed.ts';
import { TASK_TIMEOUT_MS, activityPoint, executionName, ofTopRun } from '../points/points.ts';
import { GRPC, grpcCode } from '../../../src/temporal/server-calls.ts';
import { errorMessage, LonghaulError } from '../../../src/core/domain/errors.ts';
import { RunChain } from '../../../src/client/executions.ts';
import { type HistoryEvent, runHistory } from '../../../src/history/history-events.ts';

const LOOK_EVERY_MS = 20;

/** The workflow to start. */
interface Started {
  runId: string;
  workflow: string;
  input: object;
}

/** Returns the place of the caller of a run whose trace is checked, for its start. */
export function callerOf({ traces }: CrashTestbed, runId: string): { traceparent?: string } {
  return traces === undefined ? {} : { traceparent: traces.traceparentOf(runId) };
}

/** Starts a run like the client, but with a time limit for workflow tasks, which the client does not offer. */
export async function startOnce(testbed: CrashTestbed, { runId, workflow, input }: Started): Promise<void> {
  const { client, taskQueue } = testbed;
  try {
    await client.temporal.workflow.start<(input: object) => Promise<unknown>>(workflow, {
      workflowId: runId,
      taskQueue,
      args: [{ ...input, ...callerOf(testbed, runId) }],
      workflowTaskTimeout: TASK_TIMEOUT_MS,
    });
  } catch (error) {
    // The answer to an earlier attempt was lost.
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
  }
}

/** The state of a run on the server. */
interface RunOnServer {
  /** It has no other work than to wait. */
  isIdle: boolean;
  hasContinued: boolean;
}

/** Resolves when the run is as asked. */
export async function untilRun(
  { client }: CrashTestbed,
  { runId, deadline, isMet }: { runId: string; deadline: number; isMet: (run: RunOnServer) => boolean },
): Promise<void> {
  const handle = client.temporal.workflow.getHandle(runId);
  for (;;) {
    const { raw, runId: execution } = await retryWhileDown('Looking at the run', deadline, () => handle.describe());
    const isIdle = (raw.pendingActivities ?? []).length === 0 && !raw.pendingWorkflowTask;
    if (isMet({ isIdle, hasContinued: raw.workflowExecutionInfo?.firstRunId !== execution })) return;
    if (Date.now() > deadline) throw new Error('The run did not come to rest');
    await pause(LOOK_EVERY_MS);
  }
}

const PAUSE_MS = 50;

/** Errors of a server or a connection while the server is down or has just started. */
const PASSING = new Set<number | undefined>([GRPC.cancelled, GRPC.deadlineExceeded, GRPC.unavailable, GRPC.resourceExhausted]);

/** Repeats a request of a client until the deadline while the server may be down. Throws every other error. */
export async function retryWhileDown<Result>(what: string, deadline: number, work: () => Promise<Result>): Promise<Result> {
  for (;;) {
    try {
      return await within(what, deadline, work());
    } catch (error) {
      if (!isPassing(error)) throw error;
      if (Date.now() > deadline) throw new Error(`${what} did not succeed in time: ${errorMessage(error)}`, { cause: error });
      await pause(PAUSE_MS);
    }
  }
}

/** Returns the result, or throws if it takes longer than the deadline. */
export async function within<Result>(what: string, deadline: number, work: Promise<Result>): Promise<Result> {
  const timeUp = Promise.withResolvers<never>();
  const timer = setTimeout(() => timeUp.reject(new Error(`${what} took too long`)), Math.max(0, deadline - Date.now()));
  try {
    return await Promise.race([work, timeUp.promise]);
  } finally {
    clearTimeout(timer);
  }
}

function isPassing(error: unknown): boolean {
  if (error instanceof LonghaulError) return error.code === 'wait_timeout' || error.code === 'server_unreachable';
  return PASSING.has(grpcCode(error));
}

/**
 * The number of attempts that the server has given up because their heartbeats stopped (the process was killed, or too busy for
 * heartbeats), by the points of the activities.
 */
export async function attemptsGivenUp({ client: { temporal } }: CrashTestbed, runIds: readonly string[]): Promise<Map<string, number>> {
  const givenUp = new Map<string, number>();
  for (const runId of runIds) {
    for (const { executionId } of await new RunChain(temporal, runId).executions()) {
      const scheduled = new Map<string, string>();
      for await (const event of runHistory(temporal, runId, executionId)) {
        const { activityTaskStartedEventAttributes: started } = event;
        const execution = executionOf(event);
        if (execution !== undefined) scheduled.set(String(event.eventId), ofTopRun(runId, activityPoint('told', execution)).point);
        const told = scheduled.get(String(started?.scheduledEventId));
        if (told !== undefined && started?.lastFailure?.timeoutFailureInfo) givenUp.set(told, Number(started.attempt) - 1);
      }
    }
  }
  return givenUp;
}

/** Names the execution of an activity that an event schedules. */
function executionOf({ activityTaskScheduledEventAttributes: scheduled }: HistoryEvent): string | undefined {
  const data = scheduled?.input?.payloads?.[0]?.data;
  if (!scheduled || !data) return undefined;
  return executionName(scheduled.activityType?.name ?? '', JSON.parse(Buffer.from(data).toString()));
}
