import type { Lines } from './lines.ts';

/** The Ctrl-C of a person in a chat: the first one while a turn goes on interrupts the turn, and any other leaves. */
export class Interruptions {
  /** Resolves once the person leaves. Never rejects. */
  readonly left: Promise<'left'>;
  /** True once the person has left. */
  hasLeft = false;
  #resolveLeft: (left: 'left') => void = () => undefined;
  /** Interrupts the turn that goes on. Undefined without a turn, and once that was done. */
  #interrupt: (() => void) | undefined;

  constructor(lines: Pick<Lines, 'onInterruption'>) {
    this.left = new Promise((resolve) => (this.#resolveLeft = resolve));
    lines.onInterruption((by) => (by === 'end' ? this.#leave() : this.press()));
  }

  /** Sets the work of the next Ctrl-C, for the time of a turn; undefined after it. */
  set interrupt(interrupt: (() => void) | undefined) {
    this.#interrupt = interrupt;
  }

  /** Counts a Ctrl-C. */
  press(): void {
    const interrupt = this.#interrupt;
    this.#interrupt = undefined;
    if (interrupt === undefined) this.#leave();
    else interrupt();
  }

  #leave(): void {
    this.hasLeft = true;
    this.#resolveLeft('left');
  }
}
