import { isJsonObject, type JsonObject, type JsonValue } from '../../../src/core/domain/json.ts';

/** Runs one case of an operation with the product and translates the result. */
export interface Operation {
  /** The keys that the input of a case may have. */
  readonly input: readonly string[];
  /** The keys that an expectation may have, if it is an object. */
  readonly expect: readonly string[];
  /**
   * Returns the value that the product returned, in the words of the case files, or throws the error that it threw. `expect`
   * may only be used to recognise the notation of a case; nothing may be decided by it.
   */
  readonly perform: (input: JsonObject, expect: JsonValue) => unknown;
}

/** The replay of the cases of one suite. */
export interface SuiteAdapter {
  readonly operations: Readonly<Record<string, Operation>>;
  /** The operations that have no counterpart in the product, with the reason. */
  readonly withoutCounterpart: Readonly<Record<string, string>>;
  /** Replaces variants of a wording in an expectation by the wording of the product. */
  readonly normalise?: (expect: JsonValue, op: string) => JsonValue;
}

/** The case contains a value that its adapter cannot translate. It has then failed, even if it expects an error. */
export class CaseProblem extends Error {
  override readonly name = 'CaseProblem';
}

/** Returns the value as an object that has no other keys than `keys`. */
export function only(what: string, value: JsonValue | undefined, keys: readonly string[]): JsonObject {
  const fields = object(value);
  const unknown = Object.keys(fields).find((key) => !keys.includes(key));
  if (unknown === undefined) return fields;
  const known = keys.length === 0 ? 'none' : keys.join(', ');
  throw new CaseProblem(`${what} has a key "${unknown}" that the adapter does not know (it knows: ${known})`);
}

/** Returns the value as an object with any keys. */
export function object(value: JsonValue | undefined): JsonObject {
  if (isJsonObject(value)) return value;
  throw new CaseProblem(`The case should give an object, not ${JSON.stringify(value)}`);
}

/** Returns the value as a list; a missing one is empty. */
export function list(value: JsonValue | undefined): JsonValue[] {
  if (value === undefined || value === null) return [];
  if (Array.isArray(value)) return value;
  throw new CaseProblem(`The case should give a list, not ${JSON.stringify(value)}`);
}

/** Returns the value as text, or `otherwise` if it is missing. */
export function text(value: JsonValue | undefined, otherwise = ''): string {
  if (value === undefined || value === null) return otherwise;
  if (typeof value === 'string') return value;
  throw new CaseProblem(`The case should give a text, not ${JSON.stringify(value)}`);
}

/** Returns the value as a number, or `otherwise` if it is missing. */
export function number(value: JsonValue | undefined, otherwise: number): number {
  if (value === undefined || value === null) return otherwise;
  if (typeof value === 'number') return value;
  throw new CaseProblem(`The case should give a number, not ${JSON.stringify(value)}`);
}

/** Returns the value as a truth value; a missing one is false. */
export function flag(value: JsonValue | undefined): boolean {
  if (value === undefined || value === null) return false;
  if (typeof value === 'boolean') return value;
  throw new CaseProblem(`The case should give true or false, not ${JSON.stringify(value)}`);
}

/** Returns a text unchanged, and any other value as JSON. */
export function said(value: JsonValue): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
