import type { CodeLanguage } from '../../core/domain/code.ts';
import { UsageError } from '../../core/domain/errors.ts';
import type { CreateOwnExecutor, ExecutorDefinition } from './executor-definition.ts';
import { EXECUTOR_OPTIONS, executorDefinition, type ExecutorOptions, requireOptions } from './executor-options.ts';

/** The options of `inProcess`. */
export interface InProcessExecutorOptions extends ExecutorOptions {
  /** The language of the code, which decides how the model is told to write it. */
  language: CodeLanguage;
  /** Makes an executor for each namespace: an object with the methods of `Executor`. */
  create: CreateOwnExecutor;
}

/**
 * Makes an executor of a function of yours, which runs in the process of the worker. There is no boundary: use it in tests, or for
 * code that you trust as you trust your own. The limits are yours to keep. Throws a `UsageError` for an option that cannot work.
 *
 * @example
 * const executor = inProcess({ language: 'javascript', create: () => new RemoteSandbox(process.env.SANDBOX_URL) });
 */
export function inProcess(options: InProcessExecutorOptions): ExecutorDefinition {
  requireOptions('inProcess', options, ['create', 'language', ...EXECUTOR_OPTIONS]);
  const { language, create } = options;
  if (language !== 'javascript' && language !== 'python') {
    throw new UsageError(`inProcess: "language" is ${JSON.stringify(language) ?? 'missing'}: write "javascript" or "python"`);
  }
  if (typeof create !== 'function') {
    throw new UsageError(`inProcess: "create" is ${JSON.stringify(create) ?? 'missing'}: write a function that returns an executor`);
  }
  return Object.freeze({ ...executorDefinition('inProcess', { kind: 'in_process', language }, options), create });
}
