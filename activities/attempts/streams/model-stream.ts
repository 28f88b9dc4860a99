import { activityInfo } from '@temporalio/activity';
import type { AgentSnapshot } from '../../../src/core/domain/agent/agent-snapshot.ts';
import type { OfRun } from '../../../src/core/protocol.ts';
import type { Attempt } from '../attempt.ts';
import { attemptNumber } from '../worker-wait.ts';
import type { ActivityRuntime } from '../../runtime.ts';
import { CallStream } from './call-stream.ts';

/** Begins the stream of an attempt. */
export type BeginStream = (attempt: Pick<Attempt, 'stream'>) => CallStream;

/** The model call whose answer is streamed. */
export interface StreamedModelCall {
  run: OfRun;
  snapshot: AgentSnapshot;
  /** The id of the event that will hold the answer. */
  eventId: string;
  /** The number of events that the run had recorded. */
  through: number;
}

/**
 * Returns the function that begins the stream of an attempt; undefined if the worker has no sink. Runs inside a workflow of the user
 * are not streamed: their record cannot be read by a handle.
 */
export function modelStream({ streams }: ActivityRuntime, { run, snapshot, eventId, through }: StreamedModelCall): BeginStream | undefined {
  const { workflowExecution } = activityInfo();
  if (streams === undefined || run.run !== undefined || workflowExecution === undefined) return undefined;
  const { workflowId, runId: executionId } = workflowExecution;
  const of = { executionId, eventId, through, attempt: attemptNumber() };
  return (attempt) => {
    const activity = { live: snapshot.live === true, heartbeat: (details: unknown) => attempt.stream(details) };
    const stream = new CallStream(of, (entry) => streams.publish(workflowId, entry, activity));
    stream.begin();
    return stream;
  };
}
