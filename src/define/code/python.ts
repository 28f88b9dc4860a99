import type { ExecutorDefinition } from './executor-definition.ts';
import { EXECUTOR_OPTIONS, executorDefinition, type ExecutorOptions, requireOptions } from './executor-options.ts';

/**
 * Makes an executor of Python: the CPython of the worker's machine, under bubblewrap, without network. A worker that cannot
 * isolate it does not start. Throws a `UsageError` for an option that cannot work.
 *
 * @example
 * const executor = python({ allowedImports: ['math', 'statistics'] });
 */
export function python(options: ExecutorOptions = {}): ExecutorDefinition {
  requireOptions('python', options, EXECUTOR_OPTIONS);
  return executorDefinition('python', { kind: 'python', language: 'python' }, options);
}
