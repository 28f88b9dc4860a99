import { z } from 'zod';
import type { ModelSettings } from '../../../../core/domain/agent/agent-snapshot.ts';
import { agentNameText, jsonObject, runIdText } from '../../../schemas/json.ts';
import { responseInput } from '../input/response-input.ts';
import type { AnswerFormat } from '../parameters/answer-format.ts';
import { parsed } from '../parameters/parsed.ts';
import { metadata, NO_EFFECT } from '../parameters/shared-parameters.ts';
import { type ParameterTable, supportedParameters } from '../parameters/supported-parameters.ts';
import type { RepeatedParameters } from './response-body.ts';

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

/** A request for a response. */
export type ResponseRequest = z.output<typeof responseParameters>;

/** Reads the body of a request. Throws for parameters that are not supported. */
export function readResponseRequest(body: unknown): ResponseRequest {
  return parsed(responseParameters, supportedParameters(body, TABLE));
}

/** Returns the format that the answer must have. */
export function responseFormat({ text: { format } }: ResponseRequest): AnswerFormat {
  if (format == null) return { type: 'text' };
  return format.type === 'json_schema' ? { type: format.type, schema: format.schema } : { type: format.type };
}

/** Returns the settings of the model that a request has. */
export function responseSettings(request: ResponseRequest): ModelSettings {
  const { temperature, max_output_tokens: most, parallel_tool_calls: parallel, reasoning } = request;
  return {
    ...(temperature === undefined ? {} : { temperature }),
    ...(most === undefined ? {} : { maxOutputTokens: most }),
    ...(parallel === undefined ? {} : { parallelToolCalls: parallel }),
    ...(reasoning.effort == null ? {} : { reasoningEffort: reasoning.effort }),
  };
}

/** Returns the parameters that the response repeats. */
export function repeatedParameters(request: ResponseRequest): RepeatedParameters {
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
