import { type ExecutionLimits, executionLimits } from '../../../src/core/execution/execution-limits.ts';
import type { Executor } from '../../../src/core/execution/executor.ts';
import { ProcessExecutor } from '../process/process-executor.ts';
import type { Provided } from '../provided.ts';
import { sandboxedPython } from './sandbox.ts';

/** The part of an executor's definition that is needed here. */
export interface PythonDefinition {
  limits?: Partial<ExecutionLimits>;
  /** Names of packages that code may import. */
  allowedImports?: readonly string[];
}

/** Makes an executor of Python: CPython under bubblewrap, in a process of its own, which starts with the first run. */
export function pythonExecutor(definition: PythonDefinition = {}, provided: Provided = { tools: [], scratchpad: false }): Executor {
  const { limits, allowedImports = [] } = definition;
  return new ProcessExecutor(sandboxedPython, { language: 'python', limits: executionLimits(limits), allowedImports }, provided);
}
