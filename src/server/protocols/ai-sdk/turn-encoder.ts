import type { StreamItem } from '../../../client/stream/stream-item.ts';
import { type AnswerChange, AnswerReducer } from '../../../client/stream/stream-view.ts';
import type { ApprovalView } from '../../../core/domain/approvals.ts';
import { isToolCall } from '../../../core/domain/content.ts';
import { ERROR_CODES, isErrorCode } from '../../../core/domain/errors.ts';
import { blockedText, refusalIn } from '../../../core/domain/guardrails.ts';
import { defined } from '../../../core/domain/json.ts';
import { addUsageOfEvent, completesStep, type Event, isResponse } from '../../../core/domain/record.ts';
import type { StopReason } from '../../../core/domain/run.ts';
import { FINAL_ANSWER, RUN_CODE } from '../../../core/domain/tool-calls.ts';
import { noUsage } from '../../../core/domain/usage.ts';
import { type AnsweredCall, type AskedBelow, TurnCalls } from './turn-calls.ts';
import {
  callChunk,
  type ChatMetadata,
  type FileUrl,
  type RecordedParts,
  recordedParts,
  sourceChunks,
  type UiChunk,
  type UiFinishReason,
} from './ui-message.ts';

export interface EncodedTurn {
  sessionId: string;
  /** 1-based. */
  turn: number;
  /**
   * The offset of the response whose calls the client has shown and decided: nothing before them is sent, and its message continues.
   * Absent: the message is sent from its beginning.
   */
  after?: number;
  /** Returns the URLs of generated files, which are otherwise not shown. */
  fileUrl?: FileUrl;
  /** Returns what a page may read about the failure of the turn. Absent: what its code means. */
  failureText?: FailureText;
}

/** Why a turn has failed, as the run records it. The message is for operators: it may name servers and keys. */
export interface TurnFailure {
  /** The code of the error table. */
  code: string | undefined;
  message: string;
}

/** Returns what a page may read about the failure of a turn. */
export type FailureText = (failure: TurnFailure) => string;

/** Returns what the code of a failure means, if there is one: the end of a turn has none. */
export function meaningOf({ code }: TurnFailure): string {
  return isErrorCode(code) ? ERROR_CODES[code].description : 'The turn has failed';
}

/** The circumstances in which a message asks for decisions. */
interface AskOptions {
  /** True: nothing has arrived for some time. */
  isLate?: boolean;
  /** True for a call about which someone else than the client decides. */
  isOfOthers?: (waiting: ApprovalView) => boolean;
}

/**
 * Makes the chunks of an answer from the items of one turn, from its first event on. The same items give the same chunks, and
 * however an answer was streamed, the client builds the recorded message from them.
 */
export class TurnEncoder {
  readonly #turn: EncodedTurn;
  readonly #calls: TurnCalls;
  readonly #guarded = new GuardedChunks();
  readonly #answers = new AnswerReducer();
  #live: LiveResponse | undefined;
  #isInStep = false;
  #usage = noUsage();
  #isCutByLength = false;
  #cursor: string | undefined;
  #isOver = false;
  /** True until the response that the client has: it knows what streams before. */
  #isKnown: boolean;

  constructor(turn: EncodedTurn) {
    this.#turn = turn;
    this.#isKnown = turn.after !== undefined;
    this.#calls = new TurnCalls(turn);
  }

  /** True once the last chunk is made: the turn has ended, or waits for decisions. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** Returns the first chunk. The id of the message is derived from the turn. */
  begin(): UiChunk {
    const { sessionId, turn } = this.#turn;
    return { type: 'start', messageId: `${sessionId}-turn-${turn}`, messageMetadata: { runId: sessionId, turn } };
  }

  /**
   * Shows the client's answers to descendants' calls, which the session's record does not have: without an end of its part, the client
   * would send an answer again.
   */
  *answered(answers: readonly AnsweredCall[]): Generator<UiChunk> {
    for (const answer of answers) yield* this.#calls.answered(answer);
  }

  /** Takes the next item, and yields its chunks. */
  *take(item: StreamItem): Generator<UiChunk> {
    if (this.#isOver) return;
    this.#cursor = item.cursor;
    if (this.#isKnown && (item.type === 'delta' || (item.type === 'reset' && item.offset === undefined))) return;
    for (const change of this.#answers.take(item)) yield* this.#change(change);
  }

  *#change(change: AnswerChange): Generator<UiChunk> {
    switch (change.type) {
      case 'settled':
        return yield* this.#event(change.offset, change.event);
      case 'step':
        this.#isCutByLength = change.step.finishReason === 'length';
        return;
      case 'end':
        yield* this.#guarded.end(change.result.stopReason);
        return yield* this.#end(change.result.stopReason, failureOf(change.result));
      case 'reset':
        return yield* this.#guarded.pass(this.#discardLive());
      case 'sent_back':
        return yield* this.#guarded.pass(this.#end('error', 'The conversation was sent back to an earlier step: load it again'));
      case 'data':
        return yield* this.#guarded.pass([{ type: `data-${change.name}`, id: change.callId, data: change.data, transient: true }]);
      case 'text':
      case 'reasoning':
      case 'call_begins':
      case 'call_arguments':
        return yield* this.#guarded.pass(this.#piece(change));
    }
  }

  /** The descendants' calls that the message asks about and that have no answer yet. */
  get waitsBelow(): readonly AskedBelow[] {
    return this.#calls.below;
  }

  /**
   * Asks for decisions, and ends the stream: the client continues with its answers. Yields nothing if the response with a waiting call
   * has not arrived yet, or, unless it is late, while other calls of the response run: a page sends its answers by itself only once these
   * have their results. If only calls of others wait, the stream does not end, and each of them is shown once. If a call waits for the
   * client as well, they are shown after its decision: a page sends nothing by itself while a part asks for one.
   */
  *ask(pending: readonly ApprovalView[], { isLate = false, isOfOthers = () => false }: AskOptions = {}): Generator<UiChunk> {
    if (this.#isOver || !this.#calls.hasAll(pending)) return;
    const own = pending.filter((waiting) => !isOfOthers(waiting));
    const staysOpen = own.length === 0;
    if (!isLate && !staysOpen && this.#calls.areRunning(pending)) return;
    const asked = staysOpen ? this.#calls.unasked(pending) : own;
    if (asked.length === 0) return;
    yield* this.#guarded.release();
    yield* this.#discardLive();
    this.#answers.skipAnswer();
    yield* this.#calls.ask(asked, { isOfOthers: staysOpen });
    if (!staysOpen) yield* this.#finish('tool-calls');
  }

  *#event(offset: number, event: Event): Generator<UiChunk> {
    const { after = -1 } = this.#turn;
    this.#isKnown = offset < after;
    // The client has everything before, and the text of the response itself.
    if (offset < after) {
      for (const _ of this.#chunksOf(offset, event)) continue;
    } else if (offset === after && isResponse(event)) {
      this.#isInStep = true;
      this.#account(event);
      this.#calls.made(offset, event);
      for (const call of recordedParts(event.content).calls) yield callChunk(call);
    } else yield* this.#guarded.passEvent(offset, event, this.#chunksOf(offset, event));
  }

  *#chunksOf(offset: number, event: Event): Generator<UiChunk> {
    if (event.turn !== undefined) return yield* this.#end(event.turn.stopReason, failureOf(event.turn));
    this.#account(event);
    if (isResponse(event)) {
      yield* this.#response(event);
      this.#calls.made(offset, event);
    } else if (this.#live?.eventId === event.id || event.failed !== undefined) yield* this.#discardLive();
    if (event.caller === 'code') {
      for (const call of recordedParts(event.content).calls) yield callChunk(call);
      this.#calls.made(offset, event);
    }
    yield* this.#calls.settle(event);
    if (this.#isInStep && (completesStep(event) || event.interrupted)) yield* this.#endStep();
  }

  #account(event: Event): void {
    this.#usage = addUsageOfEvent(this.#usage, event);
  }

  *#response(event: Event): Generator<UiChunk> {
    if (this.#live !== undefined && this.#live.eventId !== event.id) yield* this.#discardLive();
    if (!this.#isInStep) yield* this.#beginStep();
    yield* (this.#live ?? new LiveResponse(event.id)).end(recordedParts(event.content, this.#turn.fileUrl));
    this.#live = undefined;
    // Streamed calls come after the text, so the sources always come last.
    yield* sourceChunks(event.id, event.sources);
  }

  *#piece(piece: AnswerPiece): Generator<UiChunk> {
    if (!this.#isInStep) yield* this.#beginStep();
    this.#live ??= new LiveResponse(piece.answer.eventId);
    yield* this.#live.take(piece);
  }

  /** Discards the streamed part of an answer that is not the recorded one. */
  *#discardLive(): Generator<UiChunk> {
    if (this.#live !== undefined) yield { type: 'reset-step' };
    this.#live = undefined;
  }

  *#beginStep(): Generator<UiChunk> {
    this.#isInStep = true;
    yield { type: 'start-step' };
  }

  *#endStep(): Generator<UiChunk> {
    if (this.#isInStep) yield { type: 'finish-step' };
    this.#isInStep = false;
  }

  *#end(stopReason: StopReason, failure: TurnFailure | string): Generator<UiChunk> {
    yield* this.#discardLive();
    if (stopReason === 'guardrail') yield* this.#blocked();
    const reason = REASONS[stopReason];
    if (reason === 'error') {
      // A client stops at the error.
      yield { type: 'message-metadata', messageMetadata: this.#metadata(stopReason) };
      const { failureText = meaningOf } = this.#turn;
      yield { type: 'error', errorText: typeof failure === 'string' ? failure : failureText(failure) };
    }
    if (reason === 'interrupted') yield { type: 'abort' };
    yield* this.#finish(reason === 'stop' && this.#isCutByLength ? 'length' : reason, stopReason);
  }

  /** Says that a guardrail has blocked the request or the answer. */
  *#blocked(): Generator<UiChunk> {
    const { blocked } = this.#guarded;
    if (blocked === undefined) return;
    if (!this.#isInStep) yield* this.#beginStep();
    yield { type: 'text-start', id: blocked.id };
    yield { type: 'text-delta', id: blocked.id, delta: blocked.text };
    yield { type: 'text-end', id: blocked.id };
  }

  *#finish(finishReason: UiFinishReason, stopReason?: StopReason): Generator<UiChunk> {
    yield* this.#endStep();
    yield { type: 'finish', finishReason, messageMetadata: this.#metadata(stopReason) };
    this.#isOver = true;
  }

  #metadata(stopReason: StopReason | undefined): ChatMetadata {
    const { sessionId, turn } = this.#turn;
    return {
      runId: sessionId,
      turn,
      ...defined({ stopReason }),
      usage: this.#usage,
      ...defined({ cursor: this.#cursor }),
    };
  }
}

function failureOf({ error, errorCode }: { error?: string | null; errorCode?: string }): TurnFailure {
  return { code: errorCode, message: error ?? 'The turn has failed' };
}

/** The protocol has no words for the limits of a run: the metadata says which one it was. */
const REASONS: Record<StopReason, UiFinishReason> = {
  final_answer: 'stop',
  closed: 'stop',
  step_limit: 'other',
  token_budget: 'other',
  cost_budget: 'other',
  tool_call_limit: 'other',
  deadline: 'other',
  guardrail: 'content-filter',
  cancelled: 'interrupted',
  error: 'error',
};

/** The text shown in place of what a guardrail has blocked. */
interface BlockedText {
  /** The id of the part. */
  id: string;
  text: string;
}

/**
 * Keeps blocked content out of the chunks of a turn. A guarded response that may be the answer is held back until the turn has
 * ended with it, or continues: its event records whether it is guarded. What was shown before it was blocked is discarded.
 */
class GuardedChunks {
  /** The chunks since the response that may be the answer. */
  #held: UiChunk[] | undefined;
  /** The offset of the newest response. */
  #newest: number | undefined;
  #blocked: BlockedText | undefined;

  /** The text to show at the end of the turn in place of what was blocked. */
  get blocked(): BlockedText | undefined {
    return this.#blocked;
  }

  /** Passes on the chunks of an item that is not an event. */
  *pass(chunks: Iterable<UiChunk>): Generator<UiChunk> {
    if (this.#held === undefined) yield* chunks;
    else this.#held.push(...chunks);
  }

  *passEvent(offset: number, event: Event, chunks: Iterable<UiChunk>): Generator<UiChunk> {
    if (event.turn !== undefined) yield* this.end(event.turn.stopReason);
    else if (isResponse(event) || isOfUser(event)) yield* this.release();
    if (isResponse(event)) {
      this.#newest = offset;
      if (event.guarded && event.interrupted) return yield* withoutText(chunks);
      if (event.guarded && mayBeAnswer(event)) this.#held = [];
    }
    yield* this.pass(chunks);
    if (event.guardrails?.blocked !== undefined) yield* this.#block(event, event.guardrails.blocked);
  }

  /** Shows what is held back: the turn continues, so it was not the answer. */
  *release(): Generator<UiChunk> {
    const held = this.#held ?? [];
    this.#held = undefined;
    yield* held;
  }

  /** Ends the turn. If it did not end with the held answer, no guardrail has passed that, for example because the user stopped the turn. */
  *end(stopReason: StopReason): Generator<UiChunk> {
    yield* stopReason === 'final_answer' ? this.release() : this.#drop();
  }

  *#block({ id, guardrails }: Event, offsets: readonly number[]): Generator<UiChunk> {
    const refusal = guardrails && refusalIn(guardrails);
    if (refusal !== undefined) this.#blocked = { id, text: blockedText(refusal) };
    if (this.#held !== undefined) yield* this.#drop();
    else if (this.#newest !== undefined && offsets.includes(this.#newest)) yield { type: 'reset-step' };
  }

  /** Drops what is held back, and discards what was already shown of its step, such as its reasoning. */
  *#drop(): Generator<UiChunk> {
    const held = this.#held;
    this.#held = undefined;
    if (held?.every(({ type }) => type !== 'start-step')) yield { type: 'reset-step' };
  }
}

/** True for a response that may be the answer: one without tool calls, or with a call or code that may give the answer. */
function mayBeAnswer({ content }: Event): boolean {
  return !content.some((item) => isToolCall(item) && item.name !== FINAL_ANSWER && item.name !== RUN_CODE);
}

const TEXT: readonly UiChunk['type'][] = ['text-start', 'text-delta', 'text-end', 'file', 'source-url', 'source-document'];

/** Yields the chunks of an answer that was interrupted, whose text no guardrail has passed. */
function* withoutText(chunks: Iterable<UiChunk>): Generator<UiChunk> {
  for (const chunk of chunks) if (!TEXT.includes(chunk.type)) yield chunk;
}

type AnswerPiece = AnswerChange & { type: 'text' | 'reasoning' | 'call_begins' | 'call_arguments' };

/** The answer of one model call: first as it streams, then as recorded. Streamed text is not sent again. */
class LiveResponse {
  readonly eventId: string;
  #text: string | undefined;
  /** All reasoning so far. The record has none, so streamed reasoning stays. */
  #reasoning = '';
  #isReasoning = false;
  readonly #calls: { callId: string; toolName: string }[] = [];
  /** True: a call began before the text, while the record has the text first. */
  #isOutOfOrder = false;

  constructor(eventId: string) {
    this.eventId = eventId;
  }

  /** Takes a piece of output. */
  *take(piece: AnswerPiece): Generator<UiChunk> {
    switch (piece.type) {
      case 'reasoning':
        if (!this.#isReasoning) yield { type: 'reasoning-start', id: this.#id };
        this.#isReasoning = true;
        this.#reasoning += piece.text;
        yield { type: 'reasoning-delta', id: this.#id, delta: piece.text };
        return;
      case 'text':
        yield* this.#endReasoning();
        yield* this.#appendText(piece.text);
        return;
      case 'call_begins':
      case 'call_arguments':
        yield* this.#endReasoning();
        yield* this.#appendInput(piece);
        return;
    }
  }

  /** Ends the answer as it was recorded. If that does not continue from what was streamed, it discards that first. */
  *end(recorded: RecordedParts): Generator<UiChunk> {
    if (!this.#goesOnAs(recorded)) {
      yield { type: 'reset-step' };
      this.#isReasoning = false;
      this.#text = undefined;
      if (this.#reasoning !== '') yield* reasoningChunks(this.#id, this.#reasoning);
    }
    yield* this.#endReasoning();
    const { text, files, calls } = recorded;
    if (text !== '') {
      const rest = text.slice(this.#text?.length ?? 0);
      if (rest !== '') yield* this.#appendText(rest);
      yield { type: 'text-end', id: this.#id };
    }
    for (const file of files) yield { type: 'file', ...file };
    for (const call of calls) yield callChunk(call);
  }

  /** The id of the current part. Text and reasoning parts are counted separately. */
  get #id(): string {
    return this.eventId;
  }

  *#appendText(text: string): Generator<UiChunk> {
    if (text === '') return;
    if (this.#text === undefined) {
      yield { type: 'text-start', id: this.#id };
      this.#isOutOfOrder ||= this.#calls.length > 0;
    }
    this.#text = `${this.#text ?? ''}${text}`;
    yield { type: 'text-delta', id: this.#id, delta: text };
  }

  *#appendInput({ type, callId, toolName, text }: AnswerPiece & { type: 'call_begins' | 'call_arguments' }): Generator<UiChunk> {
    if (type === 'call_begins') {
      this.#calls.push({ callId, toolName });
      yield { type: 'tool-input-start', toolCallId: callId, toolName };
    }
    if (text !== '') yield { type: 'tool-input-delta', toolCallId: callId, inputTextDelta: text };
  }

  *#endReasoning(): Generator<UiChunk> {
    if (this.#isReasoning) yield { type: 'reasoning-end', id: this.#id };
    this.#isReasoning = false;
  }

  #goesOnAs({ text, files, calls }: RecordedParts): boolean {
    if (this.#isOutOfOrder || !text.startsWith(this.#text ?? '')) return false;
    if (this.#calls.length === 0) return true;
    // Streamed calls come after everything else.
    const isWhole = files.length === 0 && text === (this.#text ?? '');
    return (
      isWhole && this.#calls.every(({ callId, toolName }, index) => calls[index]?.toolCallId === callId && calls[index].name === toolName)
    );
  }
}

function* reasoningChunks(id: string, text: string): Generator<UiChunk> {
  yield { type: 'reasoning-start', id };
  yield { type: 'reasoning-delta', id, delta: text };
  yield { type: 'reasoning-end', id };
}

/** True for a user's message. */
export function isOfUser({ author, content, given }: Event): boolean {
  return author === 'user' && !given && content.some((item) => item.type === 'message' && item.role === 'user');
}
