import { UsageError } from '../../../src/core/domain/errors/error.ts';
import { executionLimits } from '../../../src/core/execution/execution-limits.ts';
import type { Executor } from '../../../src/core/execution/executor.ts';
import type { ExecutorDefinition } from '../../../src/define/code/executor-definition.ts';
import type { Program } from '../process/program.ts';
import { ProcessExecutor } from '../process/process-executor.ts';
import type { Provided } from '../provided.ts';

/** The variables of the worker's environment that a program of the operator gets: those by which it finds other programs. */
const PASSED_ON = ['PATH', 'HOME', 'LANG', 'TMPDIR', 'XDG_RUNTIME_DIR', 'DOCKER_HOST'];

/** Makes an executor of a program of the operator, which starts with the first run. The program alone isolates the code. */
export function customExecutor(definition: ExecutorDefinition, provided: Provided = { tools: [], scratchpad: false }): Executor {
  const { limits, allowedImports, language } = definition;
  return new ProcessExecutor(() => operatorsProgram(definition), { language, limits: executionLimits(limits), allowedImports }, provided);
}

/** The program of a definition. Throws a UsageError for a definition that has none. */
export function operatorsProgram({ command }: Pick<ExecutorDefinition, 'command'>): Program {
  const [file, ...args] = command ?? [];
  if (file === undefined) throw new UsageError('The executor "custom" has no command: make it with custom({command: […], language: …})');
  const passed = PASSED_ON.flatMap((name) => {
    const value = process.env[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  return { file, args, env: Object.fromEntries(passed) };
}
