import { UsageError } from '../errors/error.ts';
import type { JsonObject, JsonValue } from '../json/json.ts';

/** The way in which a final answer came about: in the steps of the run, or in the attempt after the last of them. */
export type AnswerSource = 'normal' | 'final_attempt';

/** The final answer of a run. */
export interface FinalAnswer {
  readonly value: JsonValue;
  readonly source: AnswerSource;
  /** Milliseconds since the epoch. */
  readonly timestamp: number;
  readonly metadata: JsonObject;
}

/** A run has a final answer, and was given another one. */
export class MultipleFinalAnswers extends UsageError {
  /** The answer that the run has. */
  readonly first: JsonValue;
  /** The answer that was refused. */
  readonly attempted: JsonValue;

  constructor(first: JsonValue, attempted: JsonValue) {
    super('Final answer already set. Each execution can only have one final answer.');
    this.first = first;
    this.attempted = attempted;
  }
}

/** Holds the final answer of a run, which is set once. */
export class Finalizer {
  private answer: FinalAnswer | undefined;

  /** `answer`: the one that the run has already. */
  constructor(answer?: FinalAnswer) {
    this.answer = answer;
  }

  /** Sets the answer. Throws `MultipleFinalAnswers` if there is one, which null is too. The caller supplies the time. */
  set(
    value: JsonValue,
    { now, source = 'normal', metadata = {} }: { now: number; source?: AnswerSource; metadata?: JsonObject },
  ): FinalAnswer {
    if (this.answer !== undefined) throw new MultipleFinalAnswers(this.answer.value, value);
    this.answer = { value, source, timestamp: now, metadata };
    return this.answer;
  }

  /** Returns the answer; undefined if none is set. */
  get(): FinalAnswer | undefined {
    return this.answer;
  }

  /** True if an answer is set. */
  isSet(): boolean {
    return this.answer !== undefined;
  }

  /** Forgets the answer, so that another one can be set. */
  reset(): void {
    this.answer = undefined;
  }
}
