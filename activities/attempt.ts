import { cancellationDetails, cancellationSignal, heartbeat } from '@temporalio/activity';
import { type AbortRegistry, RunCancelled } from './abort-registry.ts';
import { executionKey } from './run-access.ts';

/** What one attempt of an activity works with. */
export interface Attempt {
  /** Aborted by a cancellation, a time-out, a worker shutdown. */
  signal: AbortSignal;
  /** True where the run is cancelled, as against a worker that shuts down or an attempt that timed out. */
  cancelRequested: () => boolean;
  /** Beats at once with these details, which every later beat of this attempt repeats. */
  beat: (details: unknown) => void;
}

/**
 * Runs `work` with a signal that hears of a cancellation by both ways, and beats on a timer meanwhile. The first
 * beat comes after a whole interval: a beat is a call to the server, and quick calls need none.
 */
export async function attempt<Result>(
  aborts: AbortRegistry,
  heartbeatMs: number,
  work: (attempt: Attempt) => Promise<Result>,
): Promise<Result> {
  const { signal, release } = aborts.register(executionKey());
  let last: unknown;
  const timer = setInterval(() => heartbeat(last), heartbeatMs);
  try {
    return await work({
      signal: AbortSignal.any([signal, cancellationSignal()]),
      cancelRequested: () => signal.reason instanceof RunCancelled || cancellationDetails()?.cancelRequested === true,
      beat: (details) => {
        last = details;
        heartbeat(details);
      },
    });
  } finally {
    clearInterval(timer);
    release();
  }
}
