import { LRUCache } from 'lru-cache';

/** The number of sessions whose turns a worker remembers. */
const MOST_SESSIONS = 10_000;

/** The known events of a turn. */
interface KnownTurn {
  turn: number;
  from: number;
  through: number;
}

/**
 * The turns of sessions, as reported by the workflows in this process: activity inputs do not have the turn. A process that does not know
 * of a later event does not guess.
 */
export class SessionTurns {
  readonly #turns = new LRUCache<string, KnownTurn>({ max: MOST_SESSIONS });

  /** Records that a session is in that turn, and has that many events. */
  reached(executionId: string, turn: number, through: number): void {
    const known = this.#turns.get(executionId);
    const from = known?.turn === turn ? known.from : through;
    this.#turns.set(executionId, { turn, from, through });
  }

  /** Returns the turn of an activity about the events up to an offset. Undefined if unknown. */
  at(executionId: string, offset: number): number | undefined {
    const known = this.#turns.get(executionId);
    return known !== undefined && known.from <= offset && offset <= known.through ? known.turn : undefined;
  }
}
