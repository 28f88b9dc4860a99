// Tool phase: the end of agents side by side.

import type { ToolCall } from '../../domain/content/content.ts';
import { resultText } from '../../domain/content/tool-text.ts';
import { type Branch, mergeBranches } from '../../domain/flows/merge-branches.ts';
import type { JsonValue } from '../../domain/json/json.ts';
import { noUsage } from '../../domain/model/usage.ts';
import type { Ending } from '../next-step.ts';
import type { ToolOutcome } from '../ports.ts';
import type { RunState } from '../state/run-state.ts';

/** Returns the output of the flow, once all its agents have ended: the output of each under its name. An error if one has not completed. */
export function mergeOutcomes(
  { snapshot }: Pick<RunState, 'snapshot'>,
  calls: readonly ToolCall[],
  outcomes: readonly (ToolOutcome | null)[],
): Ending | { output: string } {
  const agentOf = (tool: string): string => snapshot.tools.find(({ name }) => name === tool)?.agent?.name ?? tool;
  const { output, problem } = mergeBranches(calls.map(({ name }, index) => branchOf(agentOf(name), outcomes[index])));
  if (problem === undefined) return { output };
  const message = `Not all agents of flow "${snapshot.name}" have completed: ${problem}`;
  return { status: 'error', stopReason: 'error', output, error: { code: 'child_failed', message } };
}

/** Returns the answer of an agent, with the note that it was cut off. */
function answerOf([answer = '', ...notes]: readonly JsonValue[]): JsonValue {
  return notes.length === 0 ? answer : resultText([answer, ...notes]);
}

function branchOf(name: string, outcome: ToolOutcome | null | undefined): Branch {
  const usage = noUsage();
  if (outcome?.type !== 'result') return { name, status: 'cancelled', output: '', error: null, usage };
  const { status, content, ended } = outcome;
  if (status === 'success') return { name, status: 'completed', output: answerOf(content), error: null, usage };
  if (ended === undefined) return { name, status: 'error', output: '', error: resultText(content), usage };
  return { name, status: ended.status, output: '', error: ended.error?.message ?? null, usage };
}
