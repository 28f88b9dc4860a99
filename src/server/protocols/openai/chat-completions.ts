import type { ChatCompletion, ChatCompletionChunk, ChatCompletionMessage } from 'openai/resources/chat/completions';
import type { CompletionUsage } from 'openai/resources/completions';
import { z } from 'zod';
import type { RunHandle } from '../../../client/run-handle.ts';
import type { StreamItem } from '../../../client/stream/stream-item.ts';
import { type AnswerChange, AnswerReducer } from '../../../client/stream/stream-view.ts';
import type { ModelSettings } from '../../../core/domain/agent.ts';
import { type ContentItem, outputText, type ToolCall } from '../../../core/domain/content.ts';
import { errorCode } from '../../../core/domain/errors.ts';
import { defined } from '../../../core/domain/json.ts';
import { REASONING_EFFORTS } from '../../../core/domain/reasoning-effort.ts';
import { type Event, isResponse } from '../../../core/domain/record.ts';
import { isLimitStatus } from '../../../core/domain/run.ts';
import { whileWaiting } from '../../requests.ts';
import { defineRoute } from '../../route.ts';
import { agentNameText, jsonObject, list, MOST } from '../../schemas/values.ts';
import type { StreamMessage } from '../../streams.ts';
import {
  type EndedRun,
  invalidValue,
  lastFinishOf,
  modelRefusal,
  runFailed,
  runHeaders,
  streamSuperseded,
  unsupported,
  waitTimedOut,
  wasBlocked,
  wasCutOff,
  wasWithheld,
} from './errors.ts';
import {
  type AnswerFormat,
  conversationOf,
  messageContent,
  messageContentOf,
  metadata,
  NO_EFFECT,
  type ParameterTable,
  parsed,
  plainTextOf,
  requireFormat,
  supportedParameters,
  toolCall,
  toolResult,
} from './parameters.ts';
import { entriesOf, isOutput, type OutputEntry, urlCitations, usageOf } from './response-body.ts';
import { agentOfModel, awaitResult, startAgent, streamedResponse, type StreamEncoder } from './running.ts';

const ID = 'createChatCompletion';

const calledTool = z.object({
  id: z.string().min(1),
  type: z.string(),
  function: z.object({ name: z.string().min(1), arguments: z.string() }).optional(),
});

/** A message of Chat Completions. */
const chatMessage = z.discriminatedUnion('role', [
  z.object({ role: z.enum(['system', 'developer']), content: messageContent }),
  z.object({ role: z.literal('user'), content: messageContent }),
  z.object({
    role: z.literal('assistant'),
    content: messageContent.nullish(),
    refusal: z.string().nullish(),
    tool_calls: list(calledTool, { max: MOST.parts }).nullish(),
  }),
  z.object({ role: z.literal('tool'), tool_call_id: z.string().min(1), content: messageContent }),
]);

export const chatParameters = z.object({
  model: agentNameText,
  messages: list(chatMessage, { min: 1, max: MOST.items }),
  stream: z.boolean().default(false),
  stream_options: z.strictObject({ include_usage: z.boolean().nullish(), include_obfuscation: z.boolean().nullish() }).default({}),
  temperature: z.number().min(0).max(2).optional(),
  max_tokens: z.int().min(1).optional(),
  max_completion_tokens: z.int().min(1).optional(),
  parallel_tool_calls: z.boolean().optional(),
  reasoning_effort: z.enum(REASONING_EFFORTS).optional(),
  response_format: z
    .discriminatedUnion('type', [
      z.object({ type: z.enum(['text', 'json_object']) }),
      z.object({ type: z.literal('json_schema'), json_schema: z.object({ schema: jsonObject.optional() }) }),
    ])
    .default({ type: 'text' }),
  metadata: metadata.default({}),
});

/** The parameters of Chat Completions. */
const TABLE: ParameterTable = {
  own: Object.keys(chatParameters.shape),
  // `store` is about the provider's dashboards: a run is always recorded.
  withoutEffect: [...NO_EFFECT, 'store'],
  others: {
    n: [1],
    top_p: [1],
    frequency_penalty: [0],
    presence_penalty: [0],
    logprobs: [false],
    top_logprobs: [0],
    logit_bias: [{}],
    modalities: [['text']],
    stop: [[]],
    tools: [[]],
    tool_choice: ['auto'],
    functions: [[]],
    function_call: ['auto'],
    verbosity: ['medium'],
    service_tier: ['auto', 'default'],
    seed: [],
    audio: [],
    prediction: [],
    web_search_options: [],
    moderation: [],
  },
};

/**
 * Turns the stream of a run, from its beginning, into the chunks of a completion. Text is sent as it arrives, and cannot be withdrawn:
 * throws `stream_superseded` if the run records something other than what was sent.
 */
export class CompletionChunks {
  readonly #facts: CompletionFacts;
  readonly #options: ChunkOptions;
  readonly #answers = new AnswerReducer();
  /** True: text was sent that the model's last answer does not have. It belongs to a refusal if the run ends with one. */
  #hasUnrecorded = false;
  #hasSent = false;
  /** A guarded text that may be the answer: it is sent once the run has continued, which shows that it was not. */
  #held: string | undefined;
  #lastText: string | undefined;
  /** The last text that may be the answer, with its sources. */
  #cited: Message | undefined;
  /** The length of the text so far. */
  #length = 0;
  #lastFinish: string | undefined;

  constructor(facts: CompletionFacts, options: ChunkOptions) {
    this.#facts = facts;
    this.#options = options;
  }

  /** Begins the stream. */
  *begin(): Generator<ChatCompletionChunk> {
    yield this.#chunk({ role: 'assistant', content: '' });
  }

  /** Makes the chunks for an item of the run's stream. */
  *take(item: StreamItem): Generator<ChatCompletionChunk> {
    for (const change of this.#answers.take(item)) yield* this.#chunks(change);
  }

  *#chunks(change: AnswerChange): Generator<ChatCompletionChunk> {
    const sent = this.#options.answerAlone || !('answer' in change) ? '' : (change.answer?.text ?? '');
    switch (change.type) {
      case 'reasoning':
        return yield this.#chunk({ reasoning_content: change.text });
      case 'text':
        if (this.#options.answerAlone) return;
        if (sent !== '') return yield* this.#text(change.text);
        this.#requireRecorded();
        return yield* this.#words(change.text);
      case 'reset':
        return this.#requireRecorded(sent);
      case 'settled':
        return yield* this.#event(change.event, sent);
      case 'step':
        this.#lastFinish = change.step.finishReason;
        return;
      case 'end':
        return yield* this.#end(change.result, sent);
      case 'call_begins':
      case 'call_arguments':
      case 'data':
      case 'sent_back':
        return;
    }
  }

  /** `sent`: the text of the event that was already sent. */
  *#event(event: Event, sent: string): Generator<ChatCompletionChunk> {
    const entries = entriesOf(event);
    const messages = entries.filter((entry) => entry.type === 'message');
    if (entries.some(({ type }) => type !== 'result')) yield* this.#release();
    for (const [index, message] of messages.entries()) {
      const { text, mayBeAnswer, isGuarded } = message;
      this.#cited = mayBeAnswer ? message : undefined;
      this.#lastText = mayBeAnswer && !isGuarded ? text : undefined;
      if (this.#options.answerAlone) continue;
      if (mayBeAnswer && isGuarded) {
        this.#requireRecorded(sent);
        this.#held = text;
        continue;
      }
      const before = index === 0 ? sent : '';
      this.#requireBeginning(before, text, mayBeAnswer);
      const rest = text.slice(before.length);
      if (rest !== '') yield* before === '' ? this.#words(rest) : this.#text(rest);
    }
    if (messages.length > 0) return;
    if (isResponse(event)) this.#requireBeginning(sent, '', !event.content.some(({ type }) => type === 'tool_call'));
    else if (sent !== '') this.#hasUnrecorded = true;
  }

  *#release(): Generator<ChatCompletionChunk> {
    const held = this.#held;
    this.#held = undefined;
    if (held !== undefined) yield* this.#words(held);
  }

  /** Throws if text was sent that the run has not recorded. `sent`: the sent text of the answer in flight. */
  #requireRecorded(sent = ''): void {
    if (this.#hasUnrecorded || sent !== '') throw streamSuperseded();
  }

  /**
   * Throws if the text of an event does not begin with what was sent of it. `mayBeRefusal`: sent text beyond the event's may be a
   * refusal, which no event has. Only the end of the run shows whether it is one.
   */
  #requireBeginning(sent: string, text: string, mayBeRefusal: boolean): void {
    this.#requireRecorded();
    if (text.startsWith(sent)) return;
    if (!mayBeRefusal || !sent.startsWith(text)) throw streamSuperseded();
    this.#hasUnrecorded = true;
  }

  *#end(result: EndedRun, sent: string): Generator<ChatCompletionChunk> {
    const refusal = modelRefusal(result);
    if (refusal === undefined) this.#requireRecorded(sent);
    const reason = finishReason(result, this.#lastFinish);
    if (reason === undefined) throw runFailed(result);
    if (refusal === undefined) {
      yield* this.#answer(result);
      const annotations = annotationsOf(this.#cited, result, this.#length);
      if (annotations.length > 0) yield this.#chunk({ annotations });
    } else yield this.#chunk({ refusal });
    yield this.#chunk({}, reason);
    if (!this.#options.includeUsage) return;
    yield { ...this.#chunk({}), choices: [], usage: completionUsage(result) };
  }

  /** Sends the answer, unless it was sent as it arrived. */
  *#answer(result: EndedRun): Generator<ChatCompletionChunk> {
    const isSent = !this.#options.answerAlone && this.#lastText !== undefined && isOutput(this.#lastText, result.output);
    const isTold = result.status === 'completed' || wasBlocked(result) || this.#options.answerAlone;
    if (!isTold || isSent) return;
    const text = outputText(result.output);
    if (text !== '') yield* this.#words(text);
  }

  /** Sends a separate text, after the texts that were sent. */
  *#words(text: string): Generator<ChatCompletionChunk> {
    yield* this.#text(this.#hasSent ? `${BETWEEN}${text}` : text);
  }

  *#text(content: string): Generator<ChatCompletionChunk> {
    this.#hasSent = true;
    this.#length += content.length;
    yield this.#chunk({ content });
  }

  #chunk(delta: ChunkDelta, reason: ChatCompletionChunk.Choice['finish_reason'] = null): ChatCompletionChunk {
    const { runId, agent, createdAt } = this.#facts;
    return {
      id: runId,
      object: 'chat.completion.chunk',
      created: createdAt,
      model: agent,
      choices: [{ index: 0, delta, finish_reason: reason, logprobs: null }],
      ...(this.#options.includeUsage ? { usage: null } : {}),
    };
  }
}

/** Answers a Chat Completions conversation with an agent. */
export const chatRoute = defineRoute(
  {
    method: 'POST',
    path: '/v1/chat/completions',
    id: ID,
    tag: 'agents',
    summary: 'Answer a conversation with an agent',
    scope: 'runs:write',
    counts: 'starts',
    body: jsonObject,
    idempotencyKey: 'The same key with the same body is the same run.',
    responses: { 200: { description: 'The completion, or its chunks.', schema: jsonObject } },
    problems: [],
  },
  async ({ body: given, ...request }) => {
    const body = parsed(chatParameters, supportedParameters(given, TABLE));
    const agent = agentOfModel(request.settings, request.caller, body.model);
    const format = chatFormat(body);
    requireFormat(agent, format, 'response_format');
    const start = async (): Promise<CompletionFacts> => {
      const { runId, createdAt } = await startAgent(request, {
        route: ID,
        body: given,
        agent,
        opening: conversationOf(itemsOfMessages(body.messages), 'messages'),
        settings: chatSettings(body),
        parameters: { metadata: body.metadata },
      });
      return { runId, agent: body.model, createdAt };
    };
    if (body.stream) {
      const answerAlone = format.type !== 'text';
      const options = { includeUsage: body.stream_options.include_usage ?? false, answerAlone };
      return streamedResponse({ ...request, scope: 'runs:write' }, async () => {
        const facts = await start();
        return { runId: facts.runId, encoder: chatEncoder(facts, options) };
      });
    }
    return whileWaiting(request, async () => {
      const facts = await start();
      const handle = request.client.handle(facts.runId);
      const result = await awaitResult(handle, { ...request, steps: true });
      if (result === undefined) throw await waitTimedOut(handle, request);
      const cited = result.status === 'completed' ? await lastMessage(handle) : undefined;
      return {
        status: 200,
        headers: runHeaders(facts.runId),
        body: completionOf({ ...facts, ...defined({ cited }) }, result, lastFinishOf(result)),
      };
    });
  },
);

function chatEncoder(facts: CompletionFacts, options: ChunkOptions): StreamEncoder {
  const chunks = new CompletionChunks(facts, options);
  return {
    begin: () => streamMessages(chunks.begin()),
    take: (item) => streamMessages(chunks.take(item)),
    end: () => [{ data: '[DONE]' }],
    fail: (error) => [{ data: JSON.stringify({ error }) }],
  };
}

function* streamMessages(chunks: Iterable<ChatCompletionChunk>): Generator<StreamMessage> {
  for (const chunk of chunks) yield { data: JSON.stringify(chunk) };
}

/** A request for a completion. */
type ChatBody = z.output<typeof chatParameters>;

/** Returns the format that the answer must have. */
function chatFormat({ response_format: format }: ChatBody): AnswerFormat {
  if (format.type !== 'json_schema') return { type: format.type };
  return { type: format.type, schema: format.json_schema.schema };
}

function chatSettings(body: ChatBody): ModelSettings {
  const { temperature, parallel_tool_calls: parallel, reasoning_effort: effort } = body;
  const most = body.max_completion_tokens ?? body.max_tokens;
  return defined({ temperature, maxOutputTokens: most, parallelToolCalls: parallel, reasoningEffort: effort });
}

/** The options of the chunks of a completion. */
interface ChunkOptions {
  includeUsage: boolean;
  /** True to send only the answer, once the run has ended with it: it is JSON. */
  answerAlone: boolean;
}

/** A piece of text, or of the reasoning before it, which the API lacks and other servers add under this name. */
type ChunkDelta = ChatCompletionChunk.Choice.Delta & { reasoning_content?: string; annotations?: ChatCompletionMessage.Annotation[] };

type Message = OutputEntry & { type: 'message' };

/** Returns the pages that a run's answer cites, if it is this text. `length`: the length of all text up to its end. */
function annotationsOf(cited: Message | undefined, result: EndedRun, length?: number): ChatCompletionMessage.Annotation[] {
  if (cited?.sources === undefined || result.status !== 'completed' || !isOutput(cited.text, result.output)) return [];
  const text = outputText(result.output);
  // The places refer to the model's text, which may be differently formatted JSON.
  const sources = text === cited.text ? cited.sources : cited.sources.map(({ start: _, end: __, ...source }) => source);
  const from = Math.max(0, (length ?? text.length) - text.length);
  return urlCitations(text, sources, from).map((url_citation) => ({ type: 'url_citation', url_citation }));
}

/** The number of events at the end of a record that are read to find the answer. */
const LAST_EVENTS = 20;

/**
 * Returns the last text of a run that may be its answer. Reads only the end of the record, so a long run costs no more than a short one,
 * and a run whose beginning the server has removed still has an answer.
 */
async function lastMessage(handle: Pick<RunHandle<unknown>, 'context'>): Promise<Message | undefined> {
  const { total } = await handle.context({ from: Number.MAX_SAFE_INTEGER });
  try {
    for (let until = total; until > 0;) {
      const from = Math.max(0, until - LAST_EVENTS);
      const entries = (await eventsIn(handle, { from, until })).flatMap(entriesOf);
      const last = entries.findLast((entry) => entry.type === 'message');
      if (last !== undefined) return last.mayBeAnswer ? last : undefined;
      until = from;
    }
  } catch (error) {
    if (errorCode(error) !== 'history_removed') throw error;
  }
  return undefined;
}

/** Reads the events of a part of a record. */
async function eventsIn(handle: Pick<RunHandle<unknown>, 'context'>, { from, until }: { from: number; until: number }): Promise<Event[]> {
  const events: Event[] = [];
  while (from + events.length < until) {
    const page = await handle.context({ from: from + events.length });
    if (page.events.length === 0) break;
    events.push(...page.events);
  }
  return events.slice(0, until - from);
}

/** The line between the texts of two answers of the model. */
const BETWEEN = '\n\n';

/** The facts about a run that every part of its completion repeats. */
interface CompletionFacts {
  runId: string;
  agent: string;
  /** Seconds since the epoch. */
  createdAt: number;
}

/** Returns the completion of an ended run. Throws the error of a run that has failed or was cancelled. */
function completionOf(
  { runId, agent, createdAt, cited }: CompletionFacts & { cited?: Message },
  result: EndedRun,
  lastFinish: string | undefined,
): ChatCompletion {
  const reason = finishReason(result, lastFinish);
  if (reason === undefined) throw runFailed(result);
  const refusal = modelRefusal(result);
  const annotations = annotationsOf(cited, result);
  const message = {
    role: 'assistant' as const,
    content: refusal === undefined ? outputText(result.output) : null,
    refusal: refusal ?? null,
    ...(annotations.length === 0 ? {} : { annotations }),
  };
  return {
    id: runId,
    object: 'chat.completion',
    created: createdAt,
    model: agent,
    choices: [{ index: 0, message, finish_reason: reason, logprobs: null }],
    usage: completionUsage(result),
  };
}

/**
 * Returns why a completion ends, or undefined if its run has failed or was cancelled, which is an error. `lastFinish`: why the model
 * ended its last answer.
 */
function finishReason(result: EndedRun, lastFinish: string | undefined): ChatCompletion.Choice['finish_reason'] | undefined {
  if (wasWithheld(result)) return 'content_filter';
  if (result.status === 'completed') return wasCutOff(result, lastFinish) ? 'length' : 'stop';
  return isLimitStatus(result.status) ? 'length' : undefined;
}

/** Returns the usage of a run and all its descendants. */
function completionUsage(result: Pick<EndedRun, 'usage' | 'descendants'>): CompletionUsage {
  const usage = usageOf(result);
  return {
    prompt_tokens: usage.promptTokens,
    completion_tokens: usage.completionTokens,
    total_tokens: usage.totalTokens,
    prompt_tokens_details: { cached_tokens: usage.cachedTokens },
    completion_tokens_details: { reasoning_tokens: usage.reasoningTokens },
  };
}

/** Returns the messages of a request as items of a conversation. */
function itemsOfMessages(messages: readonly z.output<typeof chatMessage>[]): ContentItem[] {
  const calls = new Map<string, ToolCall>();
  return messages.flatMap((message, index): ContentItem[] => {
    const param = `messages[${index}]`;
    const at = `${param}.content`;
    switch (message.role) {
      case 'system':
      case 'developer':
        return [{ type: 'message', role: 'system', content: plainTextOf(message.content, at) }];
      case 'user':
        return [{ type: 'message', role: 'user', content: messageContentOf(message.content, at) }];
      case 'assistant': {
        const text = message.content == null ? (message.refusal ?? '') : plainTextOf(message.content, at);
        const asked = (message.tool_calls ?? []).map((one, number) => callOf(one, `${param}.tool_calls[${number}]`));
        for (const one of asked) calls.set(one.toolCallId, one);
        return [...(text === '' ? [] : [{ type: 'message' as const, role: 'assistant' as const, content: text }]), ...asked];
      }
      case 'tool': {
        const asked = calls.get(message.tool_call_id);
        if (asked === undefined) throw invalidValue(`${param}.tool_call_id`, `no message before has a call "${message.tool_call_id}"`);
        return [toolResult(asked, plainTextOf(message.content, at))];
      }
    }
  });
}

function callOf({ id, function: called }: z.output<typeof calledTool>, param: string): ToolCall {
  if (called === undefined) throw unsupported(param, 'only calls of type "function" are');
  return toolCall(id, called.name, called.arguments, `${param}.function.arguments`);
}
