import { randomInt } from 'node:crypto';
import { UsageError } from '../../src/core/domain/errors.ts';
import type { JsonValue } from '../../src/core/domain/json.ts';
import type { ExecutionResult, Executor, Moment } from '../../src/core/domain/execution.ts';
import type { CodeDefinition, ExecutorDefinition } from '../../src/define/code.ts';
import type { Provided } from './cell-executor.ts';

/** An executor for code that calls no tools, outside of an agent. */
export interface StandaloneExecutor {
  /**
   * Runs code with the names of earlier runs. Never rejects because of the code. Throws a `UsageError` while other code runs. Clock and
   * random numbers are those of `moment`; by default, the clock of this process and any seed.
   */
  run(code: string, moment?: Partial<Moment>): Promise<ExecutionResult>;
  /** Ends the run in progress at once. Does nothing if no run is in progress. */
  kill(): Promise<void>;
  /** Sets a name from the next run on. Throws a `UsageError` for a value that is not JSON, and for a name that code cannot have. */
  inject(name: string, value: JsonValue): void;
  /** Forgets all names. */
  reset(): Promise<void>;
  /** Ends the run in progress, and frees all resources. The executor cannot be used again. */
  close(): Promise<void>;
  /** Ends the executor, for `await using`. */
  [Symbol.asyncDispose](): Promise<void>;
}

/** The checked kinds and programs of executors. Their isolation does not change while a process runs. */
const checkedExecutors = new Map<string, Promise<void>>();

/**
 * Creates an executor that runs code without an agent and without Temporal. Throws a `UsageError` if this machine cannot isolate the code:
 * nothing falls back to a weaker boundary. A run that used up its time or memory, or that was killed, loses all names; the next run begins
 * with an empty namespace, and its result says so in `emptiedBy`.
 *
 * @example const executor = await createExecutor(quickjs({ limits: { timeoutSeconds: 2 } })); const { output, finalValue, error } = await
 * executor.run('final_answer(6 * 7)'); await executor.close();
 */
export async function createExecutor(definition: ExecutorDefinition): Promise<StandaloneExecutor> {
  await checkExecutorOnce(definition);
  const executor = await createAgentExecutor(definition, { tools: [], scratchpad: false });
  return {
    run: (code, { now = Date.now(), seed = randomInt(2 ** 32) } = {}) => executor.run(code, { now, seed }),
    kill: () => executor.kill(),
    inject: (name, value) => executor.inject(name, value),
    reset: () => executor.reset(),
    close: () => executor.close(),
    [Symbol.asyncDispose]: () => executor.close(),
  };
}

async function checkExecutorOnce(definition: ExecutorDefinition): Promise<void> {
  const key = JSON.stringify([definition.kind, definition.command ?? []]);
  const check = checkedExecutors.get(key) ?? checkExecutor(definition);
  checkedExecutors.set(key, check);
  try {
    await check;
  } catch (error) {
    // The user may install missing parts and try again.
    checkedExecutors.delete(key);
    throw error;
  }
}

/** The signature of `createAgentExecutor`. */
export type CreateExecutor = (definition: ExecutorDefinition, provided: Provided) => Promise<Executor>;

/** Creates an executor. Its module is loaded with the first executor of its kind. */
export async function createAgentExecutor(definition: ExecutorDefinition, provided: Provided): Promise<Executor> {
  switch (definition.kind) {
    case 'quickjs': {
      const { quickjsExecutor } = await import('./quickjs/quickjs-executor.ts');
      return quickjsExecutor(definition, provided);
    }
    case 'python': {
      const { pythonExecutor } = await import('./python/python-executor.ts');
      return pythonExecutor(definition, provided);
    }
    case 'custom': {
      const { customExecutor } = await import('./process/process-executor.ts');
      return customExecutor(definition, provided);
    }
    case 'in_process':
      return ownExecutor(definition, provided);
  }
}

const EXECUTOR_METHODS = ['run', 'begin', 'resume', 'kill', 'inject', 'reset', 'close'] as const satisfies readonly (keyof Executor)[];

/** Creates an executor with the definition's function. Throws a UsageError if that does not return one. */
async function ownExecutor({ create, ...definition }: ExecutorDefinition, provided: Provided): Promise<Executor> {
  if (create === undefined) throw new UsageError('The executor has no function: make it with inProcess({create: …, language: …})');
  const { kind, language, limits, allowedImports } = definition;
  const made: unknown = await create({ kind, language, limits, allowedImports, ...provided });
  const missing = EXECUTOR_METHODS.find((name) => typeof (made as Partial<Executor> | null | undefined)?.[name] !== 'function');
  if (missing === undefined) return made as Executor;
  throw new UsageError(
    `"create" of inProcess returned something without the method "${missing}": return an object with ${EXECUTOR_METHODS.join(', ')}`,
  );
}

/** The part of an agent that is checked. */
interface AgentWithCode {
  readonly code?: CodeDefinition;
}

/** True if an agent runs code in a way that depends on the machine of the worker. */
export function needExecutorChecks(agents: readonly AgentWithCode[]): boolean {
  return distinctExecutors(agents).length > 0;
}

/** Checks the executors of agents, each once. Throws a UsageError for an executor that does not isolate or run code. */
export async function checkExecutors(agents: readonly AgentWithCode[]): Promise<void> {
  for (const definition of distinctExecutors(agents)) await checkExecutor(definition);
}

/** Checks that this machine can run code of an executor behind its boundary. Throws a UsageError with the reason and the remedy. */
export async function checkExecutor(definition: ExecutorDefinition): Promise<void> {
  switch (definition.kind) {
    case 'quickjs':
    case 'in_process':
      return;
    case 'python': {
      const { checkPython } = await import('./python/check-python.ts');
      return checkPython();
    }
    case 'custom': {
      const { checkCustom } = await import('./process/process-executor.ts');
      return checkCustom(definition);
    }
  }
}

/**
 * Returns one executor for each distinct check. QuickJS is part of the package, and a user's function isolates nothing, so neither is
 * checked.
 */
function distinctExecutors(agents: readonly AgentWithCode[]): ExecutorDefinition[] {
  const distinct = new Map<string, ExecutorDefinition>();
  for (const { code } of agents) {
    if (code === undefined || code.executor.kind === 'quickjs' || code.executor.kind === 'in_process') continue;
    const { kind, language, command } = code.executor;
    distinct.set(JSON.stringify([kind, ...(command === undefined ? [] : [language, command])]), code.executor);
  }
  return [...distinct.values()];
}
