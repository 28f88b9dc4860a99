import { afterAll } from 'vitest';
import { type QuickJsDefinition, quickjsExecutor } from '../../../../activities/executors/quickjs/quickjs-executor.ts';
import type { Provided } from '../../../../activities/executors/cell-executor.ts';
import type { JsonValue } from '../../../../src/core/domain/json.ts';
import type { CodeCall, Executor } from '../../../../src/core/domain/execution.ts';

/** Tools of tests: the second one has a name that no variable can have. */
export const TOOLS: Provided['tools'] = [
  { name: 'orders', parameters: ['id', 'region'] },
  { name: 'send-mail', parameters: ['to'] },
];

const opened: Executor[] = [];

afterAll(async () => {
  await Promise.all(opened.splice(0).map((one) => one.close()));
});

/** Makes an executor, which is ended after the tests of the file. */
export function executor(definition: QuickJsDefinition = {}, provided: Partial<Provided> = {}): Executor {
  const made = quickjsExecutor(
    { ...definition, limits: { maxMemoryMb: 32, ...definition.limits } },
    { tools: TOOLS, scratchpad: false, ...provided },
  );
  opened.push(made);
  return made;
}

/** The calls of `orders`, by their ids. */
export function ordersOf(...ids: JsonValue[]): CodeCall[] {
  return ids.map((id) => ({ tool: 'orders', arguments: { id } }));
}
