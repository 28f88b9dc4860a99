import { errorMessage } from '../core/domain/errors.ts';
import { isJsonObject, isTooDeep, type JsonValue, MAX_JSON_DEPTH } from '../core/domain/json.ts';

/** The value of JSON text, or the reason why it cannot be used. */
type ParsedText = { ok: true; value: JsonValue; repaired: boolean } | { ok: false; problem: string };

/**
 * Parses JSON text from a model. Text that `JSON.parse` refuses is read as loosely written JSON (see
 * `parseLooseJson`), which never adds what is missing: a text that ends inside a value is a problem, whatever the
 * finish reason of its answer says. `complete: false` (the provider says that the answer was cut off) accepts only strict JSON.
 */
export function parseJsonText(text: string, complete: boolean): ParsedText {
  let strictProblem: string;
  try {
    return parsedText(JSON.parse(text) as JsonValue, false);
  } catch (error) {
    strictProblem = errorMessage(error).toWellFormed();
  }
  if (!complete) return { ok: false, problem: `the answer was cut off: ${strictProblem}` };
  const loose = parseLooseJson(text);
  switch (loose.type) {
    case 'value':
      return parsedText(loose.value, true);
    case 'cut':
      return { ok: false, problem: cutProblem(loose) };
    case 'invalid':
      return { ok: false, problem: `${loose.problem}; ${strictProblem}` };
  }
}

function cutProblem({ inside }: Extract<LooseJson, { type: 'cut' }>): string {
  return `the text was cut off: it ends inside of ${inside}. Nothing was done with it. Send it again, complete, and shorter if it was too long.`;
}

function parsedText(given: JsonValue, repaired: boolean): ParsedText {
  const value = cleanParsed(given);
  if (value !== undefined) return { ok: true, value, repaired };
  return { ok: false, problem: `it is nested deeper than ${MAX_JSON_DEPTH} levels` };
}

/** The result of reading a text as loosely written JSON. */
type LooseJson =
  | { type: 'value'; value: JsonValue }
  /** The text ends inside a value. `inside` names the innermost one. */
  | { type: 'cut'; inside: string }
  | { type: 'invalid'; problem: string };

/**
 * Reads JSON as models write it: other quotation marks, unquoted keys, a trailing comma or a missing one before
 * a key, comments, Python literals, `undefined`, raw control characters in texts, and prose or a code fence around
 * the one object or list.
 *
 * It only reads what is there. It never closes what is open, joins texts, fills in values, or takes a bare word for a
 * text: where two readings are possible, the text is invalid. Takes time in proportion to the text.
 */
export function parseLooseJson(text: string): LooseJson {
  try {
    return { type: 'value', value: new LooseReader(unescapedWhole(text)).read() };
  } catch (error) {
    if (error instanceof EndOfText) return { type: 'cut', inside: error.message };
    if (error instanceof NotReadable) return { type: 'invalid', problem: error.message };
    throw error;
  }
}

class EndOfText extends Error {}
class NotReadable extends Error {}

/** The closing quotation marks of each opening one. */
const QUOTES: Partial<Record<string, string>> = {
  '"': '"',
  "'": "'",
  '`': '`',
  '“': '”“',
  '”': '”',
  '‘': '’‘',
  '’': '’',
};

const ESCAPES: Partial<Record<string, string>> = {
  '"': '"',
  "'": "'",
  '`': '`',
  '\\': '\\',
  '/': '/',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
};

const LITERALS = new Map<string, JsonValue>([
  ['true', true],
  ['True', true],
  ['false', false],
  ['False', false],
  ['null', null],
  ['None', null],
  ['undefined', null],
]);

const SPACE = /\s/;
const BRACKET = /[[\]{}]/;
const WORD = /[\p{L}\p{N}_$-]+/uy;
/** JSON numbers, also with a plus sign or without the zero before the point. */
const NUMBER = /[+-]?(?:(?:0|[1-9]\d*)(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d+)?(?![\w.$+-])/y;
/** The rest of the text, if it has nothing that could end a value. */
const LAST_TOKEN = /[^\s,:[\]{}"'`]*$/y;
/** The hexadecimal digits after each of these escapes. */
const CODE_LENGTH: Partial<Record<string, number>> = { u: 4, x: 2 };

class LooseReader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  /** Reads the whole text. */
  read(): JsonValue {
    this.#skip('the text');
    const start = this.#text.search(BRACKET);
    if (start < 0) return this.#alone();
    this.#at = start;
    if ('}]'.includes(this.#peek('the text'))) this.#fail('it begins with a closing bracket');
    const value = this.#value(0);
    const around = this.#text.slice(this.#at).trim();
    if (BRACKET.test(around)) this.#fail('it has more than one value, or a bracket too many');
    return value;
  }

  /** Reads a text or a literal, which nothing may follow. */
  #alone(): JsonValue {
    const value = this.#value(0);
    this.#skip(undefined);
    if (this.#at < this.#text.length) this.#fail('it is neither an object nor a list');
    return value;
  }

  #value(depth: number): JsonValue {
    const first = this.#peek('a value');
    if (depth > MAX_JSON_DEPTH) this.#fail(`it is nested deeper than ${MAX_JSON_DEPTH} levels`);
    if (first === '{') return this.#object(depth);
    if (first === '[') return this.#list(depth);
    if (QUOTES[first] !== undefined) return this.#string(first);
    const number = this.#match(NUMBER);
    if (number !== undefined) return this.#number(number);
    const word = this.#match(WORD);
    const literal = word === undefined ? undefined : LITERALS.get(word);
    // A word or a number that the text ends in may be the beginning of another.
    if (depth > 0 && this.#match(LAST_TOKEN) !== undefined) throw new EndOfText('a value');
    if (literal === undefined)
      this.#fail(word === undefined ? `it has ${quotedPiece(first)} in place of a value` : `it has the bare word ${quotedPiece(word)}`);
    return literal;
  }

  /** A number that the text ends in may lack digits. */
  #number(written: string): number {
    if (this.#at >= this.#text.length) throw new EndOfText('a number');
    return Number(written);
  }

  #object(depth: number): JsonValue {
    const entries: [string, JsonValue][] = [];
    this.#at += 1;
    for (;;) {
      if (this.#take('}', 'an object')) return Object.fromEntries(entries);
      const key = this.#key();
      if (!this.#take(':', 'an object')) this.#fail(`it has no ":" after the key ${quotedPiece(key)}`);
      entries.push([key, this.#member('an object', depth)]);
      const hasComma = this.#take(',', 'an object');
      const next = this.#peek('an object');
      // A comma may be missing before a key. A second comma would mean a missing value.
      if (!hasComma && next !== '}' && QUOTES[next] === undefined && !/[\p{L}_$]/u.test(next)) {
        this.#fail(`it has neither "," nor "}" after the value of ${quotedPiece(key)}`);
      }
    }
  }

  #key(): string {
    const first = this.#peek('an object');
    if (QUOTES[first] !== undefined) return this.#string(first);
    const word = this.#match(WORD);
    if (this.#at >= this.#text.length) throw new EndOfText('a key');
    if (word === undefined) this.#fail(`it has ${quotedPiece(first)} in place of a key`);
    return word;
  }

  #list(depth: number): JsonValue {
    const values: JsonValue[] = [];
    this.#at += 1;
    for (;;) {
      if (this.#take(']', 'a list')) return values;
      values.push(this.#member('a list', depth));
      if (this.#take(',', 'a list')) continue;
      const next = this.#peek('a list');
      // Two texts or numbers without a comma may be one: only brackets show where a value ends.
      if (next !== ']' && next !== '{' && next !== '[') this.#fail('it has neither "," nor "]" after a value of a list');
    }
  }

  #member(inside: string, depth: number): JsonValue {
    this.#skip(inside);
    return this.#value(depth + 1);
  }

  #string(open: string): string {
    const closing = QUOTES[open] ?? '';
    let from = (this.#at += 1);
    let value = '';
    for (;;) {
      const char = this.#text[this.#at];
      if (char === undefined) throw new EndOfText('a text');
      if (closing.includes(char)) {
        value += this.#text.slice(from, this.#at);
        this.#at += 1;
        return value;
      }
      if (char === '\\') {
        value += this.#text.slice(from, this.#at) + this.#escape();
        from = this.#at;
      } else {
        this.#at += 1;
      }
    }
  }

  #escape(): string {
    const char = this.#text[this.#at + 1];
    if (char === undefined) throw new EndOfText('a text');
    this.#at += 2;
    const plain = ESCAPES[char];
    if (plain !== undefined) return plain;
    const length = CODE_LENGTH[char];
    if (length === undefined) this.#fail(`it has the escape ${quotedPiece(`\\${char}`)}, which JSON does not have`);
    const digits = this.#text.slice(this.#at, this.#at + length);
    if (!/^[\dA-Fa-f]*$/.test(digits)) this.#fail(`it has an escape without a code: ${quotedPiece(`\\${char}${digits}`)}`);
    if (digits.length < length) throw new EndOfText('a text');
    this.#at += length;
    return String.fromCharCode(Number.parseInt(digits, 16));
  }

  /** Takes a character, if it is the next one. */
  #take(char: string, inside: string): boolean {
    if (this.#peek(inside) !== char) return false;
    this.#at += 1;
    return true;
  }

  /** Returns the next character that is neither whitespace nor in a comment. */
  #peek(inside: string): string {
    this.#skip(inside);
    return this.#text[this.#at] ?? '';
  }

  /** Skips spaces and comments. Throws if the text ends there, unless it may. */
  #skip(inside: string | undefined): void {
    for (;;) {
      const char = this.#text[this.#at];
      if (char === undefined) {
        if (inside === undefined) return;
        throw new EndOfText(inside);
      }
      const next = this.#text[this.#at + 1];
      if (SPACE.test(char) || char === '\uFEFF') this.#at += 1;
      else if (char === '#' || (char === '/' && next === '/')) this.#skipThrough('\n');
      else if (char === '/' && next === '*') this.#skipThrough('*/');
      else return;
    }
  }

  #skipThrough(end: string): void {
    const at = this.#text.indexOf(end, this.#at + 2);
    this.#at = at < 0 ? this.#text.length : at + end.length;
  }

  #match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text)?.[0];
    this.#at += found?.length ?? 0;
    return found;
  }

  #fail(problem: string): never {
    throw new NotReadable(problem);
  }
}

/** Returns an object whose every quotation mark is escaped without the escapes: a text that lacks its own quotation marks. */
function unescapedWhole(text: string): string {
  if (!/^\s*\{\s*\\"/.test(text)) return text;
  try {
    const inner: unknown = JSON.parse(`"${text.trim()}"`);
    return typeof inner === 'string' ? inner : text;
  } catch {
    return text;
  }
}

/** Returns the beginning of a piece of the text, in quotation marks. */
function quotedPiece(piece: string): string {
  return JSON.stringify(piece.slice(0, 40)).toWellFormed();
}

/**
 * Returns a copy that Temporal's payloads preserve exactly. Texts and keys are well-formed UTF-16 (lone surrogates,
 * which UTF-8 cannot hold, become U+FFFD); numbers are those that `JSON.stringify` keeps (`1e999` parses to infinity,
 * which it writes as null).
 */
export function wellFormed(value: JsonValue): JsonValue {
  if (typeof value === 'string') return value.toWellFormed();
  if (typeof value === 'number') return Number.isFinite(value) ? value + 0 : null;
  if (Array.isArray(value)) return value.map(wellFormed);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key.toWellFormed(), wellFormed(one)]));
}

/**
 * Returns any value as well-formed JSON; undefined for values that JSON cannot hold (cycles, bigints, functions) and
 * values nested too deeply.
 */
export function cleanJson(value: unknown): JsonValue | undefined {
  if (typeof value === 'string') return value.toWellFormed();
  let text: string | undefined;
  try {
    text = JSON.stringify(value);
  } catch {
    return undefined;
  }
  return text === undefined ? undefined : cleanParsed(JSON.parse(text) as JsonValue);
}

/** As `cleanJson`, for a value that `JSON.parse` returned. */
function cleanParsed(value: JsonValue): JsonValue | undefined {
  return isTooDeep(value) ? undefined : wellFormed(value);
}
