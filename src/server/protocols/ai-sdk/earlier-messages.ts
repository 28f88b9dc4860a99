import type { RunHandle } from '../../../client/run-handle.ts';
import { defined } from '../../../core/domain/json.ts';
import type { Event } from '../../../core/domain/record.ts';
import type { StatusView } from '../../../core/protocol.ts';
import { runningTurn } from './accepted-turn.ts';
import { placeOfTurn } from './followed-turn.ts';
import { type EncodedTurn, eventsFrom, isOfUser, TurnEncoder } from './turn-encoder.ts';
import { type FileUrl, MessageBuilder, recordedParts, type UiMessage } from './ui-message.ts';

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

/** Approximate bytes of JSON after which older turns are left to the next page. */
const PAGE_BYTES = 4_000_000;

/** A range of a chat's turns. */
interface TurnRange {
  first: number;
  last: number;
  /** The number of recorded events. */
  known: number;
  /** Returns the URLs of generated files, which are otherwise not shown. */
  fileUrl?: FileUrl;
}

/** Messages of turns, oldest first, with the number of the first turn. */
interface EarlierMessages {
  messages: UiMessage[];
  first: number;
}

/**
 * Reads the messages of turns from the record, as the stream of each turn would have shown them. A turn in progress has only the
 * user's messages: its stream has the answer from its beginning.
 */
export async function earlierMessages(run: Pick<RunHandle, 'runId' | 'context'>, range: TurnRange): Promise<EarlierMessages> {
  const { offset } = await placeOfTurn(run, range.first, range.known);
  const turns: UiMessage[][] = [];
  const of = { sessionId: run.runId, ...defined({ fileUrl: range.fileUrl }) };
  let turn = new TurnMessages({ ...of, turn: range.first });
  for await (const [at, event] of eventsFrom(run, offset)) {
    turn.take(at, event);
    if (event.turn === undefined) continue;
    turns.push(turn.messages());
    if (event.turn.number >= range.last) break;
    turn = new TurnMessages({ ...of, turn: event.turn.number + 1 });
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

/** The turns to read. */
export interface UIMessagesOptions {
  /** The `before` of the page before. Default: the newest turns. */
  before?: number;
  /** The largest number of turns. Default 20. */
  limit?: number;
  /** Returns the URL of a file that a model has made. Default: these files are not shown. */
  fileUrl?: FileUrl;
}

/** A page of the messages of a chat. */
export interface UIMessagesPage {
  /** The messages, oldest first, in the form of `UIMessage` of the AI SDK. */
  messages: UiMessage[];
  /** Present if there are earlier turns: the `before` of the next page. */
  before?: number;
}

/** The default number of turns on a page of messages. */
export const DEFAULT_TURNS = 20;

/** Reads the messages of the newest turns, or of those before a turn. A chat without a status does not exist: it has none. */
export async function messagesPage(
  run: Pick<RunHandle, 'runId' | 'context'>,
  status: StatusView | undefined,
  { before = Infinity, limit = DEFAULT_TURNS, fileUrl }: UIMessagesOptions,
): Promise<UIMessagesPage> {
  const last = status === undefined ? 0 : Math.min(before - 1, runningTurn(status) ?? status.session?.turns ?? 0);
  if (status === undefined || last < 1) return { messages: [] };
  const range = { first: Math.max(1, last - limit + 1), last, known: status.events, ...defined({ fileUrl }) };
  const { messages, first } = await earlierMessages(run, range);
  return { messages, ...(first > 1 ? { before: first } : {}) };
}
