import { randomUUID } from 'node:crypto';
import type { RunResult } from '../../../src/core/domain/run/run-result.ts';
import type { JsonObject, JsonValue } from '../../../src/core/domain/json/json.ts';
import { newRunResult } from '../../core/domain/new-run-result.ts';
import { outputText } from '../../../src/core/domain/content/output-text.ts';
import { TERMINAL_STATUSES, type TerminalStatus } from '../../../src/core/domain/run/run-status.ts';
import { hasToolCalls, newStep, newToolCallRecord, type StepResult, type ToolCallRecord } from '../../../src/core/domain/record/step.ts';
import { type AggregatedUsage, noUsage, type UsageStats } from '../../../src/core/domain/model/usage.ts';
import { toOurPart } from './content-notation.ts';
import { list, number, object, text } from './fields.ts';

/** A result built from the fields that a case gives; `steps` may be only their number. */
export function toOurResult(fields: JsonObject): RunResult {
  const { agent_name, run_id, steps, output, usage, duration_seconds, max_iterations, tool_calls_total, tool_calls_by_name, error } =
    fields;
  const counts = Object.entries(object(tool_calls_by_name ?? {})).map(([name, count]) => [name, number(count, 0)] as const);
  return newRunResult({
    runId: text(run_id) || randomUUID(),
    agentName: text(agent_name),
    ...status(fields['status']),
    output: Array.isArray(output) ? output.map(toOurPart) : text(output),
    steps: typeof steps === 'number' ? Array.from({ length: steps }, (_, index) => newStep(index + 1)) : list(steps).map(toOurStep),
    usage: { ...toOurTotals(object(usage ?? {})), ...('total_tokens' in fields ? { totalTokens: number(fields['total_tokens'], 0) } : {}) },
    toolCallsTotal: number(tool_calls_total, 0),
    toolCallsByName: Object.fromEntries(counts),
    durationSeconds: typeof duration_seconds === 'number' ? duration_seconds : null,
    error: typeof error === 'string' ? error : null,
    maxIterations: number(max_iterations, 0),
  });
}

function status(value: JsonValue | undefined): { status?: TerminalStatus } {
  const known = TERMINAL_STATUSES.find((one) => one === value);
  return known === undefined ? {} : { status: known };
}

function toOurTotals(usage: JsonObject): AggregatedUsage {
  const { prompt_tokens, completion_tokens, total_tokens, llm_calls } = usage;
  return {
    ...noUsage(),
    promptTokens: number(prompt_tokens, 0),
    completionTokens: number(completion_tokens, 0),
    totalTokens: number(total_tokens, 0),
    llmCalls: number(llm_calls, 0),
  };
}

/** A step of a case: its number alone, or its fields. */
export function toOurStep(value: JsonValue): StepResult {
  if (typeof value === 'number') return newStep(value);
  const { step, thought, tool_calls, usage, finish_reason } = object(value);
  return {
    ...newStep(number(step, 1)),
    ...(thought === undefined || thought === null ? {} : { thought: thoughtText(thought) }),
    ...(tool_calls === undefined ? {} : { toolCalls: list(tool_calls).map((call) => toOurRecord(object(call))) }),
    ...(usage === undefined || usage === null ? {} : { usage: toOurUsage(usage) }),
    ...(typeof finish_reason === 'string' ? { finishReason: finish_reason } : {}),
  };
}

function thoughtText(thought: JsonValue): string {
  return Array.isArray(thought) ? outputText(thought.map(toOurPart)) : text(thought);
}

function toOurRecord({ tool_name, call_id, arguments: args, result, is_error, duration_ms, timestamp }: JsonObject): ToolCallRecord {
  return {
    ...newToolCallRecord(text(tool_name), text(call_id), text(timestamp, new Date().toISOString())),
    ...(args === undefined ? {} : { arguments: object(args) }),
    ...(typeof result === 'string' ? { result } : {}),
    ...(typeof is_error === 'boolean' ? { isError: is_error } : {}),
    ...(typeof duration_ms === 'number' ? { durationMs: duration_ms } : {}),
  };
}

/** The usage of one call in a case: `[prompt, completion]`, or its fields. */
export function toOurUsage(value: JsonValue): UsageStats {
  const [prompt, completion, total] = Array.isArray(value) ? value : theirCounts(object(value));
  const promptTokens = number(prompt, 0);
  const completionTokens = number(completion, 0);
  return { promptTokens, completionTokens, totalTokens: number(total, promptTokens + completionTokens) };
}

function theirCounts({ prompt_tokens = 0, completion_tokens = 0, total_tokens }: JsonObject): JsonValue[] {
  return [prompt_tokens, completion_tokens, ...(total_tokens === undefined ? [] : [total_tokens])];
}

/** Totals in the notation of the cases. */
export function toTheirTotals({ llmCalls, ...usage }: AggregatedUsage): JsonObject {
  return { ...toTheirUsage(usage), llm_calls: llmCalls };
}

function toTheirUsage({ promptTokens, completionTokens, totalTokens }: UsageStats): JsonObject {
  return { prompt_tokens: promptTokens, completion_tokens: completionTokens, total_tokens: totalTokens };
}

/** A step in the notation of the cases, with what is derived from it. */
export function toTheirStep(step: StepResult): JsonObject {
  return {
    step: step.step,
    thought: step.thought,
    thought_text: step.thought,
    tool_calls: step.toolCalls.map((record) => ({
      tool_name: record.toolName,
      call_id: record.callId,
      arguments: record.arguments,
      result: record.result,
      is_error: record.isError,
      duration_ms: record.durationMs,
      timestamp: record.timestamp,
    })),
    usage: step.usage === null ? null : toTheirUsage(step.usage),
    finish_reason: step.finishReason,
    has_tool_calls: hasToolCalls(step),
  };
}

/** A result as the dictionary of the cases: every field, and what is derived. `output` is text. */
export function toTheirResult(result: RunResult<unknown>): JsonObject {
  const json = result.toJSON();
  return {
    run_id: json.runId,
    agent_name: json.agentName,
    output: json.outputText,
    output_text: json.outputText,
    has_media: json.hasMedia,
    media_types: json.mediaTypes,
    status: json.status,
    steps: (json.steps ?? []).map(toTheirStep),
    steps_used: json.stepsUsed,
    success: json.success,
    usage: toTheirTotals(json.usage),
    tool_calls_total: json.toolCallsTotal,
    tool_calls_by_name: json.toolCallsByName,
    start_time: json.startTime,
    end_time: json.endTime,
    duration_seconds: json.durationSeconds,
    error: json.error,
    max_iterations: json.maxIterations,
  };
}
