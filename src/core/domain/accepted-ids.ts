import { newest } from './byte-budgets.ts';

/** The ids of accepted requests, as they are carried into the next execution. */
export interface RememberedIds {
  /** Ids of accepted messages, the newest last, to recognise a message that is sent again. */
  seen: string[];
  /** For a session: the turns that answer these messages, each with the number of successive ids. 0: no message. Absent if none has a turn. */
  seenTurns?: [turn: number, ids: number][];
}

/**
 * The ids of messages that the next execution remembers at least, and at most, with their bytes of JSON. Callers repeat a message within
 * seconds: those that this execution has accepted are among them, and not all that a session of months has ever accepted.
 */
const REMEMBERED_IDS = { atLeast: 200, count: 2_000, bytes: 140_000 };

/** The turn of a request that no turn of a session answers. */
const NO_TURN = 0;

/** The ids of the requests that a run has accepted, the oldest first. A request that is sent again is recognised by its id. */
export class AcceptedIds {
  /** Id → the number of the turn that answers the message. */
  readonly #turns = new Map<string, number>();
  /** The number of ids that an earlier execution has accepted. */
  readonly #before: number;

  constructor({ seen, seenTurns = [] }: RememberedIds) {
    const parts = seenTurns[Symbol.iterator]();
    let [turn, left] = [NO_TURN, 0];
    for (const id of seen) {
      if (left === 0) [turn, left] = parts.next().value ?? [NO_TURN, Infinity];
      left -= 1;
      this.#turns.set(id, turn);
    }
    this.#before = this.#turns.size;
  }

  has(id: string): boolean {
    return this.#turns.has(id);
  }

  /** Adds a request, for a message to a session with the number of the turn that answers it. Returns false for one that was accepted before. */
  add(id: string, turn = NO_TURN): boolean {
    if (this.#turns.has(id)) return false;
    this.#turns.set(id, turn);
    return true;
  }

  /** Returns the number of the turn that answers a message; undefined if none does. */
  turnOf(id: string): number | undefined {
    return this.#turns.get(id) || undefined;
  }

  /** Leaves messages to another turn than before. */
  move(ids: readonly string[], turn: number): void {
    for (const id of ids) if (this.turnOf(id) !== undefined) this.#turns.set(id, turn);
  }

  /** Returns the ids that the next execution remembers. `unread`: the number of messages that are not yet recorded. */
  carried(unread: number): RememberedIds {
    const { atLeast, count, bytes } = REMEMBERED_IDS;
    const accepted = this.#turns.size - this.#before;
    const seen = newest([...this.#turns.keys()], { count: Math.min(count, Math.max(atLeast + unread, accepted)), bytes });
    const seenTurns = this.#partsOf(seen);
    return { seen, ...(seenTurns.every(([turn]) => turn === NO_TURN) ? {} : { seenTurns }) };
  }

  /** Returns the turns of ids, each with the number of successive ids that it answers. */
  #partsOf(ids: readonly string[]): [turn: number, ids: number][] {
    const parts: [number, number][] = [];
    for (const id of ids) {
      const turn = this.#turns.get(id) ?? NO_TURN;
      const last = parts.at(-1);
      if (last?.[0] === turn) last[1] += 1;
      else parts.push([turn, 1]);
    }
    return parts;
  }
}
