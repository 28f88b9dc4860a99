import { afterAll } from 'vitest';
import type { Provided } from '../../../../activities/executors/cell-executor.ts';
import { type PythonDefinition, pythonExecutor } from '../../../../activities/executors/python/python-executor.ts';
import type { ExecutionResult, Executor } from '../../../../src/core/domain/execution.ts';
import { MOMENT } from '../course.ts';

const TOOLS: Provided = { tools: [{ name: 'orders', parameters: ['id', 'region'] }], scratchpad: true };

const opened: Executor[] = [];

/** An executor that is killed when the tests of the file have ended. */
export function executor(definition: PythonDefinition = {}, provided: Provided = TOOLS): Executor {
  const made = pythonExecutor({ ...definition, limits: { maxMemoryMb: 32, timeoutSeconds: 20, ...definition.limits } }, provided);
  opened.push(made);
  return made;
}

afterAll(async () => {
  await Promise.all(opened.map((one) => one.close()));
});

/** Runs cells in order in one executor, and returns the last result. */
export async function runAll(cells: readonly string[], one = executor()): Promise<ExecutionResult> {
  const results: ExecutionResult[] = [];
  for (const cell of cells) results.push(await one.run(cell, MOMENT));
  return results.at(-1) as ExecutionResult;
}
