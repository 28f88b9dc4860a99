// Programs: the answer of an `ask`.

import type { StepError } from '../../../domain/program/step-error.ts';
import type { StepNote } from '../../../domain/program/step-note.ts';
import type { AnswerVerdict } from '../../../domain/program/verdict.ts';
import type { Event } from '../../../domain/record/event.ts';
import { noteError } from '../../../loop/state/run-state.ts';
import { verdictError, violationMessages } from '../../validation/verdict-error.ts';
import type { ProgramRun } from '../program-run.ts';
import { recordNote, type RunningStep } from '../record.ts';

/** An answer that was checked. */
export interface CheckedAnswer {
  note: StepNote;
  verdict: AnswerVerdict;
  /** The number of characters of the prompt. */
  promptLength: number;
  text: string;
}

/** Records an answer with its verdict, which decides if the attempt has failed. Returns the failure. */
export function recordAnswer(
  run: ProgramRun,
  { state, address }: RunningStep,
  { note, verdict, promptLength, text }: CheckedAnswer,
  event: Partial<Event>,
): StepError | undefined {
  run.state.thought = text;
  state.violations = violationMessages(verdict);
  const error = verdictError(verdict, address);
  if (error !== undefined) noteError(run.state, error.message);
  recordNote(run, { ...note, verdict, promptLength, answerLength: text.length, ...(error === undefined ? {} : { error }) }, event);
  return error;
}
