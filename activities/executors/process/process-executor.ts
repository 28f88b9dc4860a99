import { executionLimits } from '../../../src/core/domain/code.ts';
import { UsageError } from '../../../src/core/domain/errors.ts';
import type { ExecutionErrorKind, Executor } from '../../../src/core/domain/execution.ts';
import type { ExecutorDefinition } from '../../../src/define/code.ts';
import { CellExecutor } from '../cell-executor.ts';
import type { Provided } from '../results.ts';
import { CellProcess, type ProcessDefinition, processSettings, type ProcessSettings, type Program } from './cell-process.ts';

/** Runs code in a process, which is started with the first run. There are no checkpoints: the cells have to be run again. */
export class ProcessExecutor extends CellExecutor {
  private readonly program: () => Program;
  private readonly settings: ProcessSettings;
  private process: CellProcess | undefined;

  constructor(program: () => Program, definition: ProcessDefinition, provided: Provided) {
    const settings = processSettings(definition, provided);
    super(definition.language, definition.limits, settings);
    this.program = program;
    this.settings = settings;
  }

  protected openHost(): CellProcess {
    this.process ??= new CellProcess(this.program(), this.settings);
    return this.process;
  }

  protected async endHost(kind: ExecutionErrorKind): Promise<void> {
    const { process } = this;
    this.process = undefined;
    await process?.terminate({ kind, message: 'The run was killed' });
  }
}

/** The variables of the worker's environment that a program of the operator gets: those by which it finds other programs. */
const PASSED_ON = ['PATH', 'HOME', 'LANG', 'TMPDIR', 'XDG_RUNTIME_DIR', 'DOCKER_HOST'];

/** Makes an executor of a program of the operator, which starts with the first run. The program alone isolates the code. */
export function customExecutor(definition: ExecutorDefinition, provided: Provided = { tools: [], scratchpad: false }): Executor {
  const { limits, allowedImports, language } = definition;
  return new ProcessExecutor(() => operatorsProgram(definition), { language, limits: executionLimits(limits), allowedImports }, provided);
}

/** The program of a definition. Throws a UsageError for a definition that has none. */
function operatorsProgram({ command }: Pick<ExecutorDefinition, 'command'>): Program {
  const [file, ...args] = command ?? [];
  if (file === undefined) throw new UsageError('The executor "custom" has no command: make it with custom({command: […], language: …})');
  const passed = PASSED_ON.flatMap((name) => {
    const value = process.env[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  return { file, args, env: Object.fromEntries(passed) };
}

/** Checks that the program of the operator can be started, and runs an empty cell. Throws a UsageError. */
export async function checkCustom(definition: ExecutorDefinition): Promise<void> {
  const executor = customExecutor(definition);
  try {
    const { error } = await executor.run('', { now: 0, seed: 0 });
    if (error === null) return;
    throw new UsageError(
      `the executor "custom" cannot run code: ${JSON.stringify(definition.command)} failed on an empty cell: ${error.message}. Correct "command", or install it on this machine`,
    );
  } finally {
    await executor.close();
  }
}
