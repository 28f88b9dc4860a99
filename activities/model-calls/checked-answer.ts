import type { AgentSnapshot } from '../../src/core/domain/agent/agent-snapshot.ts';
import { isToolCall } from '../../src/core/domain/content/content.ts';
import { FINAL_ANSWER } from '../../src/core/domain/content/tool-text.ts';
import type { ModelResponse } from '../../src/core/domain/model/model.ts';
import type { RecordedResponse } from '../../src/core/domain/model/recorded-response.ts';
import { UnitContext } from '../../src/core/program/state/unit-context.ts';
import { asGiven } from '../programs/as-given.ts';
import { verdictOn } from '../programs/verdict-on.ts';
import type { ActivityRuntime } from '../runtime.ts';

/**
 * Checks the answer of an `ask` with tools, and returns the response with the verdict. A response that only calls tools, or one of
 * any other agent, stays as it is.
 */
export async function checkedAnswer(
  { anchors }: ActivityRuntime,
  { checks, output }: AgentSnapshot,
  { interpreted, answer }: { interpreted: RecordedResponse; answer: ModelResponse },
): Promise<RecordedResponse> {
  if (checks === undefined || !isAnswer(interpreted, output)) return interpreted;
  const { step, anchors: names = [], lenient = false, ...rules } = checks;
  const response = lenient ? asGiven(interpreted, answer) : interpreted;
  const ask = { ...rules, ...(output === undefined ? {} : { output: output.schema }) };
  const verdict = await verdictOn(response, { ask, anchors: anchors.named(names, { lenient }), lenient, step }, new UnitContext());
  return { ...response, verdict };
}

/** True for a response without tool calls, and for one that calls the tool of the structured answer. */
function isAnswer({ content }: RecordedResponse, output: AgentSnapshot['output']): boolean {
  const calls = content.filter(isToolCall);
  return calls.length === 0 || (output?.mode === 'final_answer' && calls.some(({ name }) => name === FINAL_ANSWER));
}
