import { Context } from '@temporalio/activity';
import { withUncountedAttempts } from '../../src/core/domain/errors/worker-wait.ts';
import { withStreamedOutput } from '../../src/core/domain/stream/streamed-output.ts';
import { heartbeatDetails } from './heartbeat-details.ts';
import { skippedAttempts } from './worker-wait.ts';

/** The heartbeats of an attempt, which are sent on a timer until they are stopped. */
export class Heartbeats {
  readonly #context = Context.current();
  readonly #skipped = skippedAttempts();
  readonly #timer: NodeJS.Timeout;
  #details: () => unknown;
  #stream: unknown;
  #isStopped = false;

  /** `details`: those of the heartbeats until `send` sets others. */
  constructor(everyMs: number, details: () => unknown) {
    this.#details = details;
    this.#timer = setInterval(() => this.#send(), everyMs);
  }

  /** Sends a heartbeat now. Every later one repeats its details. */
  send(details: unknown): void {
    this.#details = () => details;
    this.#send();
  }

  /** Sends a heartbeat now, with details about the stream of the call beside the others. Every later one repeats them. */
  sendStream(details: unknown): void {
    if (this.#isStopped) return;
    this.#stream = detailsOf(() => details);
    this.#send();
  }

  stop(): void {
    this.#isStopped = true;
    clearInterval(this.#timer);
  }

  /** Must not throw: an error in the timer's callback would end the process. */
  #send(): void {
    const details = withStreamedOutput(
      this.#stream,
      detailsOf(() => this.#details()),
    );
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
