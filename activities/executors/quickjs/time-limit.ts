import type { ExecutionError } from '../../../src/core/execution/execution-result.ts';

/** The error of a run that used up its time. */
export function timeoutError(timeoutSeconds: number): ExecutionError {
  return { kind: 'timeout', message: `Execution timed out after ${timeoutSeconds}s` };
}
