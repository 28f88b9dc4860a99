// Tool phase: the final answer of a cell.

import { truncateOutput } from '../../execution/output.ts';
import type { JsonValue } from '../../domain/json/json.ts';
import type { ToolOutcome } from '../ports.ts';
import type { RunState } from '../state/run-state.ts';

/**
 * Returns the output of a run whose answers are code, if one of its cells has given a final answer: the value itself if the agent has
 * an output schema, otherwise its text, cut to the limit of output. In other runs a final answer is a result that the model reads.
 */
export function finalAnswerOfCode({ snapshot }: RunState, outcomes: readonly (ToolOutcome | null)[]): { output: JsonValue } | undefined {
  if (snapshot.replyFormat !== 'code' || snapshot.code === undefined) return undefined;
  const found = outcomes.find((outcome) => outcome?.type === 'result' && outcome.finalAnswer !== undefined);
  if (found?.type !== 'result' || found.finalAnswer === undefined) return undefined;
  const { value } = found.finalAnswer;
  if (snapshot.output !== undefined) return { output: value };
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return { output: truncateOutput(text, snapshot.code.executor.limits.maxOutputBytes).text };
}
