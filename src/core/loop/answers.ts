import { defined } from '../domain/defined.ts';
import type { JsonValue } from '../domain/json.ts';
import type { RecordedResponse } from '../domain/model.ts';
import { FINAL_ANSWER } from '../domain/tool-calls.ts';
import { points } from './points.ts';
import { takeMessages } from './messages.ts';
import { type Answered, answerOf, endAtLimit, endCancelled, endFailed, type NextStep, thoughtOf } from './next-step.ts';
import type { RunPorts } from './ports.ts';
import { recordEvent, type RunState } from './state/run-state.ts';

// Model phase: a response without tool calls.

/** Handles a response without tool calls: it is the answer of the run, unless it was withheld or does not fit the output schema. */
export function handleAnswer(state: RunState, ports: RunPorts, response: RecordedResponse, final: boolean): NextStep {
  if (response.verdict !== undefined) return finishChecked(state, ports, response, final);
  if (response.refusal !== undefined) return endFailed(state, 'model_refusal', `The model refused to answer: ${response.refusal}`);
  if (response.finishReason === 'content_filter') {
    return endFailed(state, 'content_filter', `The provider of "${state.snapshot.model}" withheld the answer (content filter)`);
  }
  const text = thoughtOf(response.content) ?? '';
  const { output } = state.snapshot;
  if (output === undefined) return finishWithAnswer(state, ports, { output: textOutput(response, text), final });

  const verdict = response.output ?? { type: 'problem', problem: 'the answer was not checked' };
  if (verdict.type !== 'problem')
    return finishWithAnswer(state, ports, { output: verdict.type === 'parsed' ? verdict.value : JSON.parse(text), final });
  return output.mode === 'final_answer' && !final
    ? askForCall(state, ports, verdict.problem)
    : retryOutput(state, ports, verdict.problem, final);
}

/** Ends the run with an answer that was checked, and its verdict: the step of the program judges by that, also if the answer lacks its form. */
export function finishChecked(state: RunState, ports: RunPorts, response: RecordedResponse, final: boolean): NextStep {
  const output = answerOf(response, state.snapshot) ?? thoughtOf(response.content) ?? '';
  return finishWithAnswer(state, ports, { output, final, ...defined({ verdict: response.verdict }) });
}

/** Sends an answer that does not fit back to the model, as often as the agent allows. */
function retryOutput(state: RunState, ports: RunPorts, problem: string, final: boolean): NextStep {
  if (final) return endAtLimit(state);
  if (!mayRetryOutput(state)) {
    return endFailed(state, 'invalid_output', `The answer did not fit the output schema of agent "${state.snapshot.name}": ${problem}`);
  }
  const how =
    state.snapshot.output?.mode === 'final_answer'
      ? `Answer by a call of the tool "${FINAL_ANSWER}".`
      : 'Answer again with JSON that fits.';
  const content = `Your previous answer did not fit the required JSON Schema: ${problem}\n${how}`;
  recordEvent(state, ports, { author: 'user', content: [{ type: 'message', role: 'user', content }] });
  return { type: 'call_model', final: false };
}

/**
 * Tells a model that has answered with text to call `final_answer`: the first time whatever the agent allows, then with the problem and
 * as often as it allows.
 */
function askForCall(state: RunState, ports: RunPorts, problem: string): NextStep {
  if (state.outputRetries > 0) return retryOutput(state, ports, problem, false);
  mayRetryOutput(state);
  recordEvent(state, ports, { author: 'user', content: [{ type: 'message', role: 'user', content: CALL_FINAL_ANSWER }] });
  return { type: 'call_model', final: false };
}

const CALL_FINAL_ANSWER =
  `You have answered with text, and the answer has to come as a call of the tool "${FINAL_ANSWER}". ` +
  'Go on if you are not done; otherwise call it now, with the answer in "output".';

/** Counts a structured answer that did not fit. False once the allowed retries are used up. */
export function mayRetryOutput(state: RunState): boolean {
  state.outputRetries += 1;
  return state.outputRetries <= (state.snapshot.output?.maxRetries ?? 0);
}

/** Ends the run with an answer, once it has been checked if it must be. */
export function finishWithAnswer(state: RunState, ports: RunPorts, answered: Answered): NextStep {
  return points.isAnswerChecked(state) ? { type: 'check_output', answered } : acceptAnswer(state, ports, answered);
}

/**
 * Ends the run with an answer. After the step limit, the status still says that the limit ended it. Messages that the run accepted
 * before the answer arrived are answered first, so that no accepted message stays without an answer. `checked`: it has passed
 * its checks.
 */
export function acceptAnswer(state: RunState, ports: RunPorts, { final, ...answered }: Answered, checked = false): NextStep {
  const shown = checked ? { ...answered, checked: true as const } : answered;
  if (final) return { type: 'finish', ending: { status: 'max_iterations_reached', stopReason: 'step_limit', ...shown } };
  // An interrupted turn of a session reads no more messages: the next one answers them.
  if (state.session !== undefined && ports.cancelRequested()) return endCancelled(state);
  if (takeMessages(state, ports) || points.turnContinues(state, answered.output)) return { type: 'call_model', final: false };
  state.context.finalResult = answered.output;
  return { type: 'finish', ending: { status: 'completed', stopReason: 'final_answer', ...shown } };
}

/** Returns the output of a response: its parts if it contains media, otherwise its text. */
function textOutput(response: RecordedResponse, text: string): JsonValue {
  const parts = response.content.flatMap((item) => (item.type === 'message' && Array.isArray(item.content) ? item.content : []));
  return parts.some((part) => part.type !== 'text') ? (JSON.parse(JSON.stringify(parts)) as JsonValue) : text;
}
