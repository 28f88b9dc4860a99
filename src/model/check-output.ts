import { z } from 'zod';
import { jsonBytes } from '../core/domain/byte-budgets.ts';
import { type Source, SOURCE_BOUNDS } from '../core/domain/content.ts';
import { errorMessage } from '../core/domain/errors.ts';
import { canonicalJson, defined, isJsonObject, type JsonObject, type JsonValue } from '../core/domain/json.ts';
import type { OutputVerdict } from '../core/domain/model.ts';
import { oneLine } from '../core/domain/text.ts';
import { checkJson, problemsText } from '../core/json-schema/check-json-schema.ts';
import { onlyOne, removeAddedNulls } from '../core/json-schema/read-by-schema.ts';
import { changesValues } from '../schema/changes-values.ts';
import { splitReasoning } from './answer-text.ts';
import { cleanJson, parseJsonText } from './parse-json.ts';
import { recordableJson } from './recordable-json.ts';

/** The schemas that an answer must match. */
export interface OutputCheck {
  schema: JsonObject;
  /** The zod schema, applied after the JSON Schema, if this worker has it. */
  zod: z.ZodType | undefined;
}

/** Checks a value. Returns `parsed` if defaults or the removal of nulls for omitted fields changed it. */
export function checkOutput(value: JsonValue, check: OutputCheck): OutputVerdict {
  // A strict provider has no optional fields, and other models also fill them in.
  const cleaned = checkJson(check.schema, value).length === 0 ? value : removeAddedNulls(check.schema, value);
  const problems = checkJson(check.schema, cleaned);
  const refused = problems.length === 0 ? undefined : problemsText(problems);
  if (refused !== undefined && !mayRepair(check)) return { type: 'problem', problem: refused };
  const parsed = parseWithZod(cleaned, check.zod);
  if ('problem' in parsed) return { type: 'problem', problem: refused ?? parsed.problem };
  if (canonicalJson(parsed.value) === canonicalJson(value)) return { type: 'fits' };
  return { type: 'parsed', value: parsed.value };
}

/** True if the zod schema may change values, and so repair those that the JSON Schema refuses: `catch`, `preprocess`, `coerce`. */
function mayRepair({ zod }: OutputCheck): boolean {
  return zod !== undefined && changesValues(zod);
}

/** An answer without tool calls. */
export interface TextAnswer {
  text: string;
  /** The answer as a value, if the model client delivered one in addition to the text. */
  structured: JsonValue | undefined;
  /** False if the answer was cut off. */
  complete: boolean;
}

/** Checks an answer that should be JSON text. `fits` means that parsing the text gives the output. */
export function checkOutputText({ text, structured, complete }: TextAnswer, check: OutputCheck): OutputVerdict {
  const plain = parseJsonText(text, false);
  if (plain.ok && isSameJson(text, plain.value)) return checkOutput(plain.value, check);

  if (!plain.ok && structured !== undefined) return parsedVerdict(structured, check);
  const bare = splitReasoning(text).text;
  // A cut answer might have held a second value.
  const values = complete ? jsonValuesIn(bare) : [];
  const fitting = values.filter((value) => checkOutput(value, check).type !== 'problem');
  const [value] = values;
  const only = onlyOne(fitting) ?? (values.length === 1 ? value : undefined);
  if (only !== undefined) return parsedVerdict(only, check);
  if (fitting.length > 0) return { type: 'problem', problem: 'the answer holds several JSON values that fit, and only one is meant' };

  const repaired = parseJsonText(bare, complete);
  if (!repaired.ok) return { type: 'problem', problem: `the answer is not valid JSON: ${repaired.problem}` };
  const verdict = parsedVerdict(repaired.value, check);
  // A repair reads any prose as a string.
  const isProse = repaired.repaired && typeof repaired.value === 'string';
  return isProse && verdict.type !== 'problem' ? { type: 'problem', problem: 'the answer is not JSON' } : verdict;
}

/**
 * Checks an answer that should have been a call of `final_answer`: JSON in its text, or the text itself if the schema accepts it. Undefined
 * for an empty text.
 */
export function checkAnswerText(answer: TextAnswer, check: OutputCheck): OutputVerdict | undefined {
  const text = splitReasoning(answer.text).text.trim();
  if (text === '') return undefined;
  const verdict = checkOutputText(answer, check);
  return verdict.type === 'problem' && answer.complete && checkOutput(text, check).type !== 'problem'
    ? parsedVerdict(text, check)
    : verdict;
}

/** Checks a value that differs from the text of the answer. */
function parsedVerdict(value: JsonValue, check: OutputCheck): OutputVerdict {
  const verdict = checkOutput(value, check);
  return verdict.type === 'fits' ? { type: 'parsed', value } : verdict;
}

/**
 * True if parsing the text gives this exact value. It does not if, for example, lone surrogates were replaced in the
 * value.
 */
function isSameJson(text: string, value: JsonValue): boolean {
  return canonicalJson(JSON.parse(text) as JsonValue) === canonicalJson(value);
}

function parseWithZod(value: JsonValue, schema: z.ZodType | undefined): { value: JsonValue } | { problem: string } {
  if (schema === undefined) return { value };
  try {
    const parsed = schema.safeParse(value);
    if (!parsed.success) return { problem: z.prettifyError(parsed.error).toWellFormed() };
    const recordable = recordableJson(parsed.data);
    if ('problem' in recordable) return { problem: `what the output schema makes of it is not JSON: ${recordable.problem}` };
    return recordable.value === undefined ? { problem: 'what the output schema makes of it is undefined' } : { value: recordable.value };
  } catch (error) {
    return { problem: `the output schema failed: ${errorMessage(error).toWellFormed()}` };
  }
}

/** The longest text that is searched, in characters. */
const MAX_SEARCHED_LENGTH = 200_000;

/** False starts after which the search for JSON ends: each may take time proportional to the text. */
const MAX_FAILURES = 100;

const FENCE = '```';

/**
 * Returns the JSON values in a text in order: the whole text or the content of its only code fence; otherwise each outermost list and
 * object in it. Nothing is repaired.
 */
function jsonValuesIn(text: string): JsonValue[] {
  if (text.length > MAX_SEARCHED_LENGTH) return [];
  for (const whole of [text, onlyFence(text)]) {
    const parsed = whole === undefined ? undefined : parseJsonText(whole, false);
    if (parsed?.ok) return [parsed.value];
  }
  const values: JsonValue[] = [];
  let failures = 0;
  for (let at = nextOpening(text, 0); at >= 0 && failures < MAX_FAILURES; at = nextOpening(text, at)) {
    const end = endOfNested(text, at);
    const parsed = end === undefined ? undefined : parseJsonText(text.slice(at, end), false);
    if (end !== undefined && parsed?.ok) {
      values.push(parsed.value);
      at = end;
    } else {
      failures += 1;
      at += 1;
    }
  }
  // The rest of the text may hold another value.
  return failures < MAX_FAILURES ? values : [];
}

/** Returns the content of a text that is only a code fence, without its language. */
function onlyFence(text: string): string | undefined {
  const bare = text.trim();
  const line = bare.indexOf('\n');
  if (!bare.startsWith(FENCE) || line < 0 || bare.indexOf(FENCE, FENCE.length) !== bare.length - FENCE.length) return undefined;
  return bare.slice(line + 1, -FENCE.length);
}

function nextOpening(text: string, from: number): number {
  for (let at = from; at < text.length; at += 1) if (text[at] === '{' || text[at] === '[') return at;
  return -1;
}

/** Returns the index after the list or object that begins at `from`; undefined if it does not end. */
function endOfNested(text: string, from: number): number | undefined {
  let depth = 0;
  let isInText = false;
  for (let at = from; at < text.length; at += 1) {
    const character = text[at];
    if (isInText) {
      if (character === '\\') at += 1;
      else if (character === '"') isInText = false;
    } else if (character === '"') isInText = true;
    else if (character === '{' || character === '[') depth += 1;
    else if (character === '}' || character === ']') {
      depth -= 1;
      if (depth === 0) return at + 1;
    }
  }
  return undefined;
}

/**
 * Returns the final answer of a cell as the output of its run, or the problem if it does not fit the output schema of the
 * agent. Without a schema any value is the output.
 */
export function finalValue(value: JsonValue, check: OutputCheck | undefined): { value: JsonValue } | { problem: string } {
  if (check === undefined) return { value };
  const verdict = checkOutput(value, check);
  if (verdict.type === 'problem') return { problem: `The final answer does not fit the required JSON Schema: ${verdict.problem}` };
  return { value: verdict.type === 'parsed' ? verdict.value : value };
}

/** The most bytes of a title, a media type and a name of a file. */
const TITLE_BYTES = 500;
const NAME_BYTES = 200;

/**
 * Returns the sources of an answer in their recorded form: each once, at most 50. Nothing in them is trusted. A source that is not an
 * object, names nothing, or is too large is left out; so are a URL that is not http(s), which a page could run, and a
 * place outside the text.
 */
export function checkSources(given: unknown, text: string): Source[] {
  const sources = new Map<string, Source>();
  for (const one of listIn(given)) {
    const source = checkSource(one, text);
    if (source === undefined || jsonBytes(source) > SOURCE_BOUNDS.bytes) continue;
    if (sources.size === SOURCE_BOUNDS.sources) break;
    sources.set(JSON.stringify(source), source);
  }
  const all = [...sources.values()];
  // Pages that were found, and then cited at some place.
  const cited = new Set(all.flatMap(({ url, start }) => (url === undefined || start === undefined ? [] : [url])));
  return all.filter(({ url, start }) => start !== undefined || url === undefined || !cited.has(url));
}

function listIn(given: unknown): JsonObject[] {
  const list = Array.isArray(given) ? cleanJson(given) : undefined;
  return Array.isArray(list) ? list.filter(isJsonObject) : [];
}

function checkSource(
  { url: address, title: titled, mediaType: type, filename: named, start, end }: JsonObject,
  text: string,
): Source | undefined {
  const url = typeof address === 'string' && /^https?:\/\//i.test(address) && URL.canParse(address) ? address.toWellFormed() : undefined;
  const title = lineOf(titled, TITLE_BYTES);
  const filename = lineOf(named, NAME_BYTES);
  if (url === undefined && title === undefined && filename === undefined) return undefined;
  const source = { url, title, mediaType: lineOf(type, NAME_BYTES), filename };
  return { ...defined(source), ...placeIn(text, start, end) };
}

function lineOf(given: unknown, bytes: number): string | undefined {
  const line = typeof given === 'string' ? oneLine(given.toWellFormed(), bytes) : '';
  return line === '' ? undefined : line;
}

function placeIn(text: string, start: unknown, end: unknown): Pick<Source, 'start' | 'end'> {
  if (!Number.isSafeInteger(start) || !Number.isSafeInteger(end)) return {};
  const [from, to] = [Number(start), Number(end)];
  return from >= 0 && from <= to && to <= text.length ? { start: from, end: to } : {};
}

/** Returns sources without their places: the text has changed since. */
export function withoutPlaces(given: unknown): Source[] {
  return listIn(given).map(({ url, title, mediaType, filename }) => ({ url, title, mediaType, filename }) as Source);
}
