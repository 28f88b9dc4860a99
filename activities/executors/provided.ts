import type { CodeTool } from '../../src/core/execution/executor.ts';

/** The functions that code has besides those of the language. */
export interface Provided {
  /** The tools that code may call by their names. */
  tools: readonly CodeTool[];
  /** True: `store`, `recall`, `observe`, `memory` and the signals `uncertain`, `explore` and `commit`. */
  scratchpad: boolean;
}
