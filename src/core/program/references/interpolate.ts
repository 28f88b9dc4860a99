import { isJsonObject, type JsonObject, type JsonValue } from '../../domain/json.ts';
import type { Reference } from './reference.ts';
import { parseTemplate, wholeReference } from './template.ts';
import type { Found } from './value-at.ts';

/** Returns the value that a reference leads to. */
export type Lookup = (reference: Reference) => Found;

/** A template with its references resolved, or the reason why that is not possible. */
export type Resolved<Value> = { ok: true; value: Value } | { ok: false; reference: string; problem: string };

/** The treatment of references that lead to no value. */
export interface ResolveOptions {
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
  return attempt(() => interpolated(template, new Insertions(lookup, options)));
}

/**
 * Resolves the references in every text of a value, in its lists and objects too, but not in keys. A text that is one whole
 * reference becomes the value with its type; any other text is interpolated.
 */
export function resolveValue(value: JsonValue, lookup: Lookup, options: ResolveOptions = {}): Resolved<JsonValue> {
  return attempt(() => resolved(value, new Insertions(lookup, options)));
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

function attempt<Value>(resolve: () => Value): Resolved<Value> {
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

  /** Returns the value of a reference, and its text. */
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
