import { type JsonValue, MAX_JSON_DEPTH, memberPath, TOO_DEEP } from '../core/domain/json.ts';
import { errorMessage } from '../core/domain/errors.ts';
import { cleanJson } from './parse-json.ts';

// JSON writes many values as `{}` or null, or leaves them out, without an error. A value that somebody's code returned is recorded as it
// is, or refused with the paths of the members that would be lost.

/** The JSON of a value, or why it would lose something. Undefined as a value: there is nothing to record. */
export type Recordable = { value: JsonValue | undefined } | { problem: string };

/** The most members that a problem names. */
const MOST_NAMED = 3;

/** Returns a value as JSON if it loses nothing but undefined members. `name` is what a problem calls the value itself. */
export function recordableJson(value: unknown, name = 'it'): Recordable {
  if (value === undefined) return { value: undefined };
  const problems = membersLost(value, name);
  if (problems.length > 0) return { problem: problems.join('; ') };
  const plain = cleanJson(value);
  return plain === undefined ? { problem: `${name} is not JSON` } : { value: plain };
}

/** Visits the value in the way in which `JSON.stringify` does, after `toJSON` of each member. */
function membersLost(root: unknown, name: string): string[] {
  const problems: string[] = [];
  const above: { object: unknown; path: string }[] = [];
  const visit = function visit(this: unknown, key: string, value: unknown): unknown {
    while (above.length > 0 && above.at(-1)?.object !== this) above.pop();
    const parent = above.at(-1);
    const path = parent === undefined ? '' : memberPath(parent.path, Array.isArray(this) ? Number(key) : key);
    const isCycle = above.some(({ object }) => object === value && typeof value === 'object' && value !== null);
    const lost = isCycle ? 'leads back to an object that it is part of: return an id instead' : whatIsLost(value);
    if (lost !== undefined) {
      if (problems.length < MOST_NAMED) problems.push(`${path === '' ? name : `"${path}"`} ${lost}`);
      return undefined;
    }
    if (typeof value !== 'object' || value === null) return value;
    // Ends the visit: deeper, it might overflow the stack, or visit a shared object once for every path that leads to it.
    if (above.length >= MAX_JSON_DEPTH) throw new RangeError(TOO_DEEP);
    above.push({ object: value, path });
    return value;
  };
  try {
    JSON.stringify(root, visit);
  } catch (error) {
    problems.push(`${name} cannot be written as JSON: ${errorMessage(error)}`);
  }
  return problems;
}

/** Returns what is wrong with a value that JSON cannot hold, and what to return instead. */
function whatIsLost(value: unknown): string | undefined {
  switch (typeof value) {
    case 'bigint':
      return 'is a bigint: return a number or a text';
    case 'function':
      return 'is a function: call it, or leave it out';
    case 'symbol':
      return 'is a symbol: return a text';
    case 'number':
      return Number.isFinite(value) ? undefined : `is ${value}, which JSON has no number for: return null or a text`;
    case 'object':
      return value === null || Array.isArray(value) ? undefined : objectLost(value);
    default:
      return undefined;
  }
}

/** What to return instead of an object of a class. */
const INSTEAD: Readonly<Record<string, string>> = {
  Map: 'return an object or a list of entries',
  Set: 'return a list',
  Error: 'throw it, or return its message',
  RegExp: 'return its source',
  Response: 'return what you read from it, such as await response.json()',
  ReadableStream: 'read it in the code, and return what it contains',
  ArrayBuffer: 'return a text, such as its base64',
  Headers: 'return Object.fromEntries(headers)',
  URLSearchParams: 'return Object.fromEntries(params)',
};

/** Objects that JSON writes as the values inside them. */
const BOXES: ReadonlySet<string> = new Set(['String', 'Number', 'Boolean']);

function objectLost(value: object): string | undefined {
  if (isThenable(value)) {
    // Nobody waits for it: without a handler, its rejection would end the process.
    if (value instanceof Promise) value.catch(() => undefined);
    return 'is a promise: await it';
  }
  const kind = kindOf(value);
  if (ArrayBuffer.isView(value)) return `is a ${kind}: return a list of numbers, or a text such as its base64`;
  if (value instanceof Error) return `is ${/^[AEIOU]/.test(kind) ? 'an' : 'a'} ${kind}: ${INSTEAD['Error']}`;
  if (isNodeStream(value)) return `is a stream (${kind}): ${INSTEAD['ReadableStream']}`;
  if (Object.hasOwn(INSTEAD, kind)) return `is a ${kind}: ${INSTEAD[kind]}`;
  if (isPlain(value) || BOXES.has(kind) || Object.keys(value).length > 0) return undefined;
  return `is a value of class ${kind}, of which JSON keeps nothing: return a plain object`;
}

function isThenable(value: object): boolean {
  return 'then' in value && typeof value.then === 'function';
}

function isNodeStream(value: object): boolean {
  return 'pipe' in value && typeof value.pipe === 'function' && 'on' in value;
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

function kindOf(value: object): string {
  const tag = Object.prototype.toString.call(value).slice('[object '.length, -1);
  if (tag !== 'Object') return tag === 'Error' ? nameOfClass(value, tag) : tag;
  return nameOfClass(value, 'Object');
}

function nameOfClass(value: object, otherwise: string): string {
  const { name } = value.constructor ?? {};
  return typeof name === 'string' && name !== '' ? name : otherwise;
}
