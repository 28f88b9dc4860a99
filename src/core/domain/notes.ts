import { BYTE_BUDGETS, cutText, jsonBytes } from './byte-budgets.ts';
import { isMediaPart, type ToolCall, type ToolResult } from './content.ts';
import { canonicalJson, defined, type JsonObject, type JsonValue } from './json.ts';
import { resultText } from './tool-calls.ts';

// Notes: texts about a call that the model reads after its result. They are not part of the result: a tool message, an encoder of a
// protocol and code that called the tool have the result alone.

/** A result, or the outcome of a call. `resultId`: its id in a worker's cache, which lacks notes that the run adds. */
interface Noted {
  notes?: string[];
  resultId?: string;
}

/** Returns a result with further notes, or the same result if there are none. */
export function withNotes<Result extends Noted>(result: Result, ...notes: readonly string[]): Result {
  if (notes.length === 0) return result;
  const { resultId: _, ...rest } = result;
  return { ...(rest as Result), notes: boundedNotes([...(result.notes ?? []), ...notes]) };
}

const LEFT_OUT = 'Further notes are left out: together they are too long.';

/** Returns notes within their budgets: each is cut, and the last ones are left out if all together are too large. */
export function boundedNotes(notes: readonly string[]): string[] {
  const kept: string[] = [];
  let bytes = jsonBytes(LEFT_OUT);
  for (const note of notes) {
    const cut = cutText(note, BYTE_BUDGETS.note);
    bytes += jsonBytes(cut);
    if (note === LEFT_OUT || bytes > BYTE_BUDGETS.notes) return [...kept, LEFT_OUT];
    kept.push(cut);
  }
  return kept;
}

/**
 * Returns the text of all values of a result except the first and media, as a note; none if there are no others. For results that the run
 * has put together: a model reads the first value, while code and programs read all of them.
 */
export function laterTexts([, ...others]: readonly JsonValue[]): string[] {
  const texts = others.filter((value) => !isMediaPart(value));
  return texts.length === 0 ? [] : [resultText(texts)];
}

/** Returns the field of an activity's result with notes; no field if there are none. */
export function notesField(notes: readonly string[]): { notes?: string[] } {
  return defined({ notes: notes.length === 0 ? undefined : boundedNotes(notes) });
}

/** Returns the notes of a result, each with the call that it is about: models read them apart from the result. */
export function namedNotes({ name, toolCallId, notes = [] }: Pick<ToolResult, 'name' | 'toolCallId' | 'notes'>): string[] {
  return notes.map((note) => `About the call of "${name}" (${toolCallId}): ${note}`);
}

/** Returns a note about a call that code has made, as a note on the code's own call. */
export function noteOnCode({ name }: Pick<ToolCall, 'name'>, note: string): string {
  return `its call of "${name}": ${note}`;
}

/** Returns the note about the arguments that an approver chose. */
export function editNote(args: JsonObject): string {
  return `the approver changed its arguments before it ran: ${JSON.stringify(args)}`;
}

/** The maximum bytes of JSON of a text that a model wrote as arguments, and of all such texts of one answer. */
const WRITTEN_BYTES = { text: 2_000, answer: 20_000 };

/** Returns a note about arguments that the call does not have, because they could not be read or were too large. */
function writtenNote(text: string): string {
  return `the model wrote as its arguments: ${cutText(text.toWellFormed(), WRITTEN_BYTES.text)}`;
}

/** Returns notes about the texts that a model wrote as arguments, by call id: of the first calls, if all together are too long. */
export function writtenNotes(texts: Iterable<readonly [callId: string, text: string]>): Record<string, string> | undefined {
  const notes: [string, string][] = [];
  let bytes = 0;
  for (const [callId, text] of texts) {
    const note = writtenNote(text);
    bytes += jsonBytes(note);
    if (bytes <= WRITTEN_BYTES.answer) notes.push([callId, note]);
  }
  // Call ids come from models and may be `__proto__`: fromEntries makes every key an own property.
  return notes.length === 0 ? undefined : Object.fromEntries(notes);
}

/** The arguments of a call: as the model wrote them, as shown to the approver, and as the approver sent them back. */
interface EditedArguments {
  written: JsonObject;
  shown: JsonObject;
  edited: JsonObject;
}

/**
 * Returns the edited arguments that the model is told, or undefined if the approver changed nothing that it knows of. A value that the
 * run wrote and the approver left is not among them: it may be one that the model must not read.
 */
export function toldArguments({ written, shown, edited }: EditedArguments): JsonObject | undefined {
  if (isEqual(edited, shown) || isEqual(edited, written)) return undefined;
  const valueOf = (args: JsonObject, key: string): JsonObject[string] | undefined => (Object.hasOwn(args, key) ? args[key] : undefined);
  const isOfRun = ([key, value]: [string, JsonObject[string]]): boolean =>
    isEqual(value, valueOf(shown, key)) && !isEqual(value, valueOf(written, key));
  const told = Object.fromEntries(Object.entries(edited).filter((entry) => !isOfRun(entry)));
  return isEqual(told, written) ? undefined : told;
}

function isEqual(one: JsonObject[string], other: JsonObject[string] | undefined): boolean {
  return other !== undefined && canonicalJson(one) === canonicalJson(other);
}
