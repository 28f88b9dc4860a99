import { z } from 'zod';
import type { ModelSettings } from '../../../../core/domain/agent.ts';
import { errorCode } from '../../../../core/domain/errors.ts';
import { whileWaiting } from '../../../limits/while-waiting.ts';
import { defineRoute } from '../../../routing/route.ts';
import { agentNameText, jsonObject, runIdText } from '../../../schemas/json.ts';
import { awaitResult } from '../answering/await-result.ts';
import { runHeaders } from '../answering/run-headers.ts';
import { streamedResponse } from '../answering/streamed.ts';
import { missing, OpenaiRefusal, unsupported } from '../errors/openai-refusal.ts';
import { conversationOf } from '../input/conversation.ts';
import { continuingInput, itemsOfInput, responseInput } from '../input/response-input.ts';
import { type AnswerFormat, requireFormat } from '../parameters/answer-format.ts';
import { parsed } from '../parameters/parsed.ts';
import { metadata, NO_EFFECT } from '../parameters/shared-parameters.ts';
import { type ParameterTable, supportedParameters } from '../parameters/supported-parameters.ts';
import { agentOfModel, answerSchema } from '../starting/model-agent.ts';
import { type AgentStart, startAgent } from '../starting/start-agent.ts';
import { readCurrentResponse, readResponse } from './read-response.ts';
import { type RepeatedParameters, responseBody, type ResponseFacts } from './response-body.ts';
import { responseEncoder } from './response-encoder.ts';

const ID = 'createResponse';

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
    .strictObject({ effort: z.string().nullish(), summary: z.literal('auto').nullish(), generate_summary: z.literal('auto').nullish() })
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

/** Answers with an agent, as Responses has it. */
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
    const body = readResponseRequest(given);
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

/** Starts, and names the parameter of an earlier response that cannot be gone on with. */
async function started<Outcome>({ previous_response_id: previous }: ResponseRequest, start: () => Promise<Outcome>): Promise<Outcome> {
  try {
    return await start();
  } catch (error) {
    const code = errorCode(error);
    if (previous === undefined || (code !== 'run_not_found' && code !== 'run_open')) throw error;
    const why = code === 'run_open' ? 'it is still in progress' : 'this caller has none of that id';
    const openai = { param: 'previous_response_id', code: code === 'run_open' ? 'response_in_progress' : 'previous_response_not_found' };
    throw new OpenaiRefusal(code, `The earlier response cannot be gone on with: ${why}`, openai, { cause: error });
  }
}

/** A request for a response. */
type ResponseRequest = z.output<typeof responseParameters>;

/** Reads the body of a request. Throws for parameters that are not supported. */
function readResponseRequest(body: unknown): ResponseRequest {
  return parsed(responseParameters, supportedParameters(body, TABLE));
}

/** Returns the format that the answer must have. */
function responseFormat({ text: { format } }: ResponseRequest): AnswerFormat {
  if (format == null) return { type: 'text' };
  return format.type === 'json_schema' ? { type: format.type, schema: format.schema } : { type: format.type };
}

/** Returns the settings of the model that a request has. */
function responseSettings(request: ResponseRequest): ModelSettings {
  const { temperature, max_output_tokens: most, parallel_tool_calls: parallel, reasoning } = request;
  return {
    ...(temperature === undefined ? {} : { temperature }),
    ...(most === undefined ? {} : { maxOutputTokens: most }),
    ...(parallel === undefined ? {} : { parallelToolCalls: parallel }),
    ...(reasoning.effort == null ? {} : { reasoningEffort: reasoning.effort }),
  };
}

/** Returns the parameters that the response repeats. */
function repeatedParameters(request: ResponseRequest): RepeatedParameters {
  const { metadata: given, background, previous_response_id: previous, temperature } = request;
  const { max_output_tokens: tokens, max_tool_calls: calls, parallel_tool_calls: parallel } = request;
  return {
    ...(given === undefined ? {} : { metadata: given }),
    ...(background === undefined ? {} : { background }),
    ...(previous === undefined ? {} : { previous_response_id: previous }),
    ...(temperature === undefined ? {} : { temperature }),
    ...(tokens === undefined ? {} : { max_output_tokens: tokens }),
    ...(calls === undefined ? {} : { max_tool_calls: calls }),
    ...(parallel === undefined ? {} : { parallel_tool_calls: parallel }),
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
