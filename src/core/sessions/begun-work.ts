import type { Beside } from './session-ports.ts';

/** Begins work beside the wait of a session where it cannot be cancelled: once it is given up, its outcome is dropped. */
export function begunWork<Outcome>(work: () => Promise<Outcome>): Beside<Outcome> {
  let outcome: Outcome | undefined;
  void work().then((ended) => (outcome = ended));
  return {
    get outcome() {
      return outcome;
    },
    giveUp: () => undefined,
  };
}
