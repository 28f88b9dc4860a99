import { randomUUID } from 'node:crypto';
import { type ContentItem, type ContentPart, outputText } from '../../../src/core/domain/content.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../../src/core/domain/json.ts';
import type { Event } from '../../../src/core/domain/record.ts';
import type { RunResult } from '../../../src/core/domain/result.ts';
import { TERMINAL_STATUSES, type TerminalStatus } from '../../../src/core/domain/run.ts';
import {
  type CallCounts,
  hasToolCalls,
  newStep,
  newToolCallRecord,
  requestedCalls,
  type StepResult,
  type ToolCallRecord,
} from '../../../src/core/domain/tool-calls.ts';
import { type AggregatedUsage, noUsage, type UsageStats } from '../../../src/core/domain/usage.ts';
import { newRunResult } from '../../core/domain/new-run-result.ts';
import { CaseProblem, flag, list, number, object, only, text } from './adapter.ts';

/** A content item of a case with its keys renamed and nothing else changed. */
export function toOurItem({ tool_call_id: toolCallId, ...item }: JsonObject): JsonObject {
  return toolCallId === undefined ? item : { ...item, toolCallId };
}

/** One of our content items in the notation of the cases. */
export function toTheirItem(item: ContentItem): JsonObject {
  switch (item.type) {
    case 'message':
      return { type: item.type, role: item.role, content: outputText(item.content) };
    case 'tool_call':
      return { type: item.type, tool_call_id: item.toolCallId, name: item.name, arguments: item.arguments };
    case 'tool_result': {
      const { type, toolCallId, name, status, content } = item;
      return { type, tool_call_id: toolCallId, name, status, content };
    }
  }
}

/** One of our events in the notation of the cases. */
export function toTheirEvent({ id, executionId, timestamp, author, content }: Event): JsonObject {
  // In the seed, a time is a number of seconds.
  return { id, execution_id: executionId, timestamp: Date.parse(timestamp) / 1000, author, content: content.map(toTheirItem) };
}

const PART = ['type', 'text', 'format', 'width', 'height', 'size'];

/** Translates a part of an output in a case: a text, or media with its type and its description. */
function toOurPart(part: JsonValue): ContentPart {
  if (!isJsonObject(part)) return { type: 'text', text: text(part) };
  const { type, text: said, format, width, height, size } = only('A part of an output', part, PART);
  const [sizeWidth = 0, sizeHeight = 0] = list(size);
  if (type === 'text') return { type, text: text(said) };
  if (type === 'image') return { type, url: '', width: number(width ?? sizeWidth, 0), height: number(height ?? sizeHeight, 0) };
  if (type === 'audio' || type === 'video') return { type, url: '', format: text(format) };
  throw new CaseProblem(`An output has a part of type ${JSON.stringify(type)}, which the adapter does not know`);
}

/** The fields of a result that a case may give. */
export const RESULT_FIELDS = [
  'agent_name',
  'run_id',
  'status',
  'steps',
  'output',
  'usage',
  'total_tokens',
  'duration_seconds',
  'max_iterations',
  'tool_calls_total',
  'tool_calls_by_name',
  'error',
];

/** Builds a result from the fields that a case gives; `steps` may be only their number. */
export function toOurResult(fields: JsonObject): RunResult {
  const { agent_name, run_id, steps, output, usage, duration_seconds, max_iterations, tool_calls_total, tool_calls_by_name, error } = only(
    'A result',
    fields,
    RESULT_FIELDS,
  );
  const counts = Object.entries(object(tool_calls_by_name ?? {})).map(([name, count]) => [name, number(count, 0)] as const);
  return newRunResult({
    runId: text(run_id) || randomUUID(),
    agentName: text(agent_name),
    ...givenStatus(fields['status']),
    output: Array.isArray(output) ? output.map(toOurPart) : text(output),
    steps: typeof steps === 'number' ? Array.from({ length: steps }, (_, index) => newStep(index + 1)) : list(steps).map(toOurStep),
    usage: { ...toOurTotals(usage ?? {}), ...('total_tokens' in fields ? { totalTokens: number(fields['total_tokens'], 0) } : {}) },
    toolCallsTotal: number(tool_calls_total, 0),
    toolCallsByName: Object.fromEntries(counts),
    durationSeconds: orNull(duration_seconds, (value) => number(value, 0)),
    error: orNull(error, text),
    limits: { steps: number(max_iterations, 0) },
  });
}

function orNull<Ours>(value: JsonValue | undefined, translate: (value: JsonValue) => Ours): Ours | null {
  return value === undefined || value === null ? null : translate(value);
}

function givenStatus(value: JsonValue | undefined): { status?: TerminalStatus } {
  if (value === undefined) return {};
  const known = TERMINAL_STATUSES.find((one) => one === value);
  if (known === undefined) throw new CaseProblem(`The case gives a status that no result has: ${JSON.stringify(value)}`);
  return { status: known };
}

const CALL_COUNTS = ['prompt_tokens', 'completion_tokens', 'total_tokens'];

function toOurTotals(usage: JsonValue): AggregatedUsage {
  const { prompt_tokens, completion_tokens, total_tokens, llm_calls } = only('The usage of a result', usage, [...CALL_COUNTS, 'llm_calls']);
  return {
    ...noUsage(),
    promptTokens: number(prompt_tokens, 0),
    completionTokens: number(completion_tokens, 0),
    totalTokens: number(total_tokens, 0),
    llmCalls: number(llm_calls, 0),
  };
}

/** Translates a step of a case: its number alone, or its fields. */
export function toOurStep(value: JsonValue): StepResult {
  if (typeof value === 'number') return newStep(value);
  const { step, thought, tool_calls, usage, finish_reason } = only('A step', value, [
    'step',
    'thought',
    'tool_calls',
    'usage',
    'finish_reason',
  ]);
  return {
    ...newStep(number(step, 1)),
    ...(thought === undefined || thought === null ? {} : { thought: thoughtText(thought) }),
    ...(tool_calls === undefined ? {} : { toolCalls: list(tool_calls).map(toOurRecord) }),
    ...(usage === undefined || usage === null ? {} : { usage: toOurUsage(usage) }),
    ...(finish_reason === undefined ? {} : { finishReason: text(finish_reason) }),
  };
}

function thoughtText(thought: JsonValue): string {
  return Array.isArray(thought) ? outputText(thought.map(toOurPart)) : text(thought);
}

const RECORD = ['tool_name', 'call_id', 'arguments', 'result', 'is_error', 'duration_ms', 'timestamp'];

function toOurRecord(record: JsonValue): ToolCallRecord {
  const { tool_name, call_id, arguments: args, result, is_error, duration_ms, timestamp } = only('A tool call record', record, RECORD);
  return {
    ...newToolCallRecord(text(tool_name), text(call_id), text(timestamp, new Date().toISOString())),
    ...(args === undefined ? {} : { arguments: object(args) }),
    ...(result === undefined ? {} : { result: text(result) }),
    ...(is_error === undefined ? {} : { isError: flag(is_error) }),
    ...(duration_ms === undefined ? {} : { durationMs: orNull(duration_ms, (value) => number(value, 0)) }),
  };
}

/** Translates the usage of one call in a case: `[prompt, completion]`, whose total is their sum, or its fields. */
export function toOurUsage(value: JsonValue): UsageStats {
  const [prompt, completion, total] = Array.isArray(value) ? value : theirCounts(value);
  const promptTokens = number(prompt, 0);
  const completionTokens = number(completion, 0);
  return { promptTokens, completionTokens, totalTokens: number(total, promptTokens + completionTokens) };
}

function theirCounts(usage: JsonValue): JsonValue[] {
  const { prompt_tokens = 0, completion_tokens = 0, total_tokens } = only('A usage', usage, CALL_COUNTS);
  return [prompt_tokens, completion_tokens, ...(total_tokens === undefined ? [] : [total_tokens])];
}

/** Totals in the notation of the cases. */
export function toTheirTotals({ llmCalls, ...usage }: AggregatedUsage): JsonObject {
  return { ...toTheirUsage(usage), llm_calls: llmCalls };
}

function toTheirUsage({ promptTokens, completionTokens, totalTokens }: UsageStats): JsonObject {
  return { prompt_tokens: promptTokens, completion_tokens: completionTokens, total_tokens: totalTokens };
}

/** A step in the notation of the cases, with its derived fields. */
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

function requestedByName({ toolCallsByName, toolCallsNotRun = {} }: CallCounts): JsonObject {
  const counts = new Map(Object.entries(toolCallsByName));
  for (const byName of Object.values(toolCallsNotRun))
    for (const [name, calls] of Object.entries(byName)) counts.set(name, (counts.get(name) ?? 0) + calls);
  return Object.fromEntries(counts);
}

/** A result as the dictionary of the cases: every field, and the derived fields. `output` is text. */
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
    // The seed counts what the model asked for.
    tool_calls_total: requestedCalls(json),
    tool_calls_by_name: requestedByName(json),
    start_time: json.startTime,
    end_time: json.endTime,
    duration_seconds: json.durationSeconds,
    error: json.error,
    max_iterations: json.maxIterations,
  };
}
