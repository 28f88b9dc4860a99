import type { StreamedAttempt } from '../../core/domain/stream.ts';
import type { PublishingActivity, StreamChannel } from '../stream-sink.ts';

/** A sink as the cases use it. */
export interface TestedSink {
  /** Opens the sink for a worker or a client. Each call opens another channel to the same entries. */
  open(side: 'worker' | 'client'): StreamChannel;
  /** Returns the activity that publishes about an attempt. Default: one of a live run, whose heartbeats are not sent. */
  activity?(runId: string, of: StreamedAttempt): PublishingActivity;
}

/** One behaviour that every sink of live output has. */
export interface StreamSinkCase {
  /** The behaviour in a sentence without a subject: "yields entries in the order of their publication". */
  name: string;
  /** Rejects with an AssertionError if the sink behaves differently. Every case has runs of its own, and closes what it opens. */
  run(sink: TestedSink): Promise<void>;
}
