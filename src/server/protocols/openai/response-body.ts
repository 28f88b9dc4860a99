import type {
  Response as OpenaiResponse,
  ResponseCompletedEvent,
  ResponseCreatedEvent,
  ResponseError,
  ResponseErrorEvent,
  ResponseFailedEvent,
  ResponseFormatTextConfig,
  ResponseIncompleteEvent,
  ResponseInProgressEvent,
  ResponseOutputItem,
  ResponseQueuedEvent,
  ResponseStreamEvent,
  ResponseUsage,
} from 'openai/resources/responses/responses';
import { outputText, type Source } from '../../../core/domain/content.ts';
import { canonicalJson, defined, type JsonObject, type JsonValue } from '../../../core/domain/json.ts';
import { type Event, isResponse } from '../../../core/domain/record.ts';
import { FINAL_ANSWER, resultText, RUN_CODE } from '../../../core/domain/tool-calls.ts';
import { addRunUsage, type AggregatedUsage } from '../../../core/domain/usage.ts';
import { type EndedRun, wasCutOff, wasWithheld } from './errors.ts';

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
  /** Without the schema: the agent's schema counts, and a memo is short. */
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

/** Returns the response of a run. Without a result it is in progress. `lastFinish`: why the model ended its last answer. */
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

/** Returns a time in the API's form: seconds since the epoch. */
export function secondsOf(time: string): number {
  return Math.floor(Date.parse(time) / 1_000);
}

type End = Pick<ResponseBody, 'status' | 'completed_at' | 'error' | 'incomplete_details' | 'usage'>;

const NO_END: End = { status: 'in_progress', completed_at: null, error: null, incomplete_details: null };

/** Returns the members of a response that depend on the end of its run. */
function endOf(result: EndedRun, lastFinish: string | undefined): End {
  const status = responseStatus(result, lastFinish);
  return {
    status,
    completed_at: status === 'completed' && result.endTime !== null ? secondsOf(result.endTime) : null,
    error: status === 'failed' ? responseError(result) : null,
    incomplete_details: status === 'incomplete' ? { reason: wasWithheld(result) ? 'content_filter' : 'max_output_tokens' } : null,
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

function responseError({ errorCode, error }: EndedRun): ResponseError {
  const code = errorCode === 'model_rate_limited' ? 'rate_limit_exceeded' : 'server_error';
  return { code, message: error ?? 'The run has failed' };
}

/** Returns the usage of a run and all its descendants. */
export function usageOf({ usage, descendants }: Pick<EndedRun, 'usage' | 'descendants'>): AggregatedUsage {
  return descendants === undefined ? usage : addRunUsage(usage, descendants.usage);
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

/** A part of the record that the output of a response shows. */
export type OutputEntry =
  /**
   * The model's text. `mayBeAnswer`: it has called nothing, so this may be the answer. `isGuarded`: nothing of it is shown before
   * the agent's checks have passed it.
   */
  | {
      type: 'message';
      eventId: string;
      text: string;
      sources?: readonly Source[];
      mayBeAnswer: boolean;
      isInterrupted: boolean;
      isGuarded: boolean;
    }
  | { type: 'call'; callId: string; name: string; arguments: string }
  | { type: 'result'; callId: string; output: string; isError: boolean }
  /** The conversation continues: the model's earlier text was not the answer. */
  | { type: 'input' };

/** Returns the parts of the output in an event. Calls made by code are not for the model, and so not for its caller. */
export function entriesOf(event: Event): OutputEntry[] {
  if (event.given || event.caller === 'code' || event.compaction !== undefined || event.memory !== undefined) return [];
  const isOfModel = isResponse(event);
  const isGuarded = event.guarded === true;
  const calls = event.content.some((item) => item.type === 'tool_call' && !(isGuarded && mayGiveAnswer(item.name)));
  return event.content.flatMap((item): OutputEntry[] => {
    switch (item.type) {
      case 'message': {
        if (item.role !== 'assistant') return item.role === 'user' ? [{ type: 'input' }] : [];
        const text = outputText(item.content);
        const isInterrupted = event.interrupted === true;
        // No check passes a partial answer.
        if (!isOfModel || text === '' || (isGuarded && isInterrupted)) return [];
        const mayBeAnswer = !calls && !isInterrupted;
        return [
          { type: 'message', eventId: event.id, text, ...defined({ sources: event.sources }), mayBeAnswer, isInterrupted, isGuarded },
        ];
      }
      case 'tool_call':
        if (item.name === FINAL_ANSWER || (isGuarded && mayGiveAnswer(item.name)) || !isOfModel) return [];
        return [{ type: 'call', callId: item.toolCallId, name: item.name, arguments: JSON.stringify(item.arguments) }];
      case 'tool_result':
        if (item.name === FINAL_ANSWER) return [];
        return [{ type: 'result', callId: item.toolCallId, output: resultText(item.content), isError: item.status === 'error' }];
    }
  });
}

/** The place of a page in a text of the API. */
interface UrlCitation {
  url: string;
  title: string;
  start_index: number;
  end_index: number;
}

/**
 * Returns the pages among the sources of a text. `from`: the length of the text before it. A page with an unknown place is cited by the
 * whole text: the API has no other way.
 */
export function urlCitations(text: string, sources: readonly Source[] = [], from = 0): UrlCitation[] {
  return sources.flatMap(({ url, title = '', start = 0, end = text.length }): UrlCitation[] =>
    url === undefined ? [] : [{ url, title, start_index: from + start, end_index: from + end }],
  );
}

/** True for a call that may hold the answer: code may return it. */
function mayGiveAnswer(name: string): boolean {
  return name === FINAL_ANSWER || name === RUN_CODE;
}

/** True if a text of the model is the output of its run: unchanged, or as the JSON of a value. */
export function isOutput(text: string, output: unknown): boolean {
  if (outputText(output) === text) return true;
  if (typeof output === 'string' || output === null || output === undefined) return false;
  try {
    return canonicalJson(JSON.parse(text) as JsonValue) === canonicalJson(JSON.parse(JSON.stringify(output)) as JsonValue);
  } catch {
    return false;
  }
}

/** A response as the service sends it. The package adds `output_text`. */
export type ResponseBody = Omit<OpenaiResponse, 'output_text' | 'access_programs'>;

type OfLife =
  | ResponseCompletedEvent
  | ResponseCreatedEvent
  | ResponseFailedEvent
  | ResponseIncompleteEvent
  | ResponseInProgressEvent
  | ResponseQueuedEvent;

type Without<Value, Key extends string> = Value extends unknown ? Omit<Value, Key> : never;

/** An event about an item of the output, without its number. */
export type ItemEvent = Without<Exclude<ResponseStreamEvent, OfLife | ResponseErrorEvent>, 'sequence_number'>;

/** An event about the whole response, without its number. */
export interface LifeEvent {
  type: OfLife['type'];
  response: ResponseBody;
}

/** An event of the stream of a response. */
export type WireEvent = (ItemEvent | LifeEvent) & { sequence_number: number };
