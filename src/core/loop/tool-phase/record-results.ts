// Tool phase: results in the record.

import type { ToolCall, ToolResult } from '../../domain/content.ts';
import type { RecordedUpdate } from '../../domain/deps.ts';
import { resultText, type ToolCallRecord } from '../../domain/tool-calls.ts';
import { noteLoadedSkill } from '../skills/active-skills.ts';
import { agentOfStep } from '../handoffs/transfer-calls.ts';
import type { RunPorts, ToolOutcome } from '../ports.ts';
import { hooksOfCall, hooksOfStep, withInjection } from '../hooks/hooked-calls.ts';
import { asRewritten } from '../hooks/rewritten-arguments.ts';
import type { Acting } from './prepare-call.ts';
import { noteError, recordEvent, recordStep, countToolCall } from '../state/run-state.ts';
import { interrupted, running, unknown } from './call-results.ts';
import { thoughtOf } from '../state/thought.ts';
import { isoTime } from '../../domain/time.ts';

type Outcomes = readonly (ToolOutcome | null)[];

/**
 * Records the results that are not in the record yet as one event, in the model's order. While other calls of the
 * response wait for a decision, that is a part of them; marks each with the time, for the step.
 */
export function recordResults({ state, calls, response, inCode }: Acting, ports: RunPorts, outcomes: (ToolOutcome | null)[]): void {
  const recordedAt = isoTime(ports.now());
  const results: ToolResult[] = [];
  const resultIds: string[] = [];
  const contextUpdates: RecordedUpdate[] = [];
  calls.forEach((call, index) => {
    const outcome = outcomes[index];
    if (outcome === null || outcome === undefined || isRecorded(outcome)) return;
    // Code reads values: a text beside them would be one.
    const result = inCode ? resultOf(call, outcome) : withInjection(response, call, resultOf(call, outcome));
    results.push(toolResult(call, result));
    if (result.resultId !== undefined) resultIds.push(result.resultId);
    if (result.contextUpdate !== undefined) contextUpdates.push({ callId: call.toolCallId, operations: result.contextUpdate });
    outcomes[index] = { ...(outcome.type === 'cancelled' ? outcome : result), recordedAt };
  });
  const isPartial = outcomes.includes(null);
  const before = calls.length - outcomes.filter((outcome) => outcome === null || outcome === undefined).length - results.length;
  if (results.length === 0 && (isPartial || calls.length > 0)) return;
  recordEvent(state, ports, {
    author: state.snapshot.name,
    content: results,
    // Made of the id that the history holds: no activity has an input that names it.
    ...(inCode ? { caller: 'code' as const, id: `${response.id}/results-${before}` } : {}),
    ...(isPartial ? { partial: true as const } : {}),
    ...(contextUpdates.length === 0 ? {} : { contextUpdates }),
  });
  if (!inCode && resultIds.length === results.length) state.resultIds = resultIds;
}

/** Records one step with one record per call. All results are in the record already. */
export function recordToolStep(acting: Acting, outcomes: Outcomes): void {
  const { state, response, final } = acting;
  const records = recordsOf(acting, outcomes);
  for (const record of records) countToolCall(state, record);
  acting.calls.forEach((call, index) => {
    if (records[index]?.isError === false) noteLoadedSkill(state, call);
  });
  delete state.endedChildren;
  recordStep(state, {
    ...agentOfStep(state),
    thought: thoughtOf(response.content),
    toolCalls: state.code === undefined ? records : [...records, ...state.code.records],
    usage: response.usage,
    finishReason: 'tool_calls',
    ...hooksOfStep(response),
    ...(final ? { final: true } : {}),
  });
  if (state.code === undefined) return;
  state.code.records = [];
  // The next activity is a model call, which is remote.
  delete state.code.localWork;
}

/** Returns the records of calls, in their order. */
export function recordsOf(acting: Acting, outcomes: Outcomes): ToolCallRecord[] {
  return acting.calls.map((call, index) => toRecord(acting, call, resultOf(call, outcomes[index] ?? interrupted())));
}

type Result = ToolOutcome & { type: 'result' };

/** Returns the result that is recorded for a call with that outcome. */
export function resultOf({ name }: ToolCall, outcome: ToolOutcome): Result {
  if (outcome.type === 'result') return outcome;
  const instead = outcome.type === 'lost' || outcome.isUnknown ? unknown(name) : running();
  return {
    ...instead,
    ...(outcome.recordedAt === undefined ? {} : { recordedAt: outcome.recordedAt }),
    ...(outcome.type === 'cancelled' && outcome.childRunId !== undefined ? { childRunId: outcome.childRunId } : {}),
  };
}

function isRecorded(outcome: ToolOutcome): boolean {
  return outcome.recordedAt !== undefined;
}

function toolResult({ toolCallId, name }: ToolCall, { status, content, spilled }: Result): ToolResult {
  return { type: 'tool_result', toolCallId, name, status, content, ...(spilled === undefined ? {} : { spilled }) };
}

function toRecord(
  { state, response }: Acting,
  call: ToolCall,
  { status, content, notRun, durationMs, spilled, verified, childRunId, hooks, recordedAt = '' }: Result,
): ToolCallRecord {
  const isError = status === 'error';
  const result = resultText(content);
  if (isError) noteError(state, result);
  const toolVersion = state.snapshot.tools.find(({ name }) => name === call.name)?.version;
  return {
    toolName: call.name,
    ...(toolVersion === undefined ? {} : { toolVersion }),
    callId: call.toolCallId,
    arguments:
      state.approvals.approved.find(({ callId }) => callId === call.toolCallId)?.arguments ?? asRewritten(response, call).arguments,
    result,
    isError,
    ...(notRun === undefined ? {} : { notRun }),
    durationMs,
    timestamp: recordedAt,
    ...(spilled === undefined ? {} : { spilled }),
    ...(verified === undefined ? {} : { verified }),
    ...(childRunId === undefined ? {} : { childRunId }),
    ...hooksOfCall(response, call, hooks),
  };
}
