import { BYTE_BUDGETS, jsonBytes } from './byte-budgets.ts';
import { isJsonObject, type JsonObject, type JsonValue, MAX_JSON_DEPTH, memberPath } from './json.ts';

/** One change of the deps of a run. */
export type ContextOperation =
  /** Replaces any current value. */
  | { op: 'set'; key: string; value: JsonValue }
  /** Merges recursively where both values are objects; replaces any other value. */
  | { op: 'merge'; key: string; value: JsonObject }
  /** Appends the value to a list; a missing key and null count as an empty list. A list is appended as one element. */
  | { op: 'append'; key: string; value: JsonValue }
  /** Removes the key. A missing key is not an error. */
  | { op: 'delete'; key: string };

/** The recorded changes from the result of one call. */
export interface RecordedUpdate {
  /** The call whose tool made the changes. */
  callId: string;
  /** The changes, in order. */
  operations: ContextOperation[];
}

/** The deps after an update, or the reason why no part of the update was applied. */
export type UpdatedDeps = { ok: true; deps: JsonObject } | { ok: false; problem: string };

/** Applies operations in order, each to the previous result. Returns new deps and does not modify its arguments. */
export function applyOperations(deps: JsonObject, operations: readonly ContextOperation[]): UpdatedDeps {
  // A map, because keys may come from a model: `__proto__` must be a key like any other.
  const entries = new Map(Object.entries(deps));
  for (const operation of operations) {
    const problem = applyOperation(entries, operation);
    if (problem !== undefined) return { ok: false, problem };
  }
  return { ok: true, deps: Object.fromEntries(entries) };
}

/** Returns the keys that operations change, each once, in the order of first use. */
export function touchedKeys(operations: readonly ContextOperation[]): string[] {
  return [...new Set(operations.map(({ key }) => key))];
}

function applyOperation(entries: Map<string, JsonValue>, operation: ContextOperation): string | undefined {
  const { key } = operation;
  const current = entries.get(key) ?? null;
  switch (operation.op) {
    case 'set':
      entries.set(key, operation.value);
      return undefined;
    case 'merge':
      entries.set(key, mergedValue(current, operation.value));
      return undefined;
    case 'append':
      if (current !== null && !Array.isArray(current)) return `deps.${key} is ${jsonKind(current)}: only a list can be appended to`;
      entries.set(key, [...(current ?? []), operation.value]);
      return undefined;
    case 'delete':
      entries.delete(key);
      return undefined;
  }
}

function mergedValue(current: JsonValue, value: JsonValue): JsonValue {
  if (!isJsonObject(current) || !isJsonObject(value)) return value;
  const entries = new Map(Object.entries(current));
  for (const [key, inner] of Object.entries(value)) entries.set(key, mergedValue(entries.get(key) ?? null, inner));
  return Object.fromEntries(entries);
}

function jsonKind(value: JsonValue): string {
  return isJsonObject(value) ? 'an object' : `a ${typeof value}`;
}

/** The position of a value within the deps. */
interface Position {
  path: string;
  /** The objects that contain the value, for detecting cycles. */
  parents: readonly object[];
  /** True if the value, or the list that contains it, is under a key that names a credential. */
  isCredential: boolean;
}

/**
 * Describes why a value must not be, or be part of, a run's deps or state, or returns undefined. Reports the first member that JSON would
 * drop or change (a function, a live object, a cycle), that belongs in the worker (a secret reference), or that looks like a secret (a text
 * under a key that names a credential). The text contains the path of the member, beginning with `path`, and what to do instead.
 */
export function depsProblem(value: unknown, path = 'deps'): string | undefined {
  return problemIn(value, { path, parents: [], isCredential: false });
}

function problemIn(value: unknown, position: Position): string | undefined {
  switch (typeof value) {
    case 'string':
      return position.isCredential && value !== '' ? credentialProblem(position.path) : undefined;
    case 'boolean':
      return undefined;
    case 'number':
      return Number.isFinite(value) ? undefined : `${position.path} is ${value}, which is not a number in JSON: write null, or a text`;
    case 'object':
      return value === null ? undefined : objectProblem(value, position);
    default:
      return `${position.path} is ${valueKind(value)}: ${storageReason(position.path)}. ${INSTEAD}`;
  }
}

const INSTEAD = 'Leave it out; give live objects to the tools as "resources" of the worker';

function objectProblem(value: object, position: Position): string | undefined {
  const { path, parents } = position;
  if (isSecretReference(value)) {
    return `${path} is a reference to secret ${JSON.stringify(value.name)}: only data may be stored in the history of the run. Leave it out, and read the secret in the tool, in the worker: await context.secret(${JSON.stringify(value.name)})`;
  }
  if (parents.includes(value)) return `${path} leads back to an object that it is part of: JSON has no cycles. Write an id instead`;
  if (parents.length >= MAX_JSON_DEPTH) return `${path} is nested deeper than ${MAX_JSON_DEPTH} levels: write flatter data`;
  const inside = [...parents, value];
  if (Array.isArray(value)) {
    const list: readonly unknown[] = value;
    return firstProblem(list.entries(), ([index, one]) => problemIn(one, { ...position, path: memberPath(path, index), parents: inside }));
  }
  if (!isPlain(value)) return `${path} is ${valueKind(value)}: ${storageReason(path)}. ${insteadOf(value)}`;
  return firstProblem(Object.entries(value), ([key, one]) => {
    // JSON leaves out undefined members.
    if (one === undefined) return undefined;
    return problemIn(one, { path: memberPath(path, key), parents: inside, isCredential: credentialKey(key) });
  });
}

function credentialProblem(path: string): string {
  return `${path} is a text under the name of a credential, and would be stored in the history of the run, where everyone can read it. Leave it out, and read the secret in the tool, in the worker: await context.secret(name), with the name of the secret in the deps under another key where it differs from run to run`;
}

function storageReason(path: string): string {
  return `${path.startsWith('state') ? 'the state is' : 'deps are'} JSON, stored in the history of the run`;
}

function firstProblem<One>(list: Iterable<One>, problemOf: (one: One) => string | undefined): string | undefined {
  for (const one of list) {
    const problem = problemOf(one);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

/** True for an object made by a literal or by JSON, in this realm or in another, such as a workflow's. */
export function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

function insteadOf(value: object): string {
  if (value instanceof Date) return 'Write date.toISOString()';
  if (value instanceof Map) return 'Write Object.fromEntries(map)';
  if (value instanceof Set) return 'Write [...set]';
  return INSTEAD;
}

/** Describes the kind of a value: `a function`, `an object of class "Map"`. */
function valueKind(value: unknown): string {
  if (typeof value !== 'object' || value === null) return value === undefined ? 'undefined' : `a ${typeof value}`;
  const constructor: unknown = value.constructor;
  const name = typeof constructor === 'function' ? constructor.name : '';
  return name === '' || name === 'Object' ? 'an object of a class' : `an object of class "${name}"`;
}

const OPERATIONS: readonly string[] = ['set', 'merge', 'append', 'delete'] satisfies ContextOperation['op'][];

/** Returns why a value is not a valid operation on deps, with the path of a forbidden value; undefined for a valid operation. */
export function operationProblem(operation: ContextOperation | null): string | undefined {
  if (operation === null || !OPERATIONS.includes(operation.op)) {
    return `there is no operation ${JSON.stringify(operation?.op ?? null)}: write ${OPERATIONS.slice(0, -1).join(', ')} or ${OPERATIONS.at(-1)}`;
  }
  const { op, key } = operation;
  if (typeof key !== 'string' || key === '') return `the key of "${op}" is ${JSON.stringify(key)}: write the name of a field`;
  if (op === 'delete') return undefined;
  if (op === 'merge' && !isJsonObject(operation.value)) return `the value merged into deps.${key} is not an object`;
  if (operation.value === undefined) return `deps.${key} is undefined: write null, or delete the key`;
  return depsProblem({ [key]: operation.value });
}

/**
 * Returns the problem if these changes would exceed the budget of a run's state, or undefined. The model reads the text as the result of a
 * call.
 */
export function stateProblem(state: JsonObject, changes: JsonObject): string | undefined {
  const keys = Object.keys(changes);
  if (keys.length === 0) return undefined;
  // Merges entries, because a spread would lose a key named `__proto__`.
  const merged = Object.fromEntries([...Object.entries(state), ...Object.entries(changes)]);
  const bytes = jsonBytes(merged);
  if (bytes <= BYTE_BUDGETS.state) return undefined;
  const named = keys.slice(0, 5).map((key) => JSON.stringify(key.slice(0, 100)));
  const more = keys.length > named.length ? ` and ${keys.length - named.length} more` : '';
  return `The field "state" would be ${bytes} bytes of JSON, over ${BYTE_BUDGETS.state}: setting ${named.join(', ')}${more} changed nothing. Keep less in the state.`;
}

/** Returns the problem of an initial state, or undefined. The rules are the same as for deps. */
export function startStateProblem(state: unknown): string | undefined {
  const problem = depsProblem(state, 'state');
  if (problem !== undefined) return problem;
  return isJsonObject(state) ? undefined : 'state: expected an object of JSON values';
}

/** The last words of credential keys, without separators. */
const CREDENTIALS = new Set([
  'apikey',
  'accesskey',
  'privatekey',
  'secretkey',
  'signingkey',
  'password',
  'passwd',
  'passphrase',
  'pwd',
  'secret',
  'credential',
  'authorization',
  'bearer',
  'accesstoken',
  'apitoken',
  'authtoken',
  'bearertoken',
  'oauthtoken',
  'refreshtoken',
  'sessiontoken',
]);

/**
 * True for a key that names a credential: `password`, `apiKey`, `client_secret`, `X-Api-Key`. The word `token` counts only if it is the
 * whole key, because other tokens are cursors or counts (`nextPageToken`, `tokenBudget`). Words after the credential change its meaning
 * (`passwordChangedAt`, `accessKeyId`).
 */
export function credentialKey(key: string): boolean {
  const words = wordsOf(key);
  if (words.length === 1 && words[0] === 'token') return true;
  return words.some((_, index) => CREDENTIALS.has(words.slice(index).join('').replace(/s$/, '')));
}

/** The words that keep a key out of a document. */
const CREDENTIAL_WORDS = [
  'api_key',
  'apikey',
  'token',
  'secret',
  'password',
  'passwd',
  'authorization',
  'credential',
  'private_key',
  'access_key',
  'auth_token',
  'bearer',
];

/**
 * True for a key that may name a credential: a key that `credentialKey` accepts, or that contains such a word anywhere, in any case. It
 * includes too many keys rather than too few, such as `token_budget`.
 */
export function suspectedCredentialKey(key: string): boolean {
  const lowerCase = key.toLowerCase();
  return CREDENTIAL_WORDS.some((word) => lowerCase.includes(word)) || credentialKey(key);
}

/** Splits a key in camel, snake or kebab case into its words, in lower case. */
function wordsOf(key: string): string[] {
  return key
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replaceAll(/([A-Z])([A-Z][a-z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== '');
}

/** A reference to a secret by name. Code and configuration contain it instead of the value, which only the worker knows. */
export interface SecretReference {
  /** Distinguishes references from other values. */
  readonly kind: 'longhaul.secret';
  /** The name of the secret in the worker. */
  readonly name: string;
  /** Text put before the value when it is read: `Bearer ` turns a token into a header. */
  readonly prefix?: string;
}

/** True for a reference made by `secret()`, and for a copy of it that went through JSON. */
export function isSecretReference(value: unknown): value is SecretReference {
  if (typeof value !== 'object' || value === null || !('kind' in value) || value.kind !== 'longhaul.secret') return false;
  if (!('name' in value) || typeof value.name !== 'string') return false;
  return !('prefix' in value) || value.prefix === undefined || typeof value.prefix === 'string';
}
