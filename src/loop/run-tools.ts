import { isToolCall, type ToolCall, type ToolResult } from '../domain/content.ts';
import type { JsonValue } from '../domain/json.ts';
import type { RecordedResponse } from '../domain/recorded-response.ts';
import type { ToolCallRecord } from '../domain/step.ts';
import { FINAL_ANSWER, INTERRUPTED_CALL, resultText, unknownTool } from '../domain/tool-text.ts';
import { finish, mayRetryOutput } from './answer.ts';
import { cancelled, failed, reachedLimit } from './endings.ts';
import { executeCalls, type PreparedCall } from './execute-calls.ts';
import type { NextStep, ToolsPosition } from './next-step.ts';
import type { RunPorts, ToolOutcome } from './ports.ts';
import { recordEvent, recordStep, tally, type RunState } from './run-state.ts';
import { thoughtOf } from './thought.ts';

/** One acting phase: the answer that asks for calls, and where it stands. */
interface Acting {
  state: RunState;
  response: RecordedResponse;
  calls: ToolCall[];
  /** Offset of the event that holds the calls. */
  offset: number;
  /** The attempt after the step limit. */
  final: boolean;
}

/**
 * The acting phase: prepare every call in order, execute concurrently unless the agent or a tool says otherwise,
 * record all results in the model's order as one event, and the step. A history that is full in the middle of it
 * makes the run go on with the calls that have not started in the next execution.
 */
export async function runTools(state: RunState, ports: RunPorts, position: ToolsPosition): Promise<NextStep> {
  const { response, final } = position;
  const calls = response.content.filter(isToolCall);
  const acting: Acting = { state, response, calls, offset: state.window.through - 1, final };
  const prepared = calls.map((call) => prepare(acting, call));
  const outcomes = await executeCalls(state, ports, prepared, position);
  if (outcomes.some((outcome) => outcome === null)) return { type: 'continue', position: { ...position, outcomes } };
  recordOutcomes(acting, ports, outcomes);

  if (ports.cancelRequested() || outcomes.some((outcome) => outcome?.type === 'cancelled')) return cancelled(state);
  return afterTools(acting, ports);
}

/** A model's mistake is not an exception: it becomes a result that the model reads. */
function prepare({ state, response, offset, final }: Acting, call: ToolCall): PreparedCall {
  // The final attempt offers no tools: a model that calls one all the same gets no effect for it.
  if (final) return { type: 'immediate', outcome: interrupted() };
  const problem = problemOf(response, call);
  if (problem !== undefined) return { type: 'immediate', outcome: result('error', problem) };
  if (isFinalAnswer(state, call)) return { type: 'immediate', outcome: result('success', finalOutput(response, call)) };
  const tool = state.snapshot.tools.find((one) => one.name === call.name);
  if (tool === undefined) return { type: 'immediate', outcome: result('error', unknownTool(call.name)) };
  const step = state.context.currentStep + 1;
  const invocation = { step, call, tool, offset, index: response.content.indexOf(call), eventId: response.id };
  return { type: 'execute', invocation };
}

/** One event for the whole batch, one record per call, one step. */
function recordOutcomes({ state, response, calls, final }: Acting, ports: RunPorts, outcomes: (ToolOutcome | null)[]): void {
  const timestamp = new Date(ports.now()).toISOString();
  const results: ToolResult[] = [];
  const records: ToolCallRecord[] = [];
  calls.forEach((call, index) => {
    const outcome = outcomes[index] ?? { type: 'cancelled' };
    const { status, content, durationMs, spilled } = outcome.type === 'cancelled' ? interrupted() : outcome;
    const whole = spilled === undefined ? {} : { spilled };
    results.push({ type: 'tool_result', toolCallId: call.toolCallId, name: call.name, status, content, ...whole });
    records.push({
      toolName: call.name,
      callId: call.toolCallId,
      arguments: call.arguments,
      result: resultText(content),
      isError: status === 'error',
      durationMs,
      timestamp,
      ...whole,
    });
  });
  recordEvent(state, ports, { author: state.snapshot.name, content: results });
  const resultIds = outcomes.flatMap((outcome) => (outcome?.type === 'result' && outcome.resultId !== undefined ? [outcome.resultId] : []));
  if (resultIds.length === calls.length) state.resultIds = resultIds;

  for (const record of records) tally(state, record);
  recordStep(state, {
    thought: thoughtOf(response.content),
    toolCalls: records,
    usage: response.usage,
    finishReason: 'tool_calls',
    ...(final ? { final: true } : {}),
  });
}

function afterTools({ state, response, calls, final }: Acting, ports: RunPorts): NextStep {
  if (final) return reachedLimit(state);
  const answers = calls.filter((call) => isFinalAnswer(state, call));
  if (answers.length === 0) return { type: 'call_model', final: false };
  const valid = answers.find((call) => problemOf(response, call) === undefined);
  if (valid !== undefined) return finish(state, ports, { output: finalOutput(response, valid), final: false });
  if (mayRetryOutput(state)) return { type: 'call_model', final: false };
  const problem = answers.map((call) => problemOf(response, call)).join('; ');
  return failed(state, 'invalid_output', `The answer did not fit the output schema of agent "${state.snapshot.name}": ${problem}`);
}

function isFinalAnswer(state: RunState, call: ToolCall): boolean {
  return state.snapshot.output?.mode === 'final_answer' && call.name === FINAL_ANSWER;
}

/** Why a call must not run. Call ids come from models: only own properties count. */
function problemOf(response: RecordedResponse, call: ToolCall): string | undefined {
  const { problems } = response;
  return problems !== undefined && Object.hasOwn(problems, call.toolCallId) ? problems[call.toolCallId] : undefined;
}

/** The output that a valid `final_answer` call carries. */
function finalOutput(response: RecordedResponse, call: ToolCall): JsonValue {
  const first = response.content.filter(isToolCall).find((one) => one.name === FINAL_ANSWER && problemOf(response, one) === undefined);
  // The verdict is on the first answer that fits.
  return call === first && response.output?.type === 'parsed' ? response.output.value : (call.arguments['output'] ?? null);
}

/** A call that never started. */
function interrupted(): ToolOutcome & { type: 'result' } {
  return { ...result('error', INTERRUPTED_CALL), durationMs: null };
}

function result(status: 'success' | 'error', ...content: JsonValue[]): ToolOutcome & { type: 'result' } {
  return { type: 'result', status, content, durationMs: 0 };
}
