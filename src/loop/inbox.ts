import { BYTE_BUDGETS, MAX_QUEUED_MESSAGES } from '../domain/byte-budget.ts';
import { jsonBytes } from '../domain/payload-limit.ts';
import type { QueuedMessage } from '../domain/queued-message.ts';
import type { CarriedInbox } from './run-carry.ts';

/** Ids that are remembered in the next executions, and their bytes of JSON: a message is sent again within seconds, not after a thousand others. */
const REMEMBERED_IDS = 2_000;
const REMEMBERED_BYTES = 140_000;

/** Updates that the server lets one execution accept, and the part of them after which a run asks its callers to wait. */
const UPDATES_OF_AN_EXECUTION = 2_000;
const BUSY_AT = 0.8;

/** What is said to a run from outside. Handlers only write into it; the loop reads it between two steps. */
export class Inbox {
  /** Updates that this execution has accepted. */
  updates = 0;
  /** Everything that has come to this execution. */
  arrivals = 0;
  paused: boolean;
  /** Why the run is about to be cancelled, where that was said ahead of the request. */
  cancelReason: string | undefined;
  /** The run takes nothing more: its end is decided. */
  closed = false;
  #messages: QueuedMessage[];
  readonly #seen: Set<string>;

  constructor(carried: CarriedInbox = { messages: [], seen: [], paused: false }) {
    this.#messages = carried.messages;
    this.#seen = new Set(carried.seen);
    this.paused = carried.paused;
    this.cancelReason = carried.cancelReason;
  }

  /** Messages that wait to be taken in. */
  get queued(): number {
    return this.#messages.length;
  }

  /** So many Updates that more of them could use up what the server allows, and block the run for good. */
  get busy(): boolean {
    return this.updates >= UPDATES_OF_AN_EXECUTION * BUSY_AT;
  }

  /** Counts an Update that was accepted. */
  countUpdate(): void {
    this.updates += 1;
    this.arrivals += 1;
  }

  has(id: string): boolean {
    return this.#seen.has(id);
  }

  /** True where the queue has room for the message. */
  hasRoomFor(message: Pick<QueuedMessage, 'content'>): boolean {
    if (this.#messages.length >= MAX_QUEUED_MESSAGES) return false;
    const bytes = this.#messages.reduce((sum, { content }) => sum + jsonBytes(content), jsonBytes(message.content));
    return bytes <= BYTE_BUDGETS.queue;
  }

  /** Queues a message. False for one that was accepted before. */
  add(message: QueuedMessage): boolean {
    if (this.#seen.has(message.id)) return false;
    this.#seen.add(message.id);
    this.#messages.push(message);
    return true;
  }

  /** All queued messages, in the order of acceptance. The queue is empty then. */
  take(): QueuedMessage[] {
    const messages = this.#messages;
    this.#messages = [];
    return messages;
  }

  carried(): CarriedInbox {
    const { paused, cancelReason } = this;
    return { messages: this.#messages, seen: newest([...this.#seen]), paused, ...(cancelReason === undefined ? {} : { cancelReason }) };
  }
}

/** As many of the newest ids as are remembered. */
function newest(ids: string[]): string[] {
  let bytes = 0;
  let count = 0;
  for (const id of ids.toReversed()) {
    bytes += jsonBytes(id) + ','.length;
    if (bytes > REMEMBERED_BYTES || count === REMEMBERED_IDS) break;
    count += 1;
  }
  return ids.slice(ids.length - count);
}
