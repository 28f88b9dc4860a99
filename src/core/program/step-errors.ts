import { cutText } from '../domain/byte-budgets.ts';
import { ERROR_CODES, type ErrorCode } from '../domain/errors.ts';
import type { JsonValue } from '../domain/json.ts';
import type { Duration } from '../domain/time.ts';
import type { StepError, StepErrorContext } from '../domain/verdicts.ts';

/** The maximum bytes of a message and of its details: they are recorded, and the model's next attempt reads them. */
const MAX_ERROR_BYTES = 8_000;

export type { StepError, StepErrorContext };

/** The circumstances as given by the failing code: fields may be empty, and the value is not text yet. */
export type GivenErrorContext = Omit<StepErrorContext, 'actualValue'> & { actualValue?: JsonValue | undefined };

/** Creates a step's failure. Its context has no empty fields, and its texts are bounded. */
export function newStepError(code: ErrorCode, message: string, given: GivenErrorContext = {}): StepError {
  const { step, unit, attempt, expectedType, actualValue, anchorName, details } = given;
  const context: StepErrorContext = {
    ...(step ? { step } : {}),
    ...(unit ? { unit } : {}),
    ...(attempt ? { attempt } : {}),
    ...(expectedType ? { expectedType } : {}),
    ...(actualValue === undefined || actualValue === null ? {} : { actualValue: debugText(actualValue) }),
    ...(anchorName ? { anchorName } : {}),
    ...(details ? { details: cutText(details, MAX_ERROR_BYTES) } : {}),
  };
  return { code, message: cutText(message, MAX_ERROR_BYTES), context };
}

/** The place of a failure in a program. */
export interface StepPlace {
  step: string;
  unit: string;
}

/** Returns the failure of a step whose model call failed. `reason`: the message of the underlying error. */
export function modelCallFailure(reason: string, place: StepPlace): StepError {
  return newStepError('model_call_failed', `Model call failed for step '${place.step}': ${reason}`, { ...place, details: reason });
}

/** Returns the failure of a step with an attempt that exceeded its `timeout`. */
export function timeoutFailure(timeout: Duration, place: StepPlace, details = ''): StepError {
  const time = typeof timeout === 'number' ? `${timeout} ms` : timeout;
  return newStepError('step_timeout', `Step '${place.step}' timed out after ${time}`, { step: place.step, unit: place.unit, details });
}

/** Returns the failure of a step whose model answered without text. */
export function emptyAnswerFailure(place: StepPlace): StepError {
  return newStepError('empty_answer', 'Message content must not be empty', place);
}

/**
 * Returns the failure of a step whose attempts all failed. `last`: the failure of the last attempt, or its text if nothing else is known.
 */
export function exhaustionFailure(attempts: number, last: StepError | string, place: StepPlace): StepError {
  const message = `All ${attempts} refine attempts exhausted for step '${place.step}'.`;
  const isText = typeof last === 'string';
  const failure = newStepError('refine_exhausted', message, { ...place, attempt: attempts, ...(isText ? { details: last } : {}) });
  return isText ? failure : { ...failure, cause: last };
}

/** Returns the message about breached anchors, which a model reads before its next attempt. It contains each violation once. */
export function breachMessage({ anchorName = '', details = '' }: Pick<StepErrorContext, 'anchorName' | 'details'>): string {
  const names = anchorName.split(', ').map((name) => `"${name}"`);
  const anchors = `the ${names.length === 1 ? 'anchor' : 'anchors'} ${names.join(', ')}`;
  return cutText(`The answer breaches ${anchors}:${details.includes('\n') ? '\n' : ' '}${details}`, MAX_ERROR_BYTES);
}

/** Returns the severity of a step's failure, from 1 to 6. A code that is not a step error has the severity of `step_failed`. */
export function errorLevel(code: ErrorCode): number {
  const row = ERROR_CODES[code];
  return 'level' in row ? row.level : ERROR_CODES.step_failed.level;
}

/** Returns the name of a failure in AXON. A code that is not a step error has the name of `step_failed`. */
export function seedNameOf(code: ErrorCode): string {
  const row = ERROR_CODES[code];
  return 'seedName' in row ? row.seedName : ERROR_CODES.step_failed.seedName;
}

/**
 * Formats a failure like AXON: the message with its level and name, then lines with the circumstances. An error with a name but without a
 * level in AXON is only its message.
 */
export function formatError(error: StepError): string {
  const { code, context, cause } = error;
  const row = ERROR_CODES[code];
  if ('seedName' in row && !('level' in row)) return error.message;
  const { step, unit, attempt, details = cause === undefined ? undefined : cutText(formatError(cause), MAX_ERROR_BYTES) } = context;
  return [
    `[L${errorLevel(code)}] ${seedNameOf(code)}: ${seedMessage(error)}`,
    ...(step === undefined ? [] : [`  step: ${step}`]),
    ...(unit === undefined ? [] : [`  flow: ${unit}`]),
    ...(attempt === undefined ? [] : [`  attempt: ${attempt}`]),
    ...(details === undefined ? [] : [`  details: ${details}`]),
  ].join('\n');
}

/** AXON has its own wording for a breach of anchors. A custom message stays unchanged. */
function seedMessage({ code, message, context }: StepError): string {
  if (code !== 'anchor_breach' || message !== breachMessage(context)) return message;
  return `L3 Anchor breach detected:\n${context.details ?? ''}`;
}

/** Returns the text of a failure for a model's next attempt and for people, without repetition. `formatError` returns AXON's form. */
export function failureText({ message, context: { details = '' }, cause }: StepError): string {
  if (cause !== undefined) return `${message} The last one: ${failureText(cause)}`;
  // Most messages quote the beginning of the details; long ones are cut.
  return message.includes(details.slice(0, QUOTED_CHARACTERS)) ? message : `${message}\n${details}`;
}

const QUOTED_CHARACTERS = 200;

/** The maximum characters of a debug text. */
const MAX_DEBUG_CHARACTERS = 1000;

/** Formats a value for messages: texts in single quotes, lists and objects with spaces. Cut if it is long. */
export function debugText(value: JsonValue): string {
  const text = debugBeginning(value, MAX_DEBUG_CHARACTERS);
  return text.length <= MAX_DEBUG_CHARACTERS ? text : `${text.slice(0, MAX_DEBUG_CHARACTERS - 3).replace(/[\ud800-\udbff]$/, '')}...`;
}

/** Returns the debug text of a value, or a beginning of it longer than `room` characters, reading no more of the value. */
function debugBeginning(value: JsonValue, room: number): string {
  if (typeof value === 'string') return singleQuoted(value.slice(0, room + 1));
  if (typeof value !== 'object' || value === null) return String(value);
  const isList = Array.isArray(value);
  let text = isList ? '[' : '{';
  // Does not follow a value nested deeper than there is room: the stack would overflow.
  if (text.length > room) return text;
  for (const [key, member] of isList ? value.entries() : Object.entries(value)) {
    if (text.length > 1) text += ', ';
    if (typeof key === 'string') text += `${singleQuoted(key.slice(0, room + 1))}: `;
    text += debugBeginning(member, Math.max(0, room - text.length));
    if (text.length > room) return text;
  }
  return `${text}${isList ? ']' : '}'}`;
}

/** Quotes a text with single quotes, or with double quotes if it contains only single quotes. */
function singleQuoted(text: string): string {
  const json = JSON.stringify(text).slice(1, -1);
  if (text.includes("'") && !text.includes('"')) return `"${json}"`;
  return `'${json.replaceAll(String.raw`\"`, '"').replaceAll("'", String.raw`\'`)}'`;
}
