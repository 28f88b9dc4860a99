import type { ApprovalView } from '../../../../core/domain/approvals/approval.ts';
import { noUsage } from '../../../../core/domain/model/usage.ts';
import type { Event } from '../../../../core/domain/record/event.ts';
import { completesStep, isResponse } from '../../../../core/domain/record/run-record.ts';
import { addUsageOfEvent } from '../../../../core/domain/record/usage-of-events.ts';
import type { StopReason } from '../../../../core/domain/run/status.ts';
import type { StreamItem } from '../../../../client/stream/stream-item.ts';
import type { ChatMetadata } from './chat-metadata.ts';
import { finishReasonOf } from './finish-reason.ts';
import { GuardedChunks } from './guarded-chunks.ts';
import { LiveResponse } from './live-response.ts';
import { callChunk, recordedParts } from './recorded-parts.ts';
import { type AnsweredCall, type AskedBelow, TurnCalls } from './turn-calls.ts';
import type { UiChunk, UiFinishReason } from './ui-chunk.ts';

/** The turn of a session that is encoded. */
export interface EncodedTurn {
  sessionId: string;
  /** 1-based. */
  turn: number;
  /**
   * The offset of the response whose calls the client has shown and decided on: nothing before them is sent, and its message goes on.
   * Absent: the message is sent from its beginning.
   */
  after?: number;
}

/** The circumstances in which a message asks for decisions. */
export interface AskOptions {
  /** True: nothing has come for some time. */
  isLate?: boolean;
  /** True: the client may not decide. */
  staysOpen?: boolean;
}

/**
 * Makes the chunks of an answer from the items of one turn, from the first event of the turn on. The same items give the same chunks, and
 * however an answer was streamed, the message that a client builds is the one of the record.
 */
export class TurnEncoder {
  readonly #turn: EncodedTurn;
  readonly #calls: TurnCalls;
  readonly #guarded = new GuardedChunks();
  #live: LiveResponse | undefined;
  /** True: pieces are missing, and what follows them is not shown before the event or another attempt. */
  #hasGap = false;
  #isInStep = false;
  #usage = noUsage();
  #isCutByLength = false;
  #cursor: string | undefined;
  #isOver = false;
  /** True until the response that the client has: what streams before it is known. */
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

  /** Returns the first chunk. The id of the message follows from the turn. */
  begin(): UiChunk {
    const { sessionId, turn } = this.#turn;
    return { type: 'start', messageId: `${sessionId}-turn-${turn}`, messageMetadata: { runId: sessionId, turn } };
  }

  /**
   * Shows the answers of a client to calls of runs below, which the record of the session does not have: the client would send an answer
   * again that nothing ends.
   */
  *answered(answers: readonly AnsweredCall[]): Generator<UiChunk> {
    for (const answer of answers) yield* this.#calls.answered(answer);
  }

  /** Takes the next item, and yields its chunks. */
  *take(item: StreamItem): Generator<UiChunk> {
    if (this.#isOver) return;
    this.#cursor = item.cursor;
    switch (item.type) {
      case 'event':
        return yield* this.#event(item.offset, item.event);
      case 'step':
        this.#isCutByLength = item.step.finishReason === 'length';
        return;
      case 'delta':
        return this.#isKnown ? undefined : yield* this.#guarded.pass(this.#delta(item));
      case 'reset':
        return this.#isKnown && item.offset === undefined ? undefined : yield* this.#guarded.pass(this.#reset(item));
      case 'gap':
        this.#hasGap = true;
        return;
      case 'status':
        return;
      case 'end':
        yield* this.#guarded.end(item.result.stopReason);
        return yield* this.#end(item.result.stopReason, item.result.error ?? undefined);
    }
  }

  /** The calls of runs below that the message asks about, and that have no answer so far. */
  get waitsBelow(): readonly AskedBelow[] {
    return this.#calls.below;
  }

  /**
   * Asks for decisions, and ends the stream: the client continues with its answers. Yields nothing if the response with a call that waits
   * has not come yet, or, unless it is late, while other calls of the response run: a page sends its answers by itself only once these
   * have their results. With `staysOpen` others decide: the stream does not end, and each approval is shown once.
   */
  *ask(pending: readonly ApprovalView[], { isLate = false, staysOpen = false }: AskOptions = {}): Generator<UiChunk> {
    if (this.#isOver || !this.#calls.hasAll(pending)) return;
    if (!isLate && !staysOpen && this.#calls.areRunning(pending)) return;
    const asked = staysOpen ? this.#calls.unasked(pending) : pending;
    if (asked.length === 0) return;
    yield* this.#guarded.release();
    yield* this.#discardLive();
    yield* this.#calls.ask(asked);
    if (!staysOpen) yield* this.#finish('tool-calls');
  }

  *#event(offset: number, event: Event): Generator<UiChunk> {
    this.#hasGap = false;
    const { after = -1 } = this.#turn;
    this.#isKnown = offset < after;
    // The client has what came before, and the text of the response itself.
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
    if (event.turn !== undefined) return yield* this.#end(event.turn.stopReason, event.turn.error);
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
    yield* (this.#live ?? new LiveResponse(event.id)).end(recordedParts(event.content));
    this.#live = undefined;
  }

  *#delta({ eventId, callId, delta }: StreamItem & { type: 'delta' }): Generator<UiChunk> {
    if (delta.type === 'data') {
      yield { type: `data-${delta.name}`, id: delta.callId, data: delta.data, transient: true };
      return;
    }
    // The output of a call of another model, which the message does not show; or the rest of an answer whose beginning is unknown.
    if (callId !== undefined || this.#hasGap) return;
    if (this.#live !== undefined && this.#live.eventId !== eventId) yield* this.#discardLive();
    if (!this.#isInStep) yield* this.#beginStep();
    this.#live ??= new LiveResponse(eventId);
    yield* this.#live.take(delta);
  }

  *#reset({ callId, offset }: StreamItem & { type: 'reset' }): Generator<UiChunk> {
    // Data is transient: a client has not kept what a tool has emitted.
    if (callId !== undefined) return;
    this.#hasGap = false;
    yield* this.#discardLive();
    if (offset !== undefined) yield* this.#end('error', 'The conversation was sent back to an earlier step: load it again');
  }

  /** Takes back what was streamed of an answer that is not the recorded one. */
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

  *#end(stopReason: StopReason, error: string | undefined): Generator<UiChunk> {
    yield* this.#discardLive();
    if (stopReason === 'guardrail') yield* this.#blocked();
    const reason = finishReasonOf(stopReason);
    if (reason === 'error') {
      // A client stops at the error.
      yield { type: 'message-metadata', messageMetadata: this.#metadata(stopReason) };
      yield { type: 'error', errorText: error ?? 'The turn has failed' };
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
      ...(stopReason === undefined ? {} : { stopReason }),
      usage: this.#usage,
      ...(this.#cursor === undefined ? {} : { cursor: this.#cursor }),
    };
  }
}
