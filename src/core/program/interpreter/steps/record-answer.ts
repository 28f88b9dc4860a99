// Programs: the answer of an `ask`.

import { cutText } from '../../../domain/byte-budgets.ts';
import type { JsonValue } from '../../../domain/json.ts';
import { type AnswerVerdict, type StepError, type StepNote, withAttempt } from '../../../domain/verdicts.ts';
import type { Event } from '../../../domain/record.ts';
import { noteError } from '../../../loop/state/run-state.ts';
import { indexOf } from '../../state/program-index.ts';
import { verdictError } from '../../validation/verdict-error.ts';
import type { ProgramRun } from '../program-run.ts';
import { recordNote, type RunningStep } from '../record.ts';

/** Bytes of the text beside a structured answer that the result of its step has. */
const TEXT_BYTES = 500;

/** An answer that was checked. */
export interface CheckedAnswer {
  note: StepNote;
  verdict: AnswerVerdict;
  /** The number of characters of the prompt. */
  promptLength: number;
  text: string;
  /** The value of the answer, if it has one besides its text. */
  structured?: JsonValue | undefined;
}

/** Records an answer with its verdict, which decides if the attempt has failed. Returns the failure. */
export function recordAnswer(
  run: ProgramRun,
  { state, address }: RunningStep,
  { note, verdict, promptLength, text, structured }: CheckedAnswer,
  event: Partial<Event>,
): StepError | undefined {
  const { document } = run.program;
  const { type } = indexOf(document).get(address.unit, address.step).step.ask ?? {};
  run.state.thought = text;
  const error = verdictError(verdict, { place: address, answer: structured ?? text, type, lenient: document.lenient });
  if (error !== undefined) noteError(run.state, error.message);
  const details = withAttempt(state.attemptDetails ?? [], { attempt: state.attempts, verdict, ...(error === undefined ? {} : { error }) });
  if (details.length > 0) state.attemptDetails = details;
  delete state.text;
  if (structured !== undefined && isMoreThanJson(text)) state.text = cutText(text, TEXT_BYTES);
  const answered = { verdict, promptLength, answerLength: text.length, ...(structured === undefined ? {} : { structured: true as const }) };
  recordNote(run, { ...note, ...answered, ...(error === undefined ? {} : { error }) }, event);
  return error;
}

/** True for a text that is not the structured answer itself. */
function isMoreThanJson(text: string): boolean {
  if (text.trim() === '') return false;
  try {
    JSON.parse(text);
    return false;
  } catch {
    return true;
  }
}
