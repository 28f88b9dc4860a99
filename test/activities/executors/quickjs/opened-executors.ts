import { afterAll } from 'vitest';
import { type QuickJsDefinition, quickjsExecutor } from '../../../../activities/executors/quickjs/quickjs-executor.ts';
import type { Provided } from '../../../../activities/executors/results.ts';
import type { JsonValue } from '../../../../src/core/domain/json.ts';
import type { CodeCall, CodeCallResult, ExecutionResult, Executor } from '../../../../src/core/domain/execution.ts';

export const MOMENT = { now: Date.UTC(2026, 0, 2), seed: 7 };

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

/** The course of a cell: the calls of each segment, and the result. */
export interface Course {
  batches: CodeCall[][];
  outputs: string[];
  result: ExecutionResult;
}

/** Runs a cell to its end. Its calls return what `answer` gives for them; by default, their arguments. */
export async function course(
  one: Executor,
  code: string,
  answer: (call: CodeCall) => CodeCallResult = ({ arguments: given }) => ({ value: given }),
): Promise<Course> {
  const batches: CodeCall[][] = [];
  const outputs: string[] = [];
  let segment = await one.begin(code, MOMENT);
  while (segment.type === 'calls') {
    batches.push([...segment.calls]);
    outputs.push(segment.output);
    segment = await one.resume(segment.calls.map(answer));
  }
  return { batches, outputs, result: segment.result };
}

/** The calls of `orders`, by their ids. */
export function ordersOf(...ids: JsonValue[]): CodeCall[] {
  return ids.map((id) => ({ tool: 'orders', arguments: { id } }));
}
