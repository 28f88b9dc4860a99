import { randomInt } from 'node:crypto';
import type { JsonValue } from '../../src/core/domain/json/json.ts';
import type { ExecutionResult } from '../../src/core/execution/execution-result.ts';
import type { Moment } from '../../src/core/execution/executor.ts';
import type { ExecutorDefinition } from '../../src/define/code/executor-definition.ts';
import { checkExecutor } from './check-executors.ts';
import { createExecutor as createForAgents } from './create-executor.ts';

/** An executor for code that calls no tools, outside of an agent. */
export interface StandaloneExecutor {
  /**
   * Runs code with the names of the runs before. Never rejects for anything that the code does. Throws a `UsageError` while other
   * code runs. Clock and random numbers are those of `moment`; by default, the clock of this process and any seed.
   */
  run(code: string, moment?: Partial<Moment>): Promise<ExecutionResult>;
  /** Ends the run in progress, at once. Without one, it changes nothing. */
  kill(): Promise<void>;
  /** Sets a name from the next run on. Throws a `UsageError` for a value that is not JSON, and for a name that code cannot have. */
  inject(name: string, value: JsonValue): void;
  /** Forgets all names. */
  reset(): Promise<void>;
  /** Ends what runs, and frees everything that the executor holds. It cannot be used again. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** The kinds and programs of executors that were checked. What isolates them does not change while a process runs. */
const checked = new Map<string, Promise<void>>();

/**
 * Makes an executor that runs code without an agent and without Temporal. Throws a `UsageError` if this machine cannot isolate the
 * code: nothing falls back to a weaker boundary. A run that used up its time or memory, or that was killed, loses all names; the
 * next run begins with an empty namespace, and its result says so in `emptiedBy`.
 *
 * @example
 * const executor = await createExecutor(quickjs({ limits: { timeoutSeconds: 2 } }));
 * const { output, finalValue, error } = await executor.run('final_answer(6 * 7)');
 * await executor.close();
 */
export async function createExecutor(definition: ExecutorDefinition): Promise<StandaloneExecutor> {
  await checkOnce(definition);
  const executor = await createForAgents(definition, { tools: [], scratchpad: false });
  return {
    run: (code, { now = Date.now(), seed = randomInt(2 ** 32) } = {}) => executor.run(code, { now, seed }),
    kill: () => executor.kill(),
    inject: (name, value) => executor.inject(name, value),
    reset: () => executor.reset(),
    close: () => executor.close(),
    [Symbol.asyncDispose]: () => executor.close(),
  };
}

async function checkOnce(definition: ExecutorDefinition): Promise<void> {
  const key = JSON.stringify([definition.kind, definition.command ?? []]);
  const check = checked.get(key) ?? checkExecutor(definition);
  checked.set(key, check);
  try {
    await check;
  } catch (error) {
    // The user may install what is missing.
    checked.delete(key);
    throw error;
  }
}
