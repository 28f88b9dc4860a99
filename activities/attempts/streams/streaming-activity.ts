import { activityInfo } from '@temporalio/activity';
import type { AgentSnapshot } from '../../../src/core/domain/agent/agent-snapshot.ts';
import type { StreamedAttempt, StreamEntry } from '../../../src/core/domain/stream/stream-entry.ts';
import { type OfRun, QUERIES } from '../../../src/core/protocol.ts';
import { executionKey, queryRun } from '../../run-queries/access.ts';
import type { ActivityRuntime } from '../../runtime.ts';
import type { Attempt } from '../attempt.ts';
import { attemptNumber } from '../worker-wait.ts';

/** Publishes entries for the run that an attempt of an activity belongs to. */
export interface ActivityOfStream {
  publish(entry: StreamEntry): void;
}

/** Returns the part of a streamed attempt that tells it from others. */
export function currentAttempt(): Pick<StreamedAttempt, 'executionId' | 'activity' | 'attempt'> {
  const { workflowExecution, activityId } = activityInfo();
  // The SDK numbers the activities of an execution.
  return { executionId: workflowExecution?.runId ?? '', activity: Number(activityId) || 0, attempt: attemptNumber() };
}

/**
 * Returns the stream of the run of the current activity; undefined if the worker has no sink. Runs inside a workflow of the user are not
 * streamed: their record cannot be read by a handle. `snapshot`: the agent of the run, if the activity knows it.
 */
export function streamingActivity(
  { streams }: Pick<ActivityRuntime, 'streams'>,
  run: OfRun,
  attempt: Pick<Attempt, 'stream'>,
  snapshot?: AgentSnapshot,
): ActivityOfStream | undefined {
  const { workflowExecution, isLocal } = activityInfo();
  if (streams === undefined || run.run !== undefined || workflowExecution === undefined) return undefined;
  const { workflowId } = workflowExecution;
  const publish = (entry: StreamEntry, live: boolean): void =>
    streams.publish(workflowId, entry, { live, heartbeat: (details) => attempt.stream(details) });
  const key = executionKey();
  if (snapshot !== undefined) streams.live.set(key, snapshot.live === true);
  // A local call has no heartbeats, and its run answers no query meanwhile.
  const isLive = !streams.usesHeartbeats || isLocal ? false : streams.live.get(key);
  if (isLive !== undefined) return { publish: (entry) => publish(entry, isLive) };
  let asked: Promise<boolean> | undefined;
  const ask = async (): Promise<boolean> => {
    const live = (await queryRun<AgentSnapshot>(run, QUERIES.snapshot, null)).live === true;
    streams.live.set(key, live);
    return live;
  };
  return {
    publish: (entry) => {
      asked ??= ask().catch(() => false);
      // Each entry waits for the answer, so they keep their order.
      void asked.then((live) => publish(entry, live));
    },
  };
}
