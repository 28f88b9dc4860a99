import type { CodeTool, Executor } from '../../src/core/execution/executor.ts';
import type { ExecutorDefinition } from '../../src/define/code/executor-definition.ts';

/** The functions that code has besides those of the language. */
export interface Provided {
  /** The tools that code may call by their names. */
  tools: readonly CodeTool[];
  /** True: `store`, `recall`, `observe`, `memory` and the signals `uncertain`, `explore` and `commit`. */
  scratchpad: boolean;
}

/** Makes an executor. Its program is loaded when the first executor of its kind is made. */
export async function createExecutor(definition: ExecutorDefinition, provided: Provided): Promise<Executor> {
  const { quickjsExecutor } = await import('./quickjs/quickjs-executor.ts');
  return quickjsExecutor(definition.limits, provided);
}
