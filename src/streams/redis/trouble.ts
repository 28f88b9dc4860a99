/**
 * Tells the operator of trouble with Redis: by one line when it begins, and by one when it is over. An outage makes thousands of errors, and
 * none of them needs a line of its own.
 */
export class Trouble {
  readonly #log: (line: string) => void;
  #isAway = false;
  #isDropping = false;
  #dropped = 0;

  constructor(log: (line: string) => void) {
    this.#log = log;
  }

  /** Redis cannot be reached, or is not usable. */
  away(reason: string): void {
    this.#begin(`${reason}. Live output waits in the queue, and is dropped beyond its bound; runs go on`);
    this.#isAway = true;
  }

  /** Redis can be reached again. */
  back(): void {
    if (!this.#isAway) return;
    this.#isAway = false;
    this.#end();
  }

  /** Entries are dropped. */
  drops(count: number, reason: string): void {
    this.#begin(`live output is dropped: ${reason}. Runs go on`);
    this.#isDropping = true;
    this.#dropped += count;
  }

  /** Entries are sent, and none is dropped any more. */
  sends(): void {
    if (!this.#isDropping) return;
    this.#isDropping = false;
    this.#end();
  }

  #begin(line: string): void {
    if (!this.#isAway && !this.#isDropping) this.#tell(`${line}.`);
  }

  #end(): void {
    if (this.#isAway || this.#isDropping) return;
    this.#tell(`live output is carried again. Entries dropped meanwhile: ${this.#dropped}.`);
    this.#dropped = 0;
  }

  #tell(line: string): void {
    try {
      this.#log(`redisStreams: ${line}`);
    } catch {
      // A log that fails must not end the process, which an error in an event of the connection would do.
    }
  }
}
