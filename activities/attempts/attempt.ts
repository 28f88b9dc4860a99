import { activityInfo, cancellationDetails, cancellationSignal, Context } from '@temporalio/activity';
import { MISSED_HEARTBEATS } from '../../src/core/domain/agent/tool-policy.ts';
import { withUncountedAttempts } from '../../src/core/domain/errors/worker-wait.ts';
import { withStreamedOutput } from '../../src/core/domain/stream/streamed-output.ts';
import { executionKey } from '../run-queries/access.ts';
import type { AbortRegistry } from './abort-registry.ts';
import { heartbeatDetails } from './heartbeat-details.ts';
import { skippedAttempts } from './worker-wait.ts';

/** The controls of one attempt of an activity. */
export interface Attempt {
  /** Aborted by a cancellation, an interruption, a timeout or a worker shutdown. */
  readonly signal: AbortSignal;
  /** Throws the reason of the signal if it is aborted. */
  throwIfAborted(): void;
  /** Aborts the signal, unless it is aborted already. */
  abort(reason: Error): void;
  /** True if the workflow has cancelled the activity; false if the worker shuts down or the attempt timed out. */
  isCancelled(): boolean;
  /** Sends a heartbeat now. Every later heartbeat of this attempt repeats its details. */
  heartbeat(details: unknown): void;
  /**
   * Sends a heartbeat with details about the stream of the call, beside those that it would have. Every later heartbeat of this attempt
   * repeats them. May be called outside of the activity; does nothing once the attempt has ended.
   */
  stream(details: unknown): void;
}

/** Options for the heartbeats and interruptions of an attempt. */
export interface AttemptOptions {
  heartbeatMs: number;
  /** The key of the run whose messages may interrupt the attempt, empty for a run that is a workflow of its own. */
  interruptibleBy?: string;
  /** The details of periodic heartbeats until `beat` sets others. */
  details?: () => unknown;
  /** True if heartbeats must not be sent more often than that, because the worker would let them through. */
  isPaced?: boolean;
}

/**
 * Runs `work` with a signal that reports a cancellation from the server and from this process, and sends heartbeats on
 * a timer. The first one is sent after a whole interval: a heartbeat is a call to the server, and quick calls need
 * none.
 */
export async function runAttempt<Result>(
  aborts: AbortRegistry,
  { heartbeatMs, interruptibleBy, details = () => undefined, isPaced = false }: AttemptOptions,
  work: (attempt: Attempt) => Promise<Result>,
): Promise<Result> {
  const { isLocal, heartbeatTimeoutMs } = activityInfo();
  if (isLocal) return work(new LocalAttempt());
  const { controller, release, isCancelled } = aborts.register(executionKey(), interruptibleBy);
  const { signal } = controller;
  const serverSignal = cancellationSignal();
  const forwardAbort = (): void => controller.abort(serverSignal.reason);
  if (serverSignal.aborted) forwardAbort();
  else serverSignal.addEventListener('abort', forwardAbort, { once: true });
  // A tool may need heartbeats more often than the worker's default.
  const everyMs = Math.max(1, Math.min(heartbeatMs, (heartbeatTimeoutMs ?? Infinity) / MISSED_HEARTBEATS));
  const heartbeats = new Heartbeats({ everyMs, details, isPaced });
  let hasFailed = true;
  try {
    const result = await work({
      signal,
      throwIfAborted: () => signal.throwIfAborted(),
      abort: (reason) => controller.abort(reason),
      isCancelled: () => isCancelled() || cancellationDetails()?.cancelRequested === true,
      heartbeat: (newDetails) => heartbeats.send(newDetails),
      stream: (newDetails) => heartbeats.sendStream(newDetails),
    });
    hasFailed = false;
    return result;
  } finally {
    heartbeats.stop(hasFailed);
    serverSignal.removeEventListener('abort', forwardAbort);
    release();
  }
}

/**
 * The attempt of a local activity. It has no heartbeats, and its worker delivers the cancellation. A local call takes
 * milliseconds and rarely uses its signal, so the signal is created on demand.
 */
class LocalAttempt implements Attempt {
  readonly #workerSignal = cancellationSignal();
  #abortReason: Error | undefined;
  #controller: AbortController | undefined;

  get signal(): AbortSignal {
    return (this.#controller ?? this.#createController()).signal;
  }

  throwIfAborted(): void {
    if (this.#reason() !== undefined) throw this.#reason();
  }

  abort(reason: Error): void {
    this.#abortReason ??= reason;
    this.#controller?.abort(reason);
  }

  isCancelled(): boolean {
    return this.#workerSignal.aborted;
  }

  heartbeat(): void {
    // A local call ends before a heartbeat would be due.
  }

  stream(): void {
    // As above.
  }

  #reason(): unknown {
    return this.#abortReason ?? (this.#workerSignal.aborted ? this.#workerSignal.reason : undefined);
  }

  #createController(): AbortController {
    const controller = (this.#controller = new AbortController());
    if (this.#reason() !== undefined) controller.abort(this.#reason());
    else this.#workerSignal.addEventListener('abort', () => controller.abort(this.#workerSignal.reason), { once: true });
    return controller;
  }
}

/** Options of the heartbeats of an attempt. */
interface HeartbeatOptions {
  everyMs: number;
  /** The details of the heartbeats until `send` sets others. */
  details: () => unknown;
  /**
   * True if the worker lets heartbeats through faster than that, for a sink of streams: those that are sent for another reason then wait
   * for their time.
   */
  isPaced: boolean;
}

/** The heartbeats of an attempt, which are sent on a timer until they are stopped. */
class Heartbeats {
  readonly #context = Context.current();
  readonly #skipped = skippedAttempts();
  readonly #timer: NodeJS.Timeout;
  readonly #pauseMs: number;
  #details: () => unknown;
  #stream: unknown;
  #sentAt = -Infinity;
  /** True for details that no heartbeat has sent yet. */
  #isDue = false;
  #isStopped = false;

  constructor({ everyMs, details, isPaced }: HeartbeatOptions) {
    this.#details = details;
    this.#pauseMs = isPaced ? everyMs : 0;
    this.#timer = setInterval(() => this.#send(), everyMs);
  }

  /** Sends a heartbeat now, or in its time. Every later one repeats its details. */
  send(details: unknown): void {
    this.#details = () => details;
    this.#isDue = true;
    if (performance.now() - this.#sentAt >= this.#pauseMs) this.#send();
  }

  /** Sends a heartbeat now, with details about the stream of the call beside the others. Every later one repeats them. */
  sendStream(details: unknown): void {
    if (this.#isStopped) return;
    this.#stream = detailsOf(() => details);
    this.#send();
  }

  /** Stops them. `hasFailed`: the next attempt gets the newest details, also if their time has not come. */
  stop(hasFailed: boolean): void {
    if (hasFailed && this.#isDue) this.#send();
    this.#isStopped = true;
    clearInterval(this.#timer);
  }

  /** Must not throw: an error in the timer's callback would end the process. */
  #send(): void {
    const details = withStreamedOutput(
      this.#stream,
      detailsOf(() => this.#details()),
    );
    this.#isDue = false;
    this.#sentAt = performance.now();
    // A sink sends heartbeats of one call from code of another.
    this.#context.heartbeat(withUncountedAttempts(this.#skipped, details));
  }
}

/** Returns details that can be sent: for others the SDK would cancel the activity. */
function detailsOf(read: () => unknown): unknown {
  try {
    return heartbeatDetails(read());
  } catch {
    return '[The details of this heartbeat cannot be read]';
  }
}
