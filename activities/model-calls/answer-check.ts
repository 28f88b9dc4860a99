import type { AgentSnapshot } from '../../src/core/domain/agent/agent-snapshot.ts';
import { isToolCall } from '../../src/core/domain/content/content.ts';
import { FINAL_ANSWER } from '../../src/core/domain/content/tool-text.ts';
import type { ModelResponse } from '../../src/core/domain/model/model.ts';
import type { RecordedResponse } from '../../src/core/domain/model/recorded-response.ts';
import { UnitContext } from '../../src/core/program/state/unit-context.ts';
import { asGiven } from '../programs/as-given.ts';
import { verdictOn } from '../programs/verdict-on.ts';
import type { ActivityRuntime } from '../runtime.ts';

/** Returns a response with the verdict on its answer, if it is one. */
type CheckAnswer = (interpreted: RecordedResponse, answer: ModelResponse) => Promise<RecordedResponse>;

/**
 * Returns the function that checks the answer of an `ask` with tools. It is called before the model is paid: an anchor that this
 * worker lacks is an error. Responses that only call tools, and those of all other agents, stay as they are.
 */
export function answerCheck({ anchors }: ActivityRuntime, { checks, output }: AgentSnapshot): CheckAnswer {
  if (checks === undefined) return (interpreted) => Promise.resolve(interpreted);
  const { step, anchors: names = [], lenient = false, ...rules } = checks;
  const ask = { ...rules, ...(output === undefined ? {} : { output: output.schema }) };
  const known = { ask, anchors: anchors.named(names, { lenient }), lenient, step };
  return async (interpreted, answer) => {
    if (!isAnswer(interpreted, output)) return interpreted;
    const response = lenient ? asGiven(interpreted, answer) : interpreted;
    return { ...response, verdict: await verdictOn(response, known, new UnitContext()) };
  };
}

/** True for a response without tool calls, and for one that calls the tool of the structured answer. */
function isAnswer({ content }: RecordedResponse, output: AgentSnapshot['output']): boolean {
  const calls = content.filter(isToolCall);
  return calls.length === 0 || (output?.mode === 'final_answer' && calls.some(({ name }) => name === FINAL_ANSWER));
}
