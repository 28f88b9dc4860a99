import type { JsonObject, JsonValue } from '../../../src/core/domain/json.ts';
import type { ExecutionErrorKind } from '../../../src/core/domain/execution.ts';

export const FAMILIES = ['reach', 'time', 'memory', 'stack', 'protocol', 'process'] as const;

export type Family = (typeof FAMILIES)[number];

/** The limits of attempts that need neither much time nor much memory. */
export const SMALL = { timeoutSeconds: 0.4, maxMemoryMb: 32 } as const;

/** Code that attacks its executor, and how the last of its cells has to end. The canaries have to survive it. */
export interface Attempt {
  family: Family;
  /** The language of its cells. Absent: JavaScript. */
  language?: 'python';
  name: string;
  /** The cells, which are run in order. */
  cells: string[];
  /** The limits of its executor: small, so that many attempts take little time. */
  limits: { timeoutSeconds: number; maxMemoryMb: number };
  /** The ways the last cell may end. Default: any except a failure of the executor. */
  ends?: readonly ('success' | ExecutionErrorKind)[];
  /** The final answer of the last cell, if it succeeds and this is given. */
  answer?: JsonValue;
  /** The output of the last cell, which then has no final answer. */
  output?: string;
  /** True: the code has tools, a scratchpad and the module `math`. */
  hasTools?: boolean;
  /** All calls of tools that the cells may make, each as its name and its arguments. */
  calls?: readonly (readonly [tool: string, given: JsonObject])[];
}
