import type { AgentSnapshot } from '../../../src/core/domain/agent/agent-snapshot.ts';
import type { OfRun } from '../../../src/core/protocol.ts';
import type { ActivityRuntime } from '../../runtime.ts';
import type { Attempt } from '../attempt.ts';
import { CallStream } from './call-stream.ts';
import { currentAttempt, streamingActivity } from './streaming-activity.ts';

/** Begins the stream of an attempt; undefined if the run is not streamed. */
export type BeginStream = (attempt: Pick<Attempt, 'stream'>) => CallStream | undefined;

/** The model call whose answer is streamed. */
export interface StreamedModelCall {
  run: OfRun;
  snapshot: AgentSnapshot;
  /** The id of the event that will hold the answer. */
  eventId: string;
  /** The number of events that the run had recorded. Absent for a step of a program: steps run side by side. */
  through?: number;
  /** The address of the step of a program. */
  callId?: string;
}

/** Returns the function that begins the stream of an attempt of a model call, and announces the attempt. */
export function modelStream(runtime: ActivityRuntime, { run, snapshot, ...call }: StreamedModelCall): BeginStream {
  return (attempt) => {
    const activity = streamingActivity(runtime, run, attempt, snapshot);
    if (activity === undefined) return undefined;
    const stream = new CallStream({ ...call, ...currentAttempt() }, (entry) => activity.publish(entry));
    stream.begin();
    return stream;
  };
}
