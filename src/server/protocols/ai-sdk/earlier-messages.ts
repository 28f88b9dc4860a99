import type { Event } from '../../../core/domain/record/event.ts';
import type { RunHandle } from '../../../client/run-handle.ts';
import { recordedParts } from './encoder/recorded-parts.ts';
import { type EncodedTurn, TurnEncoder } from './encoder/turn-encoder.ts';
import { MessageBuilder, type UiMessage } from './encoder/ui-message.ts';
import { eventsFrom, isOfUser } from './record-events.ts';
import { placeOfTurn } from './turn-place.ts';

/** A part of a chat, by the numbers of its turns. */
export interface TurnRange {
  first: number;
  last: number;
  /** The number of events that are recorded. */
  known: number;
}

/** The bytes of JSON after which older turns are left to the next page, approximately. */
const PAGE_BYTES = 4_000_000;

/** Messages of turns, the oldest first, with the first turn that they are of. */
export interface EarlierMessages {
  messages: UiMessage[];
  first: number;
}

/**
 * Reads the messages of turns from the record, as a stream of each turn would have shown them. Of a turn that goes on there are the messages
 * of the user alone: its stream has the answer from its beginning.
 */
export async function earlierMessages(run: Pick<RunHandle, 'runId' | 'context'>, range: TurnRange): Promise<EarlierMessages> {
  const { offset } = await placeOfTurn(run, range.first, range.known);
  const turns: UiMessage[][] = [];
  let turn = new TurnMessages({ sessionId: run.runId, turn: range.first });
  for await (const [at, event] of eventsFrom(run, offset)) {
    turn.take(at, event);
    if (event.turn === undefined) continue;
    turns.push(turn.messages());
    if (event.turn.number >= range.last) break;
    turn = new TurnMessages({ sessionId: run.runId, turn: event.turn.number + 1 });
  }
  if (turns.length <= range.last - range.first) turns.push(turn.messages());
  let bytes = 0;
  const kept = turns.findLastIndex((messages) => {
    bytes += JSON.stringify(messages).length;
    return bytes > PAGE_BYTES;
  });
  // The newest turn is always on the page.
  const skipped = Math.min(kept + 1, turns.length - 1);
  return { messages: turns.slice(skipped).flat(), first: range.first + skipped };
}

/** The messages of one turn. */
class TurnMessages {
  readonly #turn: EncodedTurn;
  readonly #encoder: TurnEncoder;
  readonly #answer = new MessageBuilder();
  readonly #asked: UiMessage[] = [];

  constructor(turn: EncodedTurn) {
    this.#turn = turn;
    this.#encoder = new TurnEncoder(turn);
    this.#answer.take(this.#encoder.begin());
  }

  take(offset: number, event: Event): void {
    if (isOfUser(event)) this.#asked.push(this.#userMessage(event));
    for (const chunk of this.#encoder.take({ type: 'event', offset, event, cursor: '' })) this.#answer.take(chunk);
  }

  messages(): UiMessage[] {
    const answer = this.#encoder.isOver ? this.#answer.message() : undefined;
    return [...this.#asked, ...(answer === undefined ? [] : [answer])];
  }

  #userMessage({ id, content }: Event): UiMessage {
    const { text, files } = recordedParts(content);
    const parts = [...(text === '' ? [] : [{ type: 'text' as const, text }]), ...files.map((file) => ({ type: 'file' as const, ...file }))];
    const { sessionId: runId, turn } = this.#turn;
    return { id, role: 'user', metadata: { runId, turn }, parts };
  }
}
