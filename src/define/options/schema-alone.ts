import { notExecutable } from '../../core/domain/tool-calls.ts';
import { UsageError } from '../../core/domain/errors.ts';
import { ToolFailure } from '../tools/tool-failure.ts';

/** The options of a tool with `execute: 'none'`. All others concern the execution of its calls. */
const DESCRIPTION: readonly string[] = ['name', 'description', 'version', 'parameters', 'strict', 'execute', 'callers'];

/**
 * Returns the `execute` of a tool that is a schema alone. It runs only for runs that began when the tool had a function. Throws a
 * UsageError for options that would have no effect.
 */
export function schemaAlone(name: string, options: object): () => never {
  const [useless] = Object.entries(options).find(([option, value]) => value !== undefined && !DESCRIPTION.includes(option)) ?? [];
  if (useless !== undefined) {
    throw new UsageError(`tool "${name}": "${useless}" has no effect with "execute": "none": leave it out, or write a function`);
  }
  return () => {
    throw new ToolFailure(notExecutable(name));
  };
}
