import type { RunHandle } from '../../../client/run-handle.ts';
import { defined } from '../../../core/domain/json.ts';
import type { Event } from '../../../core/domain/record.ts';
import type { ContextPage, StatusView, UnreadMessage } from '../../../core/protocol.ts';
import { runningTurn } from './accepted-turn.ts';
import { placeOfTurn } from './followed-turn.ts';
import { type EncodedTurn, isOfUser, TurnEncoder } from './turn-encoder.ts';
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
    const { sessionId: runId, turn } = this.#turn;
    return userMessage({ id, content }, { runId, turn });
  }
}

function userMessage({ id, content }: Pick<Event, 'id' | 'content'>, metadata: UiMessage['metadata']): UiMessage {
  const { text, files } = recordedParts(content);
  const parts = [...(text === '' ? [] : [{ type: 'text' as const, text }]), ...files.map((file) => ({ type: 'file' as const, ...file }))];
  return { id, role: 'user', metadata, parts };
}

/** Approximate bytes of JSON after which older turns are left to the next page. */
const PAGE_BYTES = 4_000_000;

/** A range of a chat's turns. */
interface TurnRange {
  first: number;
  last: number;
  /** The number of recorded events. */
  known: number;
  /** True: messages that no model has read follow, as those of the last turn. */
  unread?: boolean;
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
  let isRead = false;
  let unread: readonly UnreadMessage[] = [];
  for await (const page of pagesFrom(run, offset)) {
    for (const [index, event] of page.events.entries()) {
      turn.take(page.from + index, event);
      if (event.turn === undefined) continue;
      turns.push(turn.messages());
      isRead = event.turn.number >= range.last;
      if (isRead) break;
      turn = new TurnMessages({ ...of, turn: event.turn.number + 1 });
    }
    unread = page.unread ?? [];
    if (isRead) break;
  }
  if (turns.length <= range.last - range.first) turns.push(turn.messages());
  if (range.unread && unread.length > 0)
    turns.push(unread.map((one) => unreadMessage(one, { runId: run.runId, turn: range.last, unread: true })));
  let bytes = 0;
  const kept = turns.findLastIndex((messages) => {
    bytes += JSON.stringify(messages).length;
    return bytes > PAGE_BYTES;
  });
  // The newest turn is always on the page.
  const skipped = Math.min(kept + 1, turns.length - 1);
  return { messages: turns.slice(skipped).flat(), first: range.first + skipped };
}

/** Yields the record of a run from an offset on, in pages. */
async function* pagesFrom(run: Pick<RunHandle, 'context'>, offset: number): AsyncGenerator<ContextPage> {
  for (let from = offset; ;) {
    const page = await run.context({ from });
    yield page;
    from = page.from + page.events.length;
    if (page.events.length === 0 || from >= page.total) return;
  }
}

/** Returns the message under its own id: sent again, it is still the same message. */
function unreadMessage({ id, content }: UnreadMessage, metadata: UiMessage['metadata']): UiMessage {
  return userMessage({ id, content: [{ type: 'message', role: 'user', content }] }, metadata);
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
  if (status === undefined) return { messages: [] };
  const newest = newestTurn(status);
  const last = Math.min(before - 1, newest);
  if (last < 1) return { messages: [] };
  const range = {
    first: Math.max(1, last - limit + 1),
    last,
    known: status.events,
    unread: last === newest,
    ...defined({ fileUrl }),
  };
  const { messages, first } = await earlierMessages(run, range);
  return { messages, ...(first > 1 ? { before: first } : {}) };
}

/** Returns the newest turn, or the one that would have read the messages of a session that has ended before. */
function newestTurn(status: StatusView): number {
  return runningTurn(status) ?? (status.session?.turns ?? 0) + (status.queued > 0 ? 1 : 0);
}
