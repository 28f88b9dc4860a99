import { isToolCall } from '../../../../core/domain/content/content.ts';
import { FINAL_ANSWER, RUN_CODE } from '../../../../core/domain/content/tool-text.ts';
import { blockedText, refusalIn } from '../../../../core/domain/guardrails/guardrail.ts';
import type { Event } from '../../../../core/domain/record/event.ts';
import { isResponse } from '../../../../core/domain/record/run-record.ts';
import type { StopReason } from '../../../../core/domain/run/status.ts';
import { isOfUser } from '../record-events.ts';
import type { UiChunk } from './ui-chunk.ts';

/** The text that stands for what a guardrail has blocked. */
export interface BlockedText {
  /** The id of the part. */
  id: string;
  text: string;
}

/**
 * Keeps what a guardrail has blocked from the chunks of a turn. A guarded response that may be the answer is held back until the turn has
 * ended with it, or continues: whether it is guarded is recorded with it. What was shown before it was blocked is taken back.
 */
export class GuardedChunks {
  /** The chunks since the response that may be the answer. */
  #held: UiChunk[] | undefined;
  /** The offset of the newest response. */
  #newest: number | undefined;
  #blocked: BlockedText | undefined;

  /** The text to show at the end of the turn in place of what was blocked. */
  get blocked(): BlockedText | undefined {
    return this.#blocked;
  }

  /** Passes on the chunks of an item that is no event. */
  *pass(chunks: Iterable<UiChunk>): Generator<UiChunk> {
    if (this.#held === undefined) yield* chunks;
    else this.#held.push(...chunks);
  }

  /** Passes on the chunks of an event. */
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

  /** Shows what is held back: the turn goes on, so it was not the answer. */
  *release(): Generator<UiChunk> {
    const held = this.#held ?? [];
    this.#held = undefined;
    yield* held;
  }

  /** Ends the turn. An answer that it has not ended with was passed by no guardrail, for example because the user has stopped it. */
  *end(stopReason: StopReason): Generator<UiChunk> {
    yield* stopReason === 'final_answer' ? this.release() : this.#drop();
  }

  *#block({ id, guardrails }: Event, offsets: readonly number[]): Generator<UiChunk> {
    const refusal = guardrails && refusalIn(guardrails);
    if (refusal !== undefined) this.#blocked = { id, text: blockedText(refusal) };
    if (this.#held !== undefined) yield* this.#drop();
    else if (this.#newest !== undefined && offsets.includes(this.#newest)) yield { type: 'reset-step' };
  }

  /** Drops what is held back, and takes back the part of its step that was shown before, such as its reasoning. */
  *#drop(): Generator<UiChunk> {
    const held = this.#held;
    this.#held = undefined;
    if (held?.every(({ type }) => type !== 'start-step')) yield { type: 'reset-step' };
  }
}

/** True for a response that calls no tool. The answer may be given by a call, and by code. */
function mayBeAnswer({ content }: Event): boolean {
  return !content.some((item) => isToolCall(item) && item.name !== FINAL_ANSWER && item.name !== RUN_CODE);
}

const TEXT: readonly UiChunk['type'][] = ['text-start', 'text-delta', 'text-end'];

/** Yields the chunks of an answer that was interrupted, whose text no guardrail has passed. */
function* withoutText(chunks: Iterable<UiChunk>): Generator<UiChunk> {
  for (const chunk of chunks) if (!TEXT.includes(chunk.type)) yield chunk;
}
