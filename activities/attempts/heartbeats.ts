import { Context } from '@temporalio/activity';
import { withUncountedAttempts } from '../../src/core/domain/errors/worker-wait.ts';
import { withStreamedOutput } from '../../src/core/domain/stream/streamed-output.ts';
import { heartbeatDetails } from './heartbeat-details.ts';
import { skippedAttempts } from './worker-wait.ts';

/** Options of the heartbeats of an attempt. */
export interface HeartbeatOptions {
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
export class Heartbeats {
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
