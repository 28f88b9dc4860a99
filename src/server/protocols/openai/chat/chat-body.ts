import { z } from 'zod';
import type { ModelSettings } from '../../../../core/domain/agent/agent-snapshot.ts';
import { list, MOST } from '../../../schemas/bounded.ts';
import { agentNameText, jsonObject } from '../../../schemas/json.ts';
import { chatMessage } from '../input/chat-messages.ts';
import type { AnswerFormat } from '../parameters/answer-format.ts';
import { parsed } from '../parameters/parsed.ts';
import { type ParameterTable, supportedParameters } from '../parameters/supported-parameters.ts';
import { metadata, NO_EFFECT } from '../parameters/shared-parameters.ts';

export const chatParameters = z.object({
  model: agentNameText,
  messages: list(chatMessage, { min: 1, max: MOST.items }),
  stream: z.boolean().default(false),
  stream_options: z.strictObject({ include_usage: z.boolean().nullish(), include_obfuscation: z.boolean().nullish() }).default({}),
  temperature: z.number().min(0).max(2).optional(),
  max_tokens: z.int().min(1).optional(),
  max_completion_tokens: z.int().min(1).optional(),
  parallel_tool_calls: z.boolean().optional(),
  reasoning_effort: z.string().min(1).optional(),
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
  // `store` is about the provider's dashboards: a run is recorded in any case.
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

/** A request for a completion. */
export type ChatBody = z.output<typeof chatParameters>;

/** Reads the body of a request. Throws for parameters that are not supported. */
export function readChatBody(body: unknown): ChatBody {
  return parsed(chatParameters, supportedParameters(body, TABLE));
}

/** Returns the format that the answer must have. */
export function chatFormat({ response_format: format }: ChatBody): AnswerFormat {
  if (format.type !== 'json_schema') return { type: format.type };
  return { type: format.type, schema: format.json_schema.schema };
}

/** Returns the settings of the model that a request has. */
export function chatSettings(body: ChatBody): ModelSettings {
  const { temperature, parallel_tool_calls: parallel, reasoning_effort: effort } = body;
  const most = body.max_completion_tokens ?? body.max_tokens;
  return {
    ...(temperature === undefined ? {} : { temperature }),
    ...(most === undefined ? {} : { maxOutputTokens: most }),
    ...(parallel === undefined ? {} : { parallelToolCalls: parallel }),
    ...(effort === undefined ? {} : { reasoningEffort: effort }),
  };
}
