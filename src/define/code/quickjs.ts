import type { ExecutorDefinition } from './executor-definition.ts';
import { EXECUTOR_OPTIONS, executorDefinition, type ExecutorOptions, requireOptions } from './executor-options.ts';

/**
 * Makes an executor of JavaScript: QuickJS, compiled to WebAssembly, in a thread of its own. Code in it has no network, no files
 * and no timers. Throws a `UsageError` for an option that cannot work.
 *
 * @example
 * defineAgent({ name: 'desk', model: 'openai/gpt-5-mini', tools: [orders], code: { executor: quickjs({ limits: { timeoutSeconds: 10 } }) } });
 */
export function quickjs(options: ExecutorOptions = {}): ExecutorDefinition {
  requireOptions('quickjs', options, EXECUTOR_OPTIONS);
  return executorDefinition('quickjs', { kind: 'quickjs', language: 'javascript' }, options);
}
