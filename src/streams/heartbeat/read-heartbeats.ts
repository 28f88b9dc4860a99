import { pause, unlessAborted } from '../bounded-wait.ts';
import type { StreamRead } from '../stream-sink.ts';
import { type CallsInFlight, type ReadCallsRequest, readCalls } from './calls-in-flight.ts';
import { readPosition } from './heartbeat-position.ts';
import { PollPace } from './poll-pace.ts';
import { ReadersPlace } from './readers-place.ts';

/** The circumstances of one reader. */
export interface HeartbeatReader extends ReadCallsRequest {
  everyMs: number;
  idleMs: number;
  after: string | undefined;
  signal: AbortSignal;
}

/** Yields the output of the live calls of a run, as far as their heartbeats have it. */
export async function* readHeartbeats({ everyMs, idleMs, after, signal, ...request }: HeartbeatReader): AsyncGenerator<StreamRead> {
  const resumed = after === undefined ? undefined : readPosition(after);
  const pace = new PollPace(everyMs, idleMs);
  const place = new ReadersPlace(request.runId, resumed ?? new Map());
  let isChecked = resumed === undefined;
  if (after !== undefined && resumed === undefined && !signal.aborted) yield { type: 'lost' };
  while (!signal.aborted) {
    const calls = await unlessAborted<CallsInFlight | undefined>(
      readCalls(request).catch(() => undefined),
      signal,
    );
    if (calls !== undefined) {
      const hasEnded = place.forgetEnded(calls.outputs);
      // Between two looks, a reader misses the end of each attempt, which the event with the answer follows at once. A longer absence is told.
      if (hasEnded && !isChecked) yield { type: 'lost', position: place.position };
      isChecked = true;
      for (const output of calls.outputs) {
        for (const read of place.read(output)) {
          if (signal.aborted) return;
          yield read;
        }
      }
    }
    await pause(pace.next(calls), signal);
  }
}
