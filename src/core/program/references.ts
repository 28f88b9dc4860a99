import { isJsonObject, type JsonObject, type JsonValue, memberPath } from '../domain/json.ts';
import type { ConditionDocument } from '../domain/program-document.ts';
import { checkJson } from '../json-schema/check-json-schema.ts';

/** Returns the value that a reference leads to. */
export type Lookup = (reference: Reference) => Found;

/** A template with its references resolved, or the reason why that is not possible. */
type Resolved<Value> = { ok: true; value: Value } | { ok: false; reference: string; problem: string };

/** The treatment of references that lead to no value. */
interface ResolveOptions {
  /** True: they stay as written. Otherwise the first one is the problem. */
  lenient?: boolean | undefined;
}

/** The most characters that the references of one template may insert: a document can name the same long value any number of times. */
const MAX_INSERTED = 4_000_000;

/**
 * Replaces the references of a text in one pass: braces in an inserted value stay text. A text is inserted as it is, and any other
 * value as JSON: null as `null`, lists and objects without blanks.
 */
export function interpolate(template: string, lookup: Lookup, options: ResolveOptions = {}): Resolved<string> {
  return resolvedOrProblem(() => interpolated(template, new Insertions(lookup, options)));
}

/**
 * Resolves the references in every text of a value, in its lists and objects too, but not in keys. A text that is one whole
 * reference becomes the value with its type; any other text is interpolated.
 */
export function resolveValue(value: JsonValue, lookup: Lookup, options: ResolveOptions = {}): Resolved<JsonValue> {
  return resolvedOrProblem(() => resolved(value, new Insertions(lookup, options)));
}

/** Returns the text that stands for a value in a template. */
export function insertedText(value: JsonValue): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

class Unresolved extends Error {
  readonly reference: string;

  constructor({ written }: Reference, problem: string) {
    super(problem);
    this.reference = written;
  }
}

function resolvedOrProblem<Value>(resolve: () => Value): Resolved<Value> {
  try {
    return { ok: true, value: resolve() };
  } catch (error) {
    if (error instanceof Unresolved) return { ok: false, reference: error.reference, problem: error.message };
    throw error;
  }
}

/** Looks references up, and bounds the characters that they insert together. */
class Insertions {
  readonly #lookup: Lookup;
  readonly #isLenient: boolean;
  #inserted = 0;

  constructor(lookup: Lookup, { lenient = false }: ResolveOptions) {
    this.#lookup = lookup;
    this.#isLenient = lenient;
  }

  at(reference: Reference): { value: JsonValue; text: string } {
    const found = this.#lookup(reference);
    if (!found.found && !this.#isLenient) {
      throw new Unresolved(reference, `the reference "${reference.written}" leads to no value`);
    }
    const value = found.found ? found.value : reference.written;
    const text = insertedText(value);
    this.#inserted += text.length;
    if (this.#inserted <= MAX_INSERTED) return { value, text };
    throw new Unresolved(reference, `the references up to "${reference.written}" insert more than ${MAX_INSERTED} characters`);
  }
}

function interpolated(template: string, insertions: Insertions): string {
  return parseTemplate(template)
    .map((part) => (typeof part === 'string' ? part : insertions.at(part).text))
    .join('');
}

function resolved(value: JsonValue, insertions: Insertions): JsonValue {
  if (typeof value === 'string') {
    const whole = wholeReference(value);
    return whole === undefined ? interpolated(value, insertions) : insertions.at(whole).value;
  }
  if (Array.isArray(value)) return value.map((item) => resolved(item, insertions));
  return isJsonObject(value) ? resolvedObject(value, insertions) : value;
}

function resolvedObject(object: JsonObject, insertions: Insertions): JsonObject {
  return Object.fromEntries(Object.entries(object).map(([key, member]) => [key, resolved(member, insertions)]));
}

/** True if the value of the reference fits the schema. A reference that leads to no value does not hold. */
export function conditionHolds({ of, is }: ConditionDocument, lookup: Lookup): boolean {
  const reference = readReference(of);
  const found = reference === undefined ? undefined : lookup(reference);
  return found?.found === true && checkJson(is, found.value).length === 0;
}

/** The value that a reference leads to, if there is one. */
type Found = { found: true; value: JsonValue } | { found: false };

const NOTHING: Found = { found: false };

/**
 * Follows the names and indexes of a path inside a value. A name is an own key of an object, an index a place in a list; texts have
 * neither. A path into null leads to null: a step that was skipped, or found nothing, has no parts.
 */
export function valueAt(value: JsonValue, path: readonly (string | number)[]): Found {
  let current = value;
  for (const segment of path) {
    if (current === null) return { found: true, value: null };
    if (typeof current !== 'object') return NOTHING;
    if (Array.isArray(current) !== (typeof segment === 'number') || !Object.hasOwn(current, segment)) return NOTHING;
    current = (current as Record<string | number, JsonValue>)[segment] ?? null;
  }
  return { found: true, value: current };
}

/**
 * Follows the part of a reference after the name of a step inside the output of that step. The name `output` directly after that of
 * the step stands for the output itself and is always read so, regardless of the value: `{{Step.output}}` is the whole output,
 * `{{Step.output.score}}` and `{{Step.score}}` are its key `score`, and `{{Step.output.output}}` is its key `output`.
 */
export function outputAt(output: JsonValue, path: readonly (string | number)[]): Found {
  return valueAt(output, withoutOutput(path));
}

/** Removes the name `output` from the beginning of the part of a reference after the name of a step. */
export function withoutOutput(path: readonly (string | number)[]): readonly (string | number)[] {
  return path[0] === 'output' ? path.slice(1) : path;
}

/** A reference, and the path of the text that has it. */
interface PlacedReference {
  reference: Reference;
  path: string;
}

/** Lists the references in all texts of a value, in their order. `path` leads to the value in its document. */
export function referencesIn(value: JsonValue | undefined, path = ''): PlacedReference[] {
  if (typeof value === 'string') {
    return parseTemplate(value).flatMap((part) => (typeof part === 'string' ? [] : [{ reference: part, path }]));
  }
  if (Array.isArray(value)) return value.flatMap((item, index) => referencesIn(item, memberPath(path, index)));
  if (!isJsonObject(value)) return [];
  return Object.entries(value).flatMap(([key, member]) => referencesIn(member, memberPath(path, key)));
}

/** A part of a template: text that stays as it is, or a reference. */
type TemplatePart = string | Reference;

/** Splits a template into texts and references. Braces that hold no reference stay text. Takes time in proportion to the template. */
export function parseTemplate(template: string): TemplatePart[] {
  const parts: TemplatePart[] = [];
  let from = 0;
  for (let at = template.indexOf('{{'); at >= 0; at = template.indexOf('{{', at)) {
    const reference = referenceAt(template, at);
    if (reference === undefined) {
      at += 1;
      continue;
    }
    if (at > from) parts.push(template.slice(from, at));
    parts.push(reference);
    at += reference.written.length;
    from = at;
  }
  if (from < template.length) parts.push(template.slice(from));
  return parts;
}

/** Returns the reference that a template consists of, without anything around it; undefined for any other template. */
export function wholeReference(template: string): Reference | undefined {
  const reference = referenceAt(template, 0);
  return reference?.written === template ? reference : undefined;
}

/** A reference to a value: the names and indexes that lead to it. */
export interface Reference {
  /** The text as the document has it, such as `{{ Step.output.items[0] }}`. */
  written: string;
  /** The names and list indexes: `['Step', 'output', 'items', 0]`. The first one is a name. */
  path: readonly [string, ...(string | number)[]];
}

/** The most characters of a reference between its braces. */
const MAX_REFERENCE_LENGTH = 500;

/** A name in a reference: any text without the characters that separate names. */
const NAME = /[^.[\]{}"\p{Cc}]+/uy;

/** `.name`, `[0]`, or `["name"]` for a key that has other characters than a name. */
const SEGMENT = /\.([^.[\]{}"\p{Cc}]+)|\[(\d{1,9})\]|\[("(?:[^"\\\p{Cc}]|\\[^\p{Cc}])*")\]/uy;

/** Reads a text that is one reference, with or without braces. Returns undefined for any other text. */
export function readReference(text: string): Reference | undefined {
  const written = text.trim();
  if (written.startsWith('{{')) return referenceAt(written, 0)?.written === written ? referenceAt(written, 0) : undefined;
  const path = pathOf(written);
  return path === undefined ? undefined : { written, path };
}

/** Reads the reference whose braces open at `start`; undefined if there is none. */
function referenceAt(text: string, start: number): Reference | undefined {
  const end = closingBraces(text, start);
  if (end === undefined) return undefined;
  const path = pathOf(text.slice(start + 2, end).trim());
  return path === undefined ? undefined : { written: text.slice(start, end + 2), path };
}

/** True for a text that a reference can have as a name. */
export function isReferenceName(text: string): boolean {
  NAME.lastIndex = 0;
  return text === text.trim() && NAME.exec(text)?.[0] === text;
}

/** Finds the braces that close a reference. The search ends at the next brace outside of quotes, so that reading all references of a text is linear. */
function closingBraces(text: string, start: number): number | undefined {
  if (!text.startsWith('{{', start)) return undefined;
  let isQuoted = false;
  for (let index = start + 2; index <= start + 2 + MAX_REFERENCE_LENGTH && index < text.length; index += 1) {
    const character = text[index];
    if (character === '"') isQuoted = !isQuoted;
    else if (isQuoted && character === '\\') index += 1;
    else if (!isQuoted && character === '{') return undefined;
    else if (!isQuoted && character === '}') return text[index + 1] === '}' ? index : undefined;
  }
  return undefined;
}

function pathOf(body: string): Reference['path'] | undefined {
  if (body.length > MAX_REFERENCE_LENGTH) return undefined;
  NAME.lastIndex = 0;
  const first = NAME.exec(body)?.[0];
  if (first === undefined || first !== first.trim()) return undefined;
  const path: [string, ...(string | number)[]] = [first];
  for (let index = first.length; index < body.length; index = SEGMENT.lastIndex) {
    SEGMENT.lastIndex = index;
    const segment = segmentOf(SEGMENT.exec(body));
    if (segment === undefined) return undefined;
    path.push(segment);
  }
  return path;
}

function segmentOf(match: RegExpExecArray | null): string | number | undefined {
  const [, name, index, quoted] = match ?? [];
  if (name !== undefined) return name === name.trim() ? name : undefined;
  if (index !== undefined) return Number(index);
  return quoted === undefined ? undefined : unquoted(quoted);
}

function unquoted(json: string): string | undefined {
  try {
    return String(JSON.parse(json));
  } catch {
    return undefined;
  }
}
