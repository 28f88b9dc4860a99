import { MAX_JSON_DEPTH, TOO_DEEP } from '../domain/json/json-depth.ts';
import { memberPath } from '../domain/json/json-path.ts';

/** Explains why a value is not JSON, with the path of the first member that is not; undefined for JSON. Runs no getter. */
export function injectionProblem(value: unknown, path: string, depth = 0): string | undefined {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return undefined;
    case 'number':
      return Number.isFinite(value) ? undefined : `${path} is ${value}, which JSON has no number for`;
    case 'object':
      if (value === null) return undefined;
      if (depth === MAX_JSON_DEPTH) return `${path} is ${TOO_DEEP}`;
      return Array.isArray(value) ? listProblem(value, path, depth) : objectProblem(value, path, depth);
    default:
      return `${path} is ${typeof value === 'undefined' ? 'undefined' : `a ${typeof value}`}, which is not JSON`;
  }
}

function listProblem(list: readonly unknown[], path: string, depth: number): string | undefined {
  for (let index = 0; index < list.length; index += 1) {
    const problem = memberProblem(list, index, memberPath(path, index), depth);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function objectProblem(object: object, path: string, depth: number): string | undefined {
  const prototype: unknown = Object.getPrototypeOf(object);
  if (prototype !== null && prototype !== Object.prototype) return `${path} is an object of a class, which is not JSON`;
  for (const key of Reflect.ownKeys(object)) {
    if (typeof key === 'symbol') return `${path} has a member that is named by a symbol, which is not JSON`;
    const problem = memberProblem(object, key, memberPath(path, key), depth);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function memberProblem(owner: object, key: string | number, path: string, depth: number): string | undefined {
  const member = Object.getOwnPropertyDescriptor(owner, key);
  if (member === undefined) return `${path} is missing, which JSON cannot say`;
  if (member.get !== undefined || member.set !== undefined) return `${path} is computed by a getter, which is not JSON`;
  return injectionProblem(member.value, path, depth + 1);
}
