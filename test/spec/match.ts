import { isJsonObject, type JsonObject, type JsonValue } from '../../src/core/domain/json.ts';

/** One difference between the expected and the actual value of a case. */
export interface Mismatch {
  /** The path, such as `steps[0].tool_calls`, or empty for the whole value. */
  path: string;
  expected: JsonValue;
  /** Undefined: there is no value at that path. */
  actual: unknown;
}

/** The generated texts so far: `$generated` texts must be unique. */
export interface MatchMemory {
  readonly generated: Set<string>;
}

/** These match exactly: no key and no element more than expected. */
const EXACT_KEYS = new Set(['deps', 'messages', 'events', 'feedback', 'contexts', 'prompts', 'attempts', 'results']);

/** Next to a list: this many of its last elements may come in any order. */
export const UNORDERED_TAIL = '$unordered_tail';

/** These carry another language's formatting: they inform the reader and are never compared. */
export const INFORMATIONAL_KEYS = ['messages_upstream', 'error_upstream'];

/** The lists that a case may expect only the number of elements for. */
const COUNTED_KEYS = ['messages', 'tools'];

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const ISO_8601 = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?$/;

/** All differences between `expected` (which may contain matchers) and `actual`; none if it matches. */
export function match(expected: JsonValue, actual: unknown, memory: MatchMemory = { generated: new Set() }): Mismatch[] {
  return compare(expected, actual, '', { exact: false, memory });
}

interface Comparison {
  /** If true, the object must have no other keys. */
  exact: boolean;
  memory: MatchMemory;
}

function compare(expected: JsonValue, actual: unknown, path: string, comparison: Comparison): Mismatch[] {
  const mismatch = [{ path, expected, actual }];
  if (Array.isArray(expected)) return Array.isArray(actual) ? compareLists(expected, actual, path, comparison.memory) : mismatch;
  if (!isJsonObject(expected)) return Object.is(expected, actual) || (expected === 0 && actual === 0) ? [] : mismatch;
  const matcher = matcherOf(expected);
  if (matcher !== undefined) return matches(matcher.name, matcher.argument, actual, comparison.memory) ? [] : mismatch;
  return isPlainObject(actual) ? compareObjects(expected, actual, path, comparison) : mismatch;
}

function compareLists(expected: JsonValue[], actual: unknown[], path: string, memory: MatchMemory): Mismatch[] {
  if (expected.length !== actual.length) return [{ path, expected, actual }];
  return expected.flatMap((element, index) => compare(element, actual[index], `${path}[${index}]`, { exact: false, memory }));
}

function compareObjects(expected: JsonObject, actual: Record<string, unknown>, path: string, { exact, memory }: Comparison): Mismatch[] {
  const { [UNORDERED_TAIL]: tail, ...fields } = expected;
  const listed = Object.entries(fields).filter(([key]) => !INFORMATIONAL_KEYS.includes(key));
  if (tail !== undefined) requireTail(tail, Object.values(fields));
  const mismatches = listed.flatMap(([key, value]) => {
    const own = Object.hasOwn(actual, key) ? actual[key] : undefined;
    const place = path === '' ? key : `${path}.${key}`;
    if (typeof tail === 'number' && Array.isArray(value)) return compareUnorderedTail(value, own, place, { tail, memory });
    if (typeof value === 'number' && Array.isArray(own) && COUNTED_KEYS.includes(key)) {
      return own.length === value ? [] : [{ path: `${place}.length`, expected: value, actual: own.length }];
    }
    return compare(value, own, place, { exact: EXACT_KEYS.has(key), memory });
  });
  const surplus = exact && Object.keys(actual).some((key) => !Object.hasOwn(expected, key));
  return surplus ? [...mismatches, { path, expected, actual }] : mismatches;
}

function requireTail(tail: JsonValue, values: JsonValue[]): void {
  const lists = values.filter((value) => Array.isArray(value));
  if (typeof tail === 'number' && Number.isInteger(tail) && tail >= 0 && lists.length > 0 && lists.every(({ length }) => tail <= length))
    return;
  throw new Error(`"${UNORDERED_TAIL}" is ${JSON.stringify(tail)}: it takes a number of entries that the list beside it has`);
}

/** Each of the last elements may be in the position of any other of them. */
function compareUnorderedTail(
  expected: JsonValue[],
  actual: unknown,
  path: string,
  { tail, memory }: { tail: number; memory: MatchMemory },
): Mismatch[] {
  if (!Array.isArray(actual) || actual.length !== expected.length) return [{ path, expected, actual }];
  const start = expected.length - tail;
  const left = actual.slice(start);
  const arranged = arrangement(expected.slice(start), left, memory) ?? left;
  return compareLists(expected, [...actual.slice(0, start), ...arranged], path, memory);
}

/** Returns the elements in the order that matches the expected ones; undefined if there is no such order. */
function arrangement([expected, ...others]: JsonValue[], left: unknown[], memory: MatchMemory): unknown[] | undefined {
  if (expected === undefined) return [];
  for (const [index, element] of left.entries()) {
    // An attempt to match must not count as having seen a generated text.
    if (match(expected, element, { generated: new Set(memory.generated) }).length > 0) continue;
    const rest = arrangement(others, left.toSpliced(index, 1), memory);
    if (rest !== undefined) return [element, ...rest];
  }
  return undefined;
}

/** An object with one key that begins with a dollar sign is a matcher. */
export function matcherOf(expected: JsonObject): { name: string; argument: JsonValue } | undefined {
  const [entry, ...others] = Object.entries(expected);
  if (entry === undefined || others.length > 0 || !entry[0].startsWith('$')) return undefined;
  return { name: entry[0], argument: entry[1] };
}

function matches(name: string, argument: JsonValue, actual: unknown, memory: MatchMemory): boolean {
  switch (name) {
    case '$contains':
      return typeof actual === 'string' && actual.includes(text(name, argument));
    case '$any':
      return typeName(actual) === argument;
    case '$uuid':
      return typeof actual === 'string' && UUID.test(actual);
    case '$iso8601':
      return typeof actual === 'string' && ISO_8601.test(actual) && !Number.isNaN(Date.parse(actual));
    case '$same_instant':
      return instant(actual) !== undefined && instant(actual) === instant(argument);
    case '$generated':
      return isGenerated(actual, memory);
    case '$not':
      return match(argument, actual, memory).length > 0;
    case '$range':
      return match(range(argument), actual, memory).length === 0;
    case '$regex':
      return typeof actual === 'string' && new RegExp(text(name, argument)).test(actual);
    default:
      throw new Error(`The case uses a matcher "${name}" that match.ts does not know.`);
  }
}

function isPlainObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function text(name: string, argument: JsonValue): string {
  if (typeof argument === 'string') return argument;
  throw new Error(`The matcher "${name}" takes a text, not ${JSON.stringify(argument)}.`);
}

function typeName(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}

/** Milliseconds since the epoch of a time in any of its notations. A time without a zone is UTC. */
function instant(value: unknown): number | undefined {
  if (typeof value !== 'string') return undefined;
  const zoned = /(Z|[+-]\d{2}:?\d{2})$/.test(value) ? value : `${value}Z`;
  const milliseconds = Date.parse(zoned);
  return Number.isNaN(milliseconds) ? undefined : milliseconds;
}

function isGenerated(actual: unknown, memory: MatchMemory): boolean {
  if (typeof actual !== 'string' || actual === '' || memory.generated.has(actual)) return false;
  memory.generated.add(actual);
  return true;
}

function range(argument: JsonValue): number[] {
  const [from, to] = Array.isArray(argument) ? argument : [];
  if (typeof from !== 'number' || typeof to !== 'number')
    throw new Error(`The matcher "$range" takes [a, b], not ${JSON.stringify(argument)}.`);
  return Array.from({ length: Math.max(0, to - from + 1) }, (_, index) => from + index);
}
