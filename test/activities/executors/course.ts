import type { CodeCall, CodeCallResult, ExecutionResult, Executor } from '../../../src/core/domain/execution.ts';

/** The time and the seed of every cell. */
export const MOMENT = { now: Date.UTC(2026, 0, 2), seed: 7 };

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
