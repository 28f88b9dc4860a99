import { cutText } from '../domain/byte-budgets.ts';
import type { ToolResult } from '../domain/content.ts';
import { defined } from '../domain/defined.ts';
import type { ErrorCode } from '../domain/errors.ts';
import { type JsonObject, type JsonValue, parsedJson } from '../domain/json.ts';
import type { RecordedCall, StepState } from '../domain/program-run.ts';
import type { Event } from '../domain/record.ts';
import { isoTime } from '../domain/time.ts';
import { type AnswerVerdict, type StepError, type StepNote, type Violation, withAttempt } from '../domain/verdicts.ts';
import { noteError, recordEvent } from '../kernel/run-state.ts';
import { addressText, callIdAt, indexOf, type StepAddress } from './program-index.ts';
import type { AttemptEnd, ProgramRun } from './program-run.ts';
import { debugText, emptyAnswerFailure, newStepError, type StepPlace } from './step-errors.ts';
import { anchorFailure, validationFailure } from './validation.ts';

// Programs: the events and the states of steps.

export interface RunningStep {
  address: StepAddress;
  /** The text of the address. */
  at: string;
  state: StepState;
}

/** Records an event of a step. Its content leaves the window at once: no model of the run reads it. */
export function recordNote({ state, ports }: ProgramRun, note: StepNote, event: Partial<Event> = {}): void {
  recordEvent(state, ports, { author: note.at, content: [], ...event, step: note });
  const isOpenCall = event.content?.some(({ type }) => type === 'tool_call') === true;
  if (!isOpenCall) forgetEvents(state.window, ({ id }) => id === state.window.lastEventId);
}

/** Removes events from the window that nothing needs any more. */
function forgetEvents(window: ProgramRun['state']['window'], isForgotten: (event: { id: string }) => boolean): void {
  const kept = window.events.filter((event) => !isForgotten(event));
  if (kept.length === window.events.length) return;
  window.events = kept;
  window.bytes = kept.reduce((sum, { content }) => sum + JSON.stringify(content).length, 0);
}

/** Returns the running state of a step, and begins it if it has not begun. */
export function beginStep(run: ProgramRun, address: StepAddress): RunningStep {
  const at = addressText(address);
  const { program, ports } = run;
  const { kind } = indexOf(program.document).get(address.unit, address.step);
  let state = program.steps.get(at);
  if (state === undefined) {
    state = { kind, status: 'running', startedAt: ports.now(), attempts: 0 };
    program.steps.set(at, state);
    recordNote(run, { at, kind, type: 'start' });
  }
  return { address, at, state };
}

/** Records an attempt that failed before anything was called. */
export function failedAtOnce(run: ProgramRun, { at, state }: RunningStep, error: StepError): AttemptEnd & { type: 'failed' } {
  noteError(run.state, error.message);
  recordNote(run, { at, kind: state.kind, type: 'attempt', attempt: state.attempts, error });
  return { type: 'failed', error, id: run.state.window.lastEventId };
}

/** Ends a step, and drops what only a running step needs. */
export function endStep(run: ProgramRun, { at, state }: RunningStep, end: Pick<StepState, 'status'> & Partial<StepState>): void {
  Object.assign(state, end, { endedAt: run.ports.now() });
  delete state.progress;
  const { kind, status, error, reason, reused } = state;
  const note: StepNote = { at, kind, type: 'end', startedAt: isoTime(state.startedAt) };
  if (status !== 'running') note.status = status;
  recordNote(run, {
    ...note,
    ...defined({ error, reason }),
    ...(reused ? { reused } : {}),
  });
  run.ports.recorded?.(run.state);
}

// Programs: calls in the record, which people decide about and tools execute.

interface StepCall {
  /** The name of the tool, or of the question or review. */
  name: string;
  arguments: JsonObject;
  /** Added to the address of the step: a step may have several calls. */
  suffix?: string;
}

/**
 * Reserves the id of the event of a call of a tool before the run may stop for its next execution: if the workflow task is lost
 * after the call, and the run continues as new instead of calling, the next execution calls with the same idempotency key.
 */
export function reserveCallEvent(run: ProgramRun, running: RunningStep): void {
  const { progress } = running.state;
  if (progress?.call !== undefined || progress?.callEventId !== undefined) return;
  running.state.progress = { ...progress, callEventId: run.ports.callEventId(callIdAt(running.at, running.state.attempts)) };
}

export function recordCall(run: ProgramRun, running: RunningStep, { name, arguments: args, suffix }: StepCall): RecordedCall {
  const { at, state } = running;
  const callId = callIdAt(at, state.attempts, suffix);
  const { callEventId: id = run.ports.callEventId(callId), ...progress } = state.progress ?? {};
  const note: StepNote = { at, kind: state.kind, type: 'start', attempt: state.attempts };
  recordNote(run, note, { id, content: [{ type: 'tool_call', toolCallId: callId, name, arguments: args }] });
  const { through, lastEventId } = run.state.window;
  const call = { callId, eventId: lastEventId, offset: through - 1 };
  state.progress = { ...progress, call };
  return call;
}

/** The result of a call. `error` is that of an attempt which has failed by it, and `startedAt` the beginning of a call that was made. */
type CallResult = Pick<ToolResult, 'name' | 'status' | 'content'> & Pick<StepNote, 'startedAt' | 'error'>;

/** Records the result of a call, after which nothing needs the event of the call any more. */
export function recordResult(
  run: ProgramRun,
  { at, state }: RunningStep,
  call: RecordedCall,
  { name, status, content, ...noted }: CallResult,
): void {
  const note: StepNote = { at, kind: state.kind, type: 'attempt', attempt: state.attempts, ...noted };
  recordNote(run, note, { content: [{ type: 'tool_result', toolCallId: call.callId, name, status, content }] });
  closeCall(run, { state }, call);
}

/** Forgets the event of a call that has ended. */
function closeCall(run: ProgramRun, { state }: Pick<RunningStep, 'state'>, { eventId }: RecordedCall): void {
  forgetEvents(run.state.window, ({ id }) => id === eventId);
  delete state.progress?.call;
}

// Programs: the answer of an `ask`.

/** Bytes of the text next to a structured answer that the result of its step has. */
const TEXT_BYTES = 500;

interface CheckedAnswer {
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
  const details = withAttempt(state.attemptDetails ?? [], { attempt: state.attempts, verdict, ...defined({ error }) });
  if (details.length > 0) state.attemptDetails = details;
  delete state.text;
  if (structured !== undefined && isMoreThanJson(text)) state.text = cutText(text, TEXT_BYTES);
  const answered = { verdict, promptLength, answerLength: text.length, ...(structured === undefined ? {} : { structured: true as const }) };
  recordNote(run, { ...note, ...answered, ...defined({ error }) }, event);
  return error;
}

/** True for a text that is not the structured answer itself. */
function isMoreThanJson(text: string): boolean {
  return text.trim() !== '' && parsedJson(text) === undefined;
}

/** An answer that was checked, and what its step declares. */
interface JudgedAnswer {
  place: StepPlace;
  answer: JsonValue;
  /** The type that the step declares. */
  type?: string | undefined;
  /** As AXON's executor, a lenient program reports too little confidence as any other violation. */
  lenient?: boolean | undefined;
}

/** Returns the failure of an attempt by the checks of its answer: the anchors first, then the form, then the validator. */
function verdictError(verdict: AnswerVerdict, { place, answer, type, lenient = false }: JudgedAnswer): StepError | undefined {
  if (verdict.empty) return emptyAnswerFailure(place);
  const error = verdictFailure(verdict, place, lenient);
  if (error === undefined) return undefined;
  const { context } = error;
  return { ...error, context: { ...context, ...(type ? { expectedType: type } : {}), actualValue: debugText(answer) } };
}

function verdictFailure(
  { anchors, misfit, violations = [], confidence }: AnswerVerdict,
  place: StepPlace,
  lenient: boolean,
): StepError | undefined {
  if (anchors?.passed === false) return anchorFailure(anchors, place);
  if (misfit !== undefined)
    return newStepError('validation_failed', `The answer does not have the form of the step: ${misfit}`, { ...place, details: misfit });
  const errors = violations.filter(({ severity }) => severity === 'error');
  if (errors.length === 0) return undefined;
  const [first] = errors;
  if (first !== undefined && !lenient && errors.every(isTooUnsure)) return newStepError('confidence_too_low', first.message, place);
  return validationFailure({ isValid: false, violations, confidence: confidence ?? null }, place);
}

function isTooUnsure({ rule }: Violation): boolean {
  return rule === 'confidence_floor';
}

// Programs: the failure of a step as data.

/** Returns the failure of a step, with its unit and its name. */
export function stepFailure({ address }: RunningStep, code: ErrorCode, message: string, details = ''): StepError {
  return newStepError(code, message, { step: address.step, unit: address.unit, details });
}
