import type { CodeLanguage } from '../../core/domain/code.ts';
import { UsageError } from '../../core/domain/errors.ts';
import type { ExecutorDefinition } from './executor-definition.ts';
import { EXECUTOR_OPTIONS, executorDefinition, type ExecutorOptions, requireOptions } from './executor-options.ts';

/** The options of `custom`. */
export interface CustomExecutorOptions extends ExecutorOptions {
  /** The program and its arguments: a container or a virtual machine. It isolates the code, and must be there on every worker. */
  command: readonly string[];
  /** The language of the code. */
  language: CodeLanguage;
}

/**
 * Makes an executor of a program of the operator, which the worker starts for each namespace. The program is the boundary:
 * Longhaul adds none. Throws a `UsageError` for an option that cannot work.
 *
 * @example
 * const executor = custom({ command: ['docker', 'run', '--rm', '-i', '--network=none', 'cells'], language: 'python' });
 */
export function custom(options: CustomExecutorOptions): ExecutorDefinition {
  requireOptions('custom', options, ['command', 'language', ...EXECUTOR_OPTIONS]);
  const command = checkCommand(options.command);
  const { language } = options;
  if (language !== 'javascript' && language !== 'python') {
    throw new UsageError(`custom: "language" is ${JSON.stringify(language) ?? 'missing'}: write "javascript" or "python"`);
  }
  return Object.freeze({ ...executorDefinition('custom', { kind: 'custom', language }, options), command: Object.freeze(command) });
}

function checkCommand(command: unknown): string[] {
  const isCommand =
    Array.isArray(command) &&
    command[0] !== '' &&
    command.length > 0 &&
    command.every((part) => typeof part === 'string' && !part.includes('\0'));
  if (isCommand) return [...(command as string[])];
  throw new UsageError(
    `custom: "command" is ${JSON.stringify(command) ?? 'missing'}: write a list of texts, the program and its arguments: ["docker", "run", …]`,
  );
}
