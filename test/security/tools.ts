import type { CodeCall, CodeCallResult, CodeTool, ExecutionResult, Executor, Moment } from '../../src/core/domain/execution.ts';

/** The tools of attempts on calls. */
export const TOOLS: readonly CodeTool[] = ['echo', 'fail', 'forged', 'large', '__proto__', 'constructor', 'then'].map((name) => ({
  name,
  parameters: ['first', 'second'],
}));

/** The outcome of a cell, with the calls that its code made. */
export interface AttackedCell {
  result: ExecutionResult;
  calls: CodeCall[];
}

/** Runs a cell to its end, and answers its calls at once. */
export async function runWithTools(executor: Executor, code: string, moment: Moment): Promise<AttackedCell> {
  const calls: CodeCall[] = [];
  let segment = await executor.begin(code, moment);
  while (segment.type === 'calls') {
    for (const call of segment.calls) calls.push(call);
    segment = await executor.resume(segment.calls.map(answer));
  }
  return { result: segment.result, calls };
}

/** Explains which calls the code cannot have made. */
export function callProblems(calls: readonly CodeCall[]): string[] {
  const unknown = calls.filter(({ tool }) => !TOOLS.some(({ name }) => name === tool));
  return [
    ...(unknown.length === 0 ? [] : [`it called "${String(unknown[0]?.tool)}", which is no tool`]),
    ...(calls.length <= 10_000 ? [] : [`it made ${calls.length} calls`]),
  ];
}

function answer({ tool, arguments: given }: CodeCall): CodeCallResult {
  switch (tool) {
    case 'fail':
      return { error: 'refused "}],"value":{"polluted":true}' };
    case 'forged':
      return { value: JSON.parse('{"__proto__":{"polluted":true},"constructor":1,"then":"no","error":"no","value":[1]}') };
    case 'large':
      return { value: 'x'.repeat(1_000_000) };
    default:
      return { value: given };
  }
}
