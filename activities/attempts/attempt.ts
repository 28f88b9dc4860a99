import { activityInfo, cancellationDetails, cancellationSignal, heartbeat } from '@temporalio/activity';
import { MISSED_HEARTBEATS } from '../../src/core/domain/agent/tool-policy.ts';
import type { AbortRegistry } from './abort-registry.ts';
import { heartbeatDetails } from './heartbeat-details.ts';
import { withUncountedAttempts } from '../../src/core/domain/errors/worker-wait.ts';
import { executionKey } from '../run-queries/run-access.ts';
import { lackedAttempts } from './waiting-attempt.ts';

/** What one attempt of an activity works with. */
export interface Attempt {
  /** Aborted by a cancellation, an interruption, a time-out, a worker shutdown. */
  readonly signal: AbortSignal;
  /** Throws the reason of the signal, where it is aborted. */
  throwIfAborted(): void;
  /** Aborts the signal, unless something else has. */
  abort(reason: Error): void;
  /** True where the workflow has given the activity up, as against a worker that shuts down or an attempt that timed out. */
  isGivenUp(): boolean;
  /** Beats at once with these details, which every later beat of this attempt repeats. */
  beat(details: unknown): void;
}

/** How an attempt beats and is reached. */
export interface AttemptOptions {
  heartbeatMs: number;
  /** The run whose messages interrupt the attempt: its key, empty for a run that is a workflow of its own. */
  interruptibleBy?: string;
  /** What a beat of the timer says, until `beat` says something else. */
  details?: () => unknown;
}

/**
 * Runs `work` with a signal that hears of a cancellation by both ways, and beats on a timer meanwhile. The first
 * beat comes after a whole interval: a beat is a call to the server, and quick calls need none.
 */
export async function attempt<Result>(
  aborts: AbortRegistry,
  { heartbeatMs, interruptibleBy, details = () => undefined }: AttemptOptions,
  work: (attempt: Attempt) => Promise<Result>,
): Promise<Result> {
  const { isLocal, heartbeatTimeoutMs } = activityInfo();
  if (isLocal) return work(new LocalAttempt());
  const { controller, release, isGivenUp } = aborts.register(executionKey(), interruptibleBy);
  const { signal } = controller;
  const byServer = cancellationSignal();
  const passOn = (): void => controller.abort(byServer.reason);
  if (byServer.aborted) passOn();
  else byServer.addEventListener('abort', passOn, { once: true });
  let current = details;
  // A tool may ask for more than the worker sends by itself.
  const everyMs = Math.max(1, Math.min(heartbeatMs, (heartbeatTimeoutMs ?? Infinity) / MISSED_HEARTBEATS));
  // What a timer throws would end the process.
  const lacked = lackedAttempts();
  const beat = (): void =>
    heartbeat(
      withUncountedAttempts(
        lacked,
        detailsOf(() => current()),
      ),
    );
  const timer = setInterval(beat, everyMs);
  try {
    return await work({
      signal,
      throwIfAborted: () => signal.throwIfAborted(),
      abort: (reason) => controller.abort(reason),
      isGivenUp: () => isGivenUp() || cancellationDetails()?.cancelRequested === true,
      beat: (beaten) => {
        current = () => beaten;
        beat();
      },
    });
  } finally {
    clearInterval(timer);
    byServer.removeEventListener('abort', passOn);
    release();
  }
}

/** Details that can be sent: with others the SDK would cancel the activity. */
function detailsOf(read: () => unknown): unknown {
  try {
    return heartbeatDetails(read());
  } catch {
    return '[The details of this heartbeat cannot be read]';
  }
}

/**
 * A local call has no heartbeats, and its worker tells it by itself that it is cancelled. It takes milliseconds, and most
 * never look at their signal: it is made for those that do.
 */
class LocalAttempt implements Attempt {
  readonly #byWorker = cancellationSignal();
  #ended: Error | undefined;
  #controller: AbortController | undefined;

  get signal(): AbortSignal {
    return (this.#controller ?? this.#listen()).signal;
  }

  throwIfAborted(): void {
    if (this.#reason() !== undefined) throw this.#reason();
  }

  abort(reason: Error): void {
    this.#ended ??= reason;
    this.#controller?.abort(reason);
  }

  isGivenUp(): boolean {
    return this.#byWorker.aborted;
  }

  beat(): void {
    // Over before one would be due.
  }

  #reason(): unknown {
    return this.#ended ?? (this.#byWorker.aborted ? this.#byWorker.reason : undefined);
  }

  #listen(): AbortController {
    const controller = (this.#controller = new AbortController());
    if (this.#reason() !== undefined) controller.abort(this.#reason());
    else this.#byWorker.addEventListener('abort', () => controller.abort(this.#byWorker.reason), { once: true });
    return controller;
  }
}
