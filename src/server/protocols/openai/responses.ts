import { z } from 'zod';
import type { LonghaulClient } from '../../../client/longhaul-client.ts';
import type { RunHandle } from '../../../client/run-handle.ts';
import type { ModelSettings } from '../../../core/domain/agent.ts';
import type { ContentItem, ContentPart, ToolCall } from '../../../core/domain/content.ts';
import { errorCode } from '../../../core/domain/errors.ts';
import { defined } from '../../../core/domain/json.ts';
import { REASONING_EFFORTS } from '../../../core/domain/reasoning-effort.ts';
import type { RunResult } from '../../../core/domain/result.ts';
import { isTerminal } from '../../../core/domain/run.ts';
import { hasScope, recordedName } from '../../auth/caller.ts';
import { knownAgent, valueWithin, whileWaiting } from '../../requests.ts';
import { defineRoute, flag, type Route, runParams } from '../../route.ts';
import { agentNameText, jsonObject, list, MOST, runIdText } from '../../schemas/values.ts';
import type { ServerSettings } from '../../server-options.ts';
import type { StreamMessage } from '../../streams.ts';
import { invalidValue, lastFinishOf, missing, OpenaiRefusal, runHeaders, unsupported } from './errors.ts';
import {
  type AnswerFormat,
  conversationOf,
  messageContent,
  messageContentOf,
  messagePart,
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
import {
  type RepeatedParameters,
  type ResponseBody,
  responseBody,
  type ResponseFacts,
  secondsOf,
  type WireEvent,
} from './response-body.ts';
import { type ResponseEventOptions, ResponseEvents } from './response-events.ts';
import { placeOf, type SequencePlace } from './response-text.ts';
import {
  agentOfModel,
  type AgentStart,
  answerSchema,
  awaitResult,
  readFacts,
  startAgent,
  streamedResponse,
  type StreamEncoder,
} from './running.ts';

const ID = 'createResponse';

const messageItem = z.object({
  type: z.literal('message').optional(),
  role: z.enum(['user', 'assistant', 'system', 'developer']),
  content: z.union([z.string(), list(messagePart, { max: MOST.parts })]),
});

const itemId = z.string().min(1);
const calledFunction = { name: itemId, arguments: z.string() };

/** An item of the input of a response, which may be an output item of an earlier response. */
const inputItem = z.discriminatedUnion('type', [
  messageItem,
  z.object({ type: z.literal('function_call'), call_id: itemId, ...calledFunction }),
  z.object({ type: z.literal('function_call_output'), call_id: itemId, output: messageContent }),
  z.object({ type: z.literal('mcp_call'), id: itemId, ...calledFunction, output: z.string().nullish(), error: z.unknown() }),
  z.object({ type: z.literal('reasoning') }),
]);

const responseInput = z.union([z.string(), list(inputItem, { min: 1, max: MOST.items })]);

export const responseParameters = z.object({
  model: agentNameText,
  input: responseInput.optional(),
  instructions: z.string().optional(),
  previous_response_id: runIdText.optional(),
  background: z.boolean().optional(),
  stream: z.boolean().default(false),
  stream_options: z.strictObject({ include_obfuscation: z.boolean().nullish() }).default({}),
  temperature: z.number().min(0).max(2).optional(),
  max_output_tokens: z.int().min(1).optional(),
  max_tool_calls: z.int().min(0).optional(),
  parallel_tool_calls: z.boolean().optional(),
  reasoning: z
    .strictObject({
      effort: z.enum(REASONING_EFFORTS).nullish(),
      summary: z.literal('auto').nullish(),
      generate_summary: z.literal('auto').nullish(),
    })
    .default({}),
  text: z
    .strictObject({
      format: z
        .discriminatedUnion('type', [
          z.object({ type: z.enum(['text', 'json_object']) }),
          z.object({
            type: z.literal('json_schema'),
            name: z.string().min(1).max(64).default('answer'),
            schema: jsonObject,
          }),
        ])
        .nullish(),
      verbosity: z.literal('medium').nullish(),
    })
    .default({}),
  metadata: metadata.optional(),
});

/** The parameters of Responses. */
const TABLE: ParameterTable = {
  own: Object.keys(responseParameters.shape),
  withoutEffect: NO_EFFECT,
  others: {
    // A run is always recorded.
    store: [true],
    include: [[]],
    tools: [[]],
    tool_choice: ['auto'],
    top_p: [1],
    top_logprobs: [0],
    truncation: ['disabled'],
    service_tier: ['auto', 'default'],
    context_management: [],
    conversation: [],
    prompt: [],
    moderation: [],
    image: [],
    access_programs: [],
  },
};

/** Answers a Responses request with an agent. */
export const createResponseRoute = defineRoute(
  {
    method: 'POST',
    path: '/v1/responses',
    id: ID,
    tag: 'agents',
    summary: 'Answer with an agent',
    scope: 'runs:write',
    counts: 'starts',
    body: jsonObject,
    idempotencyKey: 'The same key with the same body is the same run.',
    responses: { 200: { description: 'The response, or its events.', schema: jsonObject } },
    problems: [],
  },
  async ({ body: given, ...request }) => {
    const body = parsed(responseParameters, supportedParameters(given, TABLE));
    const agent = agentOfModel(request.settings, request.caller, body.model);
    requireFormat(agent, responseFormat(body), 'text.format');
    const opening = openingOf(body);
    const start = async (): Promise<ResponseFacts & { repeated: boolean }> => {
      const { runId, repeated, createdAt, parameters } = await started(body, () =>
        startAgent(request, {
          route: ID,
          body: given,
          agent,
          opening,
          settings: responseSettings(body),
          maxToolCalls: body.max_tool_calls,
          parameters: repeatedParameters(body),
          background: body.background,
        }),
      );
      return { runId, repeated, agent: body.model, createdAt, parameters, schema: answerSchema(agent) };
    };
    if (body.stream) {
      return streamedResponse({ ...request, scope: 'runs:write' }, async () => {
        const facts = await start();
        return { runId: facts.runId, encoder: responseEncoder(facts) };
      });
    }
    if (body.background) {
      const { repeated, ...facts } = await start();
      const response = repeated ? await readCurrentResponse(request.client, facts.runId, request.settings) : responseBody(facts, []);
      return { status: 200, headers: runHeaders(facts.runId), body: response };
    }
    return whileWaiting(request, async () => {
      const facts = await start();
      const handle = request.client.handle(facts.runId);
      const result = await awaitResult(handle, { ...request, steps: true });
      return { status: 200, headers: runHeaders(facts.runId), body: await readResponse(handle, facts, result) };
    });
  },
);

function openingOf({ input, instructions, previous_response_id: previous }: ResponseRequest): AgentStart['opening'] {
  const items = input === undefined ? [] : itemsOfInput(input);
  if (previous !== undefined) {
    if (instructions !== undefined) throw unsupported('instructions', 'not together with "previous_response_id": the agent has its own');
    return { previousRunId: previous, input: continuingInput(items) };
  }
  if (input === undefined && instructions === undefined) throw missing('input');
  const whole =
    instructions === undefined ? items : [{ type: 'message' as const, role: 'system' as const, content: instructions }, ...items];
  return conversationOf(whole, 'input');
}

/** Starts the run. If the earlier response cannot be continued, the error names its parameter. */
async function started<Outcome>({ previous_response_id: previous }: ResponseRequest, start: () => Promise<Outcome>): Promise<Outcome> {
  try {
    return await start();
  } catch (error) {
    const code = errorCode(error);
    if (previous === undefined || (code !== 'run_not_found' && code !== 'run_open')) throw error;
    const why = code === 'run_open' ? 'it is still in progress' : 'this caller has no response with this id';
    const openai = { param: 'previous_response_id', code: code === 'run_open' ? 'response_in_progress' : 'previous_response_not_found' };
    throw new OpenaiRefusal(code, `The earlier response cannot be continued: ${why}`, openai, { cause: error });
  }
}

type ResponseRequest = z.output<typeof responseParameters>;

/** Returns the format that the answer must have. */
function responseFormat({ text: { format } }: ResponseRequest): AnswerFormat {
  if (format == null) return { type: 'text' };
  return format.type === 'json_schema' ? { type: format.type, schema: format.schema } : { type: format.type };
}

function responseSettings(request: ResponseRequest): ModelSettings {
  const { temperature, max_output_tokens: most, parallel_tool_calls: parallel, reasoning } = request;
  return {
    ...defined({ temperature, maxOutputTokens: most, parallelToolCalls: parallel }),
    ...(reasoning.effort == null ? {} : { reasoningEffort: reasoning.effort }),
  };
}

function repeatedParameters(request: ResponseRequest): RepeatedParameters {
  const { metadata: given, background, previous_response_id: previous, temperature } = request;
  const { max_output_tokens: tokens, max_tool_calls: calls, parallel_tool_calls: parallel } = request;
  return {
    ...defined({
      metadata: given,
      background,
      previous_response_id: previous,
      temperature,
      max_output_tokens: tokens,
      max_tool_calls: calls,
      parallel_tool_calls: parallel,
    }),
    ...repeatedReasoning(request),
    ...repeatedFormat(request),
  };
}

function repeatedReasoning({ reasoning: { effort, summary, generate_summary: older } }: ResponseRequest): RepeatedParameters {
  const shown = summary ?? older;
  if (effort == null && shown == null) return {};
  return { reasoning: { ...(effort == null ? {} : { effort }), ...(shown == null ? {} : { summary: shown }) } };
}

function repeatedFormat({ text: { format } }: ResponseRequest): RepeatedParameters {
  if (format == null || format.type === 'text') return {};
  return { format: format.type === 'json_schema' ? { type: format.type, name: format.name } : { type: format.type } };
}

/** Returns the input of a request as items of a conversation. */
function itemsOfInput(input: z.output<typeof responseInput>): ContentItem[] {
  if (typeof input === 'string') return [{ type: 'message', role: 'user', content: input }];
  const calls = new Map<string, ToolCall>();
  const known = (call: ToolCall): ToolCall => {
    calls.set(call.toolCallId, call);
    return call;
  };
  return input.flatMap((item, index): ContentItem[] => {
    const param = `input[${index}]`;
    switch (item.type) {
      case undefined:
      case 'message':
        return messageItems(item, `${param}.content`);
      case 'function_call':
        return [known(toolCall(item.call_id, item.name, item.arguments, `${param}.arguments`))];
      case 'function_call_output': {
        const asked = calls.get(item.call_id);
        if (asked === undefined) throw invalidValue(`${param}.call_id`, `no item before has a call "${item.call_id}"`);
        return [toolResult(asked, plainTextOf(item.output, `${param}.output`))];
      }
      case 'mcp_call': {
        const call = toolCall(item.id, item.name, item.arguments, `${param}.arguments`);
        const error = item.error == null ? undefined : JSON.stringify(item.error);
        return [call, ...(error === undefined ? [toolResult(call, item.output ?? '')] : [toolResult(call, error, 'error')])];
      }
      case 'reasoning':
        // A run cannot continue with reasoning items.
        return [];
    }
  });
}

function messageItems({ role, content }: z.output<typeof messageItem>, param: string): ContentItem[] {
  if (content.length === 0) return [];
  if (role === 'user') return [{ type: 'message', role, content: messageContentOf(content, param) }];
  return [{ type: 'message', role: role === 'assistant' ? 'assistant' : 'system', content: plainTextOf(content, param) }];
}

/**
 * Returns the input of a run that continues the conversation of another one: the user's messages. Throws for anything else, which
 * already has its place in that conversation.
 */
function continuingInput(items: readonly ContentItem[]): string | ContentPart[] {
  const contents = items.map((item, index) => {
    if (item.type === 'message' && item.role === 'user') return item.content;
    throw unsupported(`input[${index}]`, 'with "previous_response_id" the input may only have messages of the user');
  });
  const [first] = contents;
  if (contents.length === 1 && first !== undefined) return first;
  if (contents.every((content) => typeof content === 'string')) return contents.join('\n\n');
  return contents.flatMap((content) => (typeof content === 'string' ? [{ type: 'text' as const, text: content }] : content));
}

const responseOrEvents = { 200: { description: 'The response, or its events.', schema: jsonObject } };

/** How long a cancellation waits for the end of the run, in milliseconds. */
const CANCEL_WAIT_MS = 10_000;

const getResponseRoute = defineRoute(
  {
    method: 'GET',
    path: '/v1/responses/{runId}',
    id: 'getResponse',
    tag: 'agents',
    summary: 'Read a response, or follow it from a place on',
    scope: 'runs:read',
    params: runParams,
    query: z.strictObject({
      stream: flag.exactOptional(),
      starting_after: z.string().exactOptional(),
      include_obfuscation: z.string().exactOptional(),
    }),
    responses: responseOrEvents,
    problems: [],
  },
  async ({ params: { runId }, query: { stream = false, starting_after: after }, settings, ...request }) => {
    if (!stream && after !== undefined) throw unsupported('starting_after', 'it needs "stream"');
    const place = placeAfter(after);
    if (stream) {
      return streamedResponse({ ...request, settings, scope: 'runs:read' }, async () => {
        const { hasEnded: _, ...facts } = await readResponseFacts(request.client, runId, settings);
        return { runId, encoder: responseEncoder(facts, { after: place }) };
      });
    }
    return { status: 200, headers: runHeaders(runId), body: await readCurrentResponse(request.client, runId, settings) };
  },
);

const cancelResponseRoute = defineRoute(
  {
    method: 'POST',
    path: '/v1/responses/{runId}/cancel',
    id: 'cancelResponse',
    tag: 'agents',
    summary: 'Cancel a response',
    scope: 'runs:write',
    params: runParams,
    responses: responseOrEvents,
    problems: [],
  },
  async ({ params: { runId }, caller, client, signal, settings }) => {
    const handle = client.handle(runId);
    await handle.cancel('cancelled over the OpenAI protocol', { by: recordedName(caller) });
    const result = await valueWithin(CANCEL_WAIT_MS, signal, (options) => handle.result({ ...options, steps: true }));
    const { hasEnded: _, ...facts } = await readResponseFacts(client, runId, settings);
    const headers = runHeaders(runId);
    // The right to cancel does not include reading the conversation.
    if (!hasScope(caller, 'runs:read')) {
      const lastFinish = result === undefined ? undefined : lastFinishOf(result);
      return { status: 200, headers, body: responseBody(facts, [], result, lastFinish) };
    }
    return { status: 200, headers, body: await readResponse(handle, facts, result) };
  },
);

function placeAfter(after: string | undefined): SequencePlace | undefined {
  if (after === undefined) return undefined;
  const place = /^\d+$/.test(after) ? placeOf(Number(after)) : undefined;
  if (place === undefined) throw invalidValue('starting_after', 'expected the "sequence_number" of an event of this response');
  return place;
}

/** The routes that read and cancel responses. */
export const RESPONSE_ROUTES: readonly Route[] = [getResponseRoute, cancelResponseRoute];

type Reading = Pick<RunHandle<unknown>, 'runId' | 'events' | 'status' | 'result'>;

/** Returns the facts about a run, however it was started. Throws `run_not_found` for a run of another principal. */
async function readResponseFacts(
  client: LonghaulClient,
  runId: string,
  settings: Pick<ServerSettings, 'agents'>,
): Promise<ResponseFacts & { hasEnded: boolean }> {
  const { agentName, startTime, status } = await client.handle(runId).status();
  const kept = await readFacts(client.temporal, runId);
  const { createdAt = secondsOf(startTime), parameters = {} } = kept ?? {};
  const schema = answerSchema(knownAgent(settings, agentName));
  return { runId, agent: agentName, createdAt, parameters, schema, hasEnded: isTerminal(status) };
}

/** Returns the current response of a run, whether or not it has ended. Throws `run_not_found` for a run of another principal. */
async function readCurrentResponse(client: LonghaulClient, runId: string, settings: Pick<ServerSettings, 'agents'>): Promise<ResponseBody> {
  const { hasEnded, ...facts } = await readResponseFacts(client, runId, settings);
  const handle = client.handle(runId);
  const result = hasEnded ? await handle.result({ steps: true }) : undefined;
  return readResponse(handle, facts, result);
}

/** Returns the recorded response of a run. `result`: with its steps. */
async function readResponse(handle: Reading, facts: ResponseFacts, result: RunResult<unknown> | undefined): Promise<ResponseBody> {
  const events = new ResponseEvents(facts);
  let offset = 0;
  for await (const event of handle.events()) {
    drain(events.take({ type: 'event', offset, event, cursor: '' }));
    offset += 1;
  }
  const last = result?.steps?.at(-1);
  if (last !== undefined) drain(events.take({ type: 'step', step: last, cursor: '' }));
  if (result !== undefined) drain(events.end(result));
  return events.response;
}

function drain(events: Iterable<unknown>): void {
  for (const _ of events);
}

function responseEncoder(facts: ResponseFacts, options: ResponseEventOptions = {}): StreamEncoder {
  const events = new ResponseEvents(facts, options);
  let last = 0;
  function* messages(made: Iterable<WireEvent>): Generator<StreamMessage> {
    for (const event of made) {
      last = event.sequence_number;
      yield { event: event.type, data: JSON.stringify(event) };
    }
  }
  return {
    begin: () => messages(events.begin()),
    take: (item) => messages(events.take(item)),
    end: () => [],
    // It has the number of the previous event, so a reader that reconnects misses nothing.
    fail: ({ code, message, param }) => [
      { event: 'error', data: JSON.stringify({ type: 'error', code, message, param, sequence_number: last }) },
    ],
  };
}
