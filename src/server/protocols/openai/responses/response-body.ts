import type { ResponseError, ResponseFormatTextConfig, ResponseOutputItem, ResponseUsage } from 'openai/resources/responses/responses';
import { type EndedRun, wasCutOff, wasWithheld } from '../answering/ended-run.ts';
import { addRunUsage, type AggregatedUsage } from '../../../../core/domain/usage.ts';
import type { JsonObject } from '../../../../core/domain/json.ts';
import type { ResponseBody } from './wire-event.ts';

/** The parameters of a request that its response repeats. */
export interface RepeatedParameters {
  metadata?: Record<string, string>;
  background?: boolean;
  previous_response_id?: string;
  temperature?: number;
  max_output_tokens?: number;
  max_tool_calls?: number;
  parallel_tool_calls?: boolean;
  reasoning?: { effort?: string; summary?: 'auto' };
  /** Without the schema: that of the agent counts, and a memo is short. */
  format?: { type: 'json_object' } | { type: 'json_schema'; name: string };
}

/** The facts about a run that its response shows from the beginning. */
export interface ResponseFacts {
  runId: string;
  agent: string;
  /** Seconds since the epoch. */
  createdAt: number;
  parameters: RepeatedParameters;
  /** The schema of the answer, if the service lists an agent that has one. */
  schema: JsonObject | undefined;
}

/** Returns the response of a run. Without a result it is in progress. `lastFinish`: the reason for which the model ended its last answer. */
export function responseBody(
  { runId, agent, createdAt, parameters, schema }: ResponseFacts,
  output: ResponseOutputItem[],
  result?: EndedRun,
  lastFinish?: string,
): ResponseBody {
  const { metadata = {}, background = false, parallel_tool_calls = true } = parameters;
  return {
    id: runId,
    object: 'response',
    created_at: createdAt,
    ...(result === undefined ? NO_END : endOf(result, lastFinish)),
    background,
    instructions: null,
    max_output_tokens: parameters.max_output_tokens ?? null,
    max_tool_calls: parameters.max_tool_calls ?? null,
    metadata,
    model: agent,
    output,
    parallel_tool_calls,
    previous_response_id: parameters.previous_response_id ?? null,
    reasoning: (parameters.reasoning as ResponseBody['reasoning']) ?? null,
    temperature: parameters.temperature ?? null,
    text: { format: formatOf(parameters, schema) },
    tool_choice: 'auto',
    tools: [],
    top_p: null,
    truncation: 'disabled',
  };
}

function formatOf({ format }: RepeatedParameters, schema: JsonObject = {}): ResponseFormatTextConfig {
  if (format === undefined) return { type: 'text' };
  return format.type === 'json_schema' ? { ...format, schema } : format;
}

/** Returns a time as the API has it. */
export function secondsOf(time: string): number {
  return Math.floor(Date.parse(time) / 1_000);
}

type End = Pick<ResponseBody, 'status' | 'completed_at' | 'error' | 'incomplete_details' | 'usage'>;

const NO_END: End = { status: 'in_progress', completed_at: null, error: null, incomplete_details: null };

/** Returns the members of a response that follow from the end of its run. */
function endOf(result: EndedRun, lastFinish: string | undefined): End {
  const status = responseStatus(result, lastFinish);
  return {
    status,
    completed_at: status === 'completed' && result.endTime !== null ? secondsOf(result.endTime) : null,
    error: status === 'failed' ? responseError(result) : null,
    incomplete_details: status === 'incomplete' ? incompleteDetails(result) : null,
    usage: responseUsage(result),
  };
}

function responseStatus(result: EndedRun, lastFinish: string | undefined): NonNullable<ResponseBody['status']> {
  switch (result.status) {
    case 'completed':
      return wasCutOff(result, lastFinish) ? 'incomplete' : 'completed';
    case 'cancelled':
      return 'cancelled';
    case 'max_iterations_reached':
    case 'limit_reached':
      return 'incomplete';
    case 'error':
      return wasWithheld(result) ? 'incomplete' : 'failed';
  }
}

function incompleteDetails(result: EndedRun): ResponseBody['incomplete_details'] {
  return { reason: wasWithheld(result) ? 'content_filter' : 'max_output_tokens' };
}

function responseError({ errorCode, error }: EndedRun): ResponseError {
  const code = errorCode === 'model_rate_limited' ? 'rate_limit_exceeded' : 'server_error';
  return { code, message: error ?? 'The run has failed' };
}

/** Returns the usage of a run and of all runs below it. */
export function usageOf({ usage, below }: Pick<EndedRun, 'usage' | 'below'>): AggregatedUsage {
  return below === undefined ? usage : addRunUsage(usage, below.usage);
}

function responseUsage(result: EndedRun): ResponseUsage {
  const usage = usageOf(result);
  return {
    input_tokens: usage.promptTokens,
    input_tokens_details: { cached_tokens: usage.cachedTokens, cache_write_tokens: usage.cacheWriteTokens ?? 0 },
    output_tokens: usage.completionTokens,
    output_tokens_details: { reasoning_tokens: usage.reasoningTokens },
    total_tokens: usage.totalTokens,
  };
}
