import { LRUCache } from 'lru-cache';

/** The sessions whose turns a worker remembers. */
const MOST_SESSIONS = 10_000;

/** The events of a turn, as far as they are known. */
interface KnownTurn {
  turn: number;
  from: number;
  through: number;
}

/**
 * The turns of sessions, as the workflows in this process have told: the inputs of activities do not say to which turn they belong. Another
 * process, which has not heard of a later event, does not guess.
 */
export class SessionTurns {
  readonly #turns = new LRUCache<string, KnownTurn>({ max: MOST_SESSIONS });

  /** A session is in that turn, and has that many events. */
  reached(executionId: string, turn: number, through: number): void {
    const known = this.#turns.get(executionId);
    const from = known?.turn === turn ? known.from : through;
    this.#turns.set(executionId, { turn, from, through });
  }

  /** Returns the turn of an activity that is about the events up to an offset. Undefined if it is not known. */
  at(executionId: string, offset: number): number | undefined {
    const known = this.#turns.get(executionId);
    return known !== undefined && known.from <= offset && offset <= known.through ? known.turn : undefined;
  }
}
