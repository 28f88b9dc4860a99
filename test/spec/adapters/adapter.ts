import type { JsonObject, JsonValue } from '../../../src/core/domain/json.ts';

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
