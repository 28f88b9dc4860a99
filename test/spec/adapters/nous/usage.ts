import type { JsonObject, JsonValue } from '../../../../src/core/domain/json.ts';
import { addReported, addUsage, type UsageStats } from '../../../../src/core/domain/usage.ts';
import { newToolCallRecord } from '../../../../src/core/domain/tool-calls.ts';
import { countToolCall, newRunState, type RunState } from '../../../../src/core/kernel/run-state.ts';
import { newSnapshot } from '../../../fakes/snapshot.ts';
import type { Operation } from '../adapter.ts';
import { list, number, only } from '../fields.ts';

/** Counters of several reports, added up in one run. */
export const addUsages: Operation = { input: ['usages'], expect: ['usage'], perform: addToRun };

const COUNTERS = [
  'requests',
  'tool_calls',
  'input_tokens',
  'output_tokens',
  'total_tokens',
  'cache_creation_input_tokens',
  'cache_read_input_tokens',
];

function addToRun({ usages }: JsonObject): JsonObject {
  const clock = { now: () => 0, uuid: () => 'id' };
  const state = newRunState({ runId: 'r', snapshot: newSnapshot(), input: '', startedAt: 0 }, clock);
  for (const usage of list(usages)) addReport(state, usage);
  return { usage: toTheirCounters(state) };
}

/** Adds the tokens of a report, and counts each of its requests and tool calls like one of a run. */
function addReport(state: RunState, usage: JsonValue): void {
  const { requests, tool_calls, ...tokens } = only('A usage', usage ?? {}, COUNTERS);
  state.usage = addReported(state.usage, toOurTokens(tokens));
  for (let request = 0; request < number(requests, 0); request += 1) state.usage = addUsage(state.usage, null);
  for (let call = 0; call < number(tool_calls, 0); call += 1) countToolCall(state, newToolCallRecord('tool', `call-${call}`, ''));
}

function toOurTokens(tokens: JsonObject): UsageStats {
  return {
    promptTokens: number(tokens['input_tokens'], 0),
    completionTokens: number(tokens['output_tokens'], 0),
    totalTokens: number(tokens['total_tokens'], 0),
    cachedTokens: number(tokens['cache_read_input_tokens'], 0),
    cacheWriteTokens: number(tokens['cache_creation_input_tokens'], 0),
  };
}

function toTheirCounters({ usage, toolCallsTotal }: RunState): JsonObject {
  return {
    requests: usage.llmCalls,
    tool_calls: toolCallsTotal,
    input_tokens: usage.promptTokens,
    output_tokens: usage.completionTokens,
    total_tokens: usage.totalTokens,
    cache_read_input_tokens: usage.cachedTokens,
    cache_creation_input_tokens: usage.cacheWriteTokens ?? 0,
  };
}
