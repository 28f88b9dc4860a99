import { credentialKey } from '../agent/credential-key.ts';
import { MAX_JSON_DEPTH } from '../json/json-depth.ts';
import { memberPath } from '../json/json-path.ts';
import { isSecretReference } from '../agent/secret-reference.ts';

/** The position of a value within the deps. */
interface Position {
  path: string;
  /** The objects that contain the value. If it is one of them, there is a cycle. */
  parents: readonly object[];
  /** True if the value, or the list that contains it, stands under a key that names a credential. */
  isCredential: boolean;
}

/**
 * Describes why a value cannot be, or be part of, the deps or the state of a run; undefined if it can. It reports the first member that JSON
 * would drop or change (a function, a live object, a cycle), that belongs in the worker (a secret reference), or that looks like
 * a secret (a text under a key that names a credential). The text says where the member is, in a path that begins with `path`,
 * and what to do instead.
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
      return Number.isFinite(value) ? undefined : `${position.path} is ${value}, which is no number in JSON: write null, or a text`;
    case 'object':
      return value === null ? undefined : objectProblem(value, position);
    default:
      return `${position.path} is ${kindOf(value)}: ${stored(position.path)}. ${INSTEAD}`;
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
    return firstOf(list.entries(), ([index, one]) => problemIn(one, { ...position, path: memberPath(path, index), parents: inside }));
  }
  if (!isPlain(value)) return `${path} is ${kindOf(value)}: ${stored(path)}. ${insteadOf(value)}`;
  return firstOf(Object.entries(value), ([key, one]) => {
    // JSON leaves out an undefined member.
    if (one === undefined) return undefined;
    return problemIn(one, { path: memberPath(path, key), parents: inside, isCredential: credentialKey(key) });
  });
}

function credentialProblem(path: string): string {
  return `${path} is a text under the name of a credential, and would be stored in the history of the run, for everybody to read. Leave it out, and read the secret in the tool, in the worker: await context.secret(name), with the name of the secret in the deps under another key where it differs from run to run`;
}

function stored(path: string): string {
  return `${path.startsWith('state') ? 'the state is' : 'deps are'} JSON, stored in the history of the run`;
}

function firstOf<One>(list: Iterable<One>, problemOf: (one: One) => string | undefined): string | undefined {
  for (const one of list) {
    const problem = problemOf(one);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

/** True for an object made by a literal or by JSON, in this realm or in another one, such as a workflow's. */
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
function kindOf(value: unknown): string {
  if (typeof value !== 'object' || value === null) return value === undefined ? 'undefined' : `a ${typeof value}`;
  const constructor: unknown = value.constructor;
  const name = typeof constructor === 'function' ? constructor.name : '';
  return name === '' || name === 'Object' ? 'an object of a class' : `an object of class "${name}"`;
}
