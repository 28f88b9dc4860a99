import type { StepError } from './step-error.ts';
import type { AnswerVerdict } from './verdict.ts';

/** The part of an event that says which step of a program it belongs to. */
export interface StepNote {
  /** The unit, or the address of the step: `sort`, `sort.Kind`, `fan.Sum[3]`. */
  at: string;
  /** The kind of step, or `unit`. */
  kind: string;
  /** `attempt`: an attempt has ended. `start` and `end`: the step or unit has begun or ended. */
  type: 'start' | 'attempt' | 'end';
  /** From 1. */
  attempt?: number;
  /** The beginning of the attempt or of the step. ISO 8601. */
  startedAt?: string;
  /** For an end. */
  status?: 'completed' | 'failed' | 'skipped';
  /** For a model call: the number of characters of the prompt and of the answer. */
  promptLength?: number;
  answerLength?: number;
  /** For a model call: the answer has a value besides its text. */
  structured?: true;
  verdict?: AnswerVerdict;
  error?: StepError;
  /** The reason why the step was skipped. */
  reason?: string;
  /** The id of the run that the step has started as a child. */
  child?: string;
  /** The output was taken over from an earlier run, at no cost. */
  reused?: true;
}
