import type { JsonValue } from '../../../src/core/domain/json/json.ts';
import type { SpecCase } from '../case-file.ts';

/**
 * Runs one operation against the real code and returns what came out in the words of the case files, or throws what
 * the code has thrown. `expect` is there only to tell which notation a case uses; nothing may be decided by it.
 */
export type Operation = (input: JsonValue, expect: JsonValue) => unknown;

/** How the cases of one suite are replayed. */
export interface SuiteAdapter {
  readonly operations: Readonly<Record<string, Operation>>;
  /** Operations whose feature is not built, with the reason. */
  readonly notBuilt: Readonly<Record<string, string>>;
  /** Why this one case needs a feature that is not built; undefined where it can be replayed. */
  readonly skipReason?: (specCase: SpecCase) => string | undefined;
  /** Brings variants of one wording in an expectation to the wording that the code uses. */
  readonly normalise?: (expect: JsonValue, op: string) => JsonValue;
}
