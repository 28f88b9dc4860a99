import type { ResponseError, ResponseOutputItem, ResponseUsage } from 'openai/resources/responses/responses';
import type { EndedRun } from '../answering/ended-run.ts';
import { addRunUsage, type AggregatedUsage } from '../../../../core/domain/model/usage.ts';
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
}

/** The facts about a run that its response shows from the beginning. */
export interface ResponseFacts {
  runId: string;
  agent: string;
  /** Seconds since the epoch. */
  createdAt: number;
  parameters: RepeatedParameters;
}

/** Returns the response of a run. Without a result it is in progress. */
export function responseBody(
  { runId, agent, createdAt, parameters }: ResponseFacts,
  output: ResponseOutputItem[],
  result?: EndedRun,
): ResponseBody {
  const { metadata = {}, background = false, parallel_tool_calls = true } = parameters;
  return {
    id: runId,
    object: 'response',
    created_at: createdAt,
    status: result === undefined ? 'in_progress' : responseStatus(result),
    background,
    completed_at: result?.status === 'completed' && result.endTime !== null ? secondsOf(result.endTime) : null,
    error: result === undefined ? null : responseError(result),
    incomplete_details: result === undefined ? null : incompleteDetails(result),
    instructions: null,
    max_output_tokens: parameters.max_output_tokens ?? null,
    max_tool_calls: parameters.max_tool_calls ?? null,
    metadata,
    model: agent,
    output,
    parallel_tool_calls,
    previous_response_id: parameters.previous_response_id ?? null,
    reasoning: null,
    temperature: parameters.temperature ?? null,
    text: { format: { type: 'text' } },
    tool_choice: 'auto',
    tools: [],
    top_p: null,
    truncation: 'disabled',
    ...(result === undefined ? {} : { usage: responseUsage(result) }),
  };
}

/** Returns a time as the API has it. */
export function secondsOf(time: string): number {
  return Math.floor(Date.parse(time) / 1_000);
}

/** Codes of runs whose answer was withheld. */
const WITHHELD = new Set(['content_filter', 'model_refusal', 'guardrail_tripped']);

/** True if a guardrail, the provider or the model itself withheld the answer. */
export function wasWithheld({ stopReason, errorCode }: Pick<EndedRun, 'stopReason' | 'errorCode'>): boolean {
  return stopReason === 'guardrail' || (errorCode !== undefined && WITHHELD.has(errorCode));
}

function responseStatus(result: EndedRun): NonNullable<ResponseBody['status']> {
  switch (result.status) {
    case 'completed':
      return 'completed';
    case 'cancelled':
      return 'cancelled';
    case 'max_iterations_reached':
      return 'incomplete';
    case 'error':
      return wasWithheld(result) ? 'incomplete' : 'failed';
  }
}

function incompleteDetails(result: EndedRun): ResponseBody['incomplete_details'] {
  if (responseStatus(result) !== 'incomplete') return null;
  return { reason: wasWithheld(result) ? 'content_filter' : 'max_output_tokens' };
}

function responseError(result: EndedRun): ResponseError | null {
  if (responseStatus(result) !== 'failed') return null;
  const { errorCode, error } = result;
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
