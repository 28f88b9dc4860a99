import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import { setTimeout as pause } from 'node:timers/promises';
import type { CrashTestbed } from '../processes/crash-testbed.ts';
import { retryWhileDown } from '../processes/retry-while-down.ts';
import { TASK_TIMEOUT_MS } from '../points/points.ts';

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
export interface RunOnServer {
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
