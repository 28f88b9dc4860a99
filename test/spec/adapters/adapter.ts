import type { JsonObject, JsonValue } from '../../../src/core/domain/json/json.ts';

/** Runs one case of an operation with the product and translates. */
export interface Operation {
  /** The keys that the input of a case may have. */
  readonly input: readonly string[];
  /** The keys that an expectation may have, if it is an object. */
  readonly expect: readonly string[];
  /**
   * Returns what the product returned, in the words of the case files, or throws what the product threw. `expect` is
   * there only to tell which notation a case uses; nothing may be decided by it.
   */
  readonly perform: (input: JsonObject, expect: JsonValue) => unknown;
}

/** How the cases of one suite are replayed. */
export interface SuiteAdapter {
  readonly operations: Readonly<Record<string, Operation>>;
  /** The operations that have no counterpart in the product, with the reason. */
  readonly withoutCounterpart: Readonly<Record<string, string>>;
  /** Brings variants of one wording in an expectation to the wording that the product uses. */
  readonly normalise?: (expect: JsonValue, op: string) => JsonValue;
}
