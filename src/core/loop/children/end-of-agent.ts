// Tool phase: the end of an agent as the outcome of its tool call.

import type { ChildOutcome } from '../../domain/children/child-call.ts';
import type { RunningAgent } from '../../domain/children/running-agent.ts';
import { withChild, withUnknownChild } from '../../domain/children/spent-below.ts';
import { cutContent, cutMarker, cutText } from '../../domain/content/cut-content.ts';
import { outputText } from '../../domain/content/output-text.ts';
import { BYTE_BUDGETS } from '../../domain/json/byte-budget.ts';
import type { JsonValue } from '../../domain/json/json.ts';
import { cutNote, endedEarly } from '../../domain/record/step.ts';
import type { RunResultFields } from '../../domain/run/result.ts';
import { checkJson, problemsText } from '../../json-schema/check-json-schema.ts';
import type { RunPorts, ToolInvocation, ToolOutcome } from '../ports.ts';
import type { RunState } from '../state/run-state.ts';

/** Bytes of the partial answer and of the error of an agent that did not complete. */
const PARTIAL_BYTES = 16_000;
const ERROR_BYTES = 4_000;

type EndedChild = Exclude<ChildOutcome, { type: 'left' }>;

/** Returns the outcome of the call of an agent that has ended. Counts what the agent has used. */
export function outcomeOfAgent(
  state: RunState,
  ports: RunPorts,
  { invocation, child, outcome }: { invocation: ToolInvocation; child: RunningAgent; outcome: EndedChild },
): ToolOutcome {
  const { runId: childRunId } = child;
  const isNew = (child.turn ?? 1) === 1;
  const durationMs = Math.max(0, ports.now() - child.startedAt);
  if (outcome.type === 'failed') {
    if (!outcome.unstarted) state.below = withUnknownChild(state.below, child.given ?? {}, child.runs, isNew);
    const problem = `${outcome.unstarted ? 'could not start' : 'ended without a result'}: ${outcome.message}`;
    return { ...failure(invocation, problem), ...(outcome.unstarted ? {} : { durationMs, childRunId }) };
  }
  const { result } = outcome;
  if (result === undefined) state.below = withUnknownChild(state.below, child.given ?? {}, child.runs, isNew);
  else state.below = withChild(state.below, result, isNew);
  if (outcome.type === 'cancelled' && ports.cancelRequested()) return { type: 'cancelled', childRunId };
  if (result === undefined) return { ...failure(invocation, 'was cancelled, and has not ended in time'), durationMs, childRunId };
  const { final, branch } = invocation.tool.agent ?? {};
  const ofRun = final ? finalResult(state, invocation, result) : branch ? endOfBranch(invocation, result) : {};
  if ('problem' in ofRun) return { ...failure(invocation, ofRun.problem), durationMs, childRunId };
  return {
    ...(result.status === 'completed' ? answerOf(invocation, result) : unfinished(invocation, result)),
    durationMs,
    childRunId,
    ...ofRun,
  };
}

type Result = ToolOutcome & { type: 'result' };

/** Returns the answer of an agent: with a note if it was cut off, and as an error if it is empty. */
function answerOf(invocation: ToolInvocation, { output, finishReason }: RunResultFields): Result {
  const { tool } = invocation;
  if (output === '') return failure(invocation, 'gave an empty answer');
  // Output that fits a schema is whole, however its answer ended.
  const note = finishReason !== undefined && endedEarly(finishReason) && typeof output === 'string' ? [cutNote(finishReason)] : [];
  return { type: 'result', status: 'success', content: fitting(tool.maxResultBytes, output, ...note), durationMs: null };
}

/** Returns the error result for an agent that did not complete: the way in which it ended, and its partial answer. */
function unfinished(invocation: ToolInvocation, { status, stopReason, error, output }: RunResultFields): Result {
  const reason = status === stopReason ? status : `${status} (${stopReason})`;
  const partial = outputText(output);
  const lines = [
    `ended with ${reason}`,
    ...(error === null ? [] : [`Error: ${cutText(error, ERROR_BYTES)}`]),
    ...(partial === '' ? [] : [`Partial answer: ${cutText(partial, PARTIAL_BYTES)}`]),
  ];
  return failure(invocation, lines.join('\n'));
}

/** Returns the error result of a call whose agent gave no answer. */
export function failure({ tool }: ToolInvocation, problem: string): Result {
  const text = `Agent '${tool.agent?.name ?? tool.name}' ${problem}`;
  return { type: 'result', status: 'error', content: fitting(tool.maxResultBytes, text), durationMs: null };
}

function fitting(maxBytes: number = BYTE_BUDGETS.toolResult, ...content: JsonValue[]): JsonValue[] {
  return cutContent(content, maxBytes, cutMarker).content;
}

/**
 * Returns the result of an agent as that of the run. An agent that was cancelled alone does not end the run; neither does an answer
 * that lacks the form of the answers of the run.
 */
function finalResult(
  { snapshot: { output: declared } }: RunState,
  { tool }: ToolInvocation,
  { status, stopReason, output, finishReason, error, errorCode }: RunResultFields,
): Pick<Result, 'ended'> | { problem: string } {
  if (status === 'cancelled') return {};
  const problems = declared === undefined || status !== 'completed' ? [] : checkJson(declared.schema, output);
  if (problems.length > 0)
    return { problem: `gave an answer that does not fit the output schema of this agent: ${problemsText(problems)}` };
  const finish = finishReason === undefined ? {} : { finishReason };
  return { ended: { status, stopReason, output, tool: tool.name, ...finish, ...errorOf(error, errorCode) } };
}

/** Returns the way in which an agent of a parallel flow ended, if it did not complete. Its result has its partial answer. */
function endOfBranch({ tool }: ToolInvocation, { status, stopReason, error, errorCode }: RunResultFields): Pick<Result, 'ended'> {
  if (status === 'completed') return {};
  return { ended: { status, stopReason, output: '', tool: tool.name, ...errorOf(error, errorCode) } };
}

function errorOf(message: string | null, code: string | null = null): { error?: { code: string; message: string } } {
  return message === null ? {} : { error: { code: code ?? 'internal', message } };
}
