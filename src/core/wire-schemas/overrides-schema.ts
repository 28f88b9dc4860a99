import type { JsonObject } from '../domain/json/json.ts';
import { AT_LEAST_ONE } from './bounded-number.ts';

/** The most tags of a run, and the most characters of one tag. */
const MAX_TAGS = 20;
const MAX_TAG_LENGTH = 100;

/** The JSON Schema of the model settings that a start may set. */
const SETTINGS_SCHEMA: JsonObject = {
  type: 'object',
  properties: {
    temperature: { type: 'number', minimum: 0, maximum: 2 },
    maxOutputTokens: AT_LEAST_ONE,
    toolChoice: {
      anyOf: [
        { enum: ['auto', 'required', 'none'] },
        {
          type: 'object',
          properties: { tool: { type: 'string', minLength: 1 }, every: { type: 'boolean' } },
          required: ['tool'],
          additionalProperties: false,
        },
        {
          type: 'object',
          properties: { required: { const: true }, every: { type: 'boolean' } },
          required: ['required'],
          additionalProperties: false,
        },
      ],
    },
    parallelToolCalls: { type: 'boolean' },
    reasoningEffort: { type: 'string', minLength: 1 },
    thinkTags: { enum: ['reasoning', 'text'] },
    extra: { type: 'object' },
  },
  additionalProperties: false,
};

/** The JSON Schemas of the overrides of one run, by the name of the field in its input. */
export const OVERRIDES = {
  model: { type: 'string', pattern: '^[^/]+/.', maxLength: 1_000, description: 'Instead of the model of the agent: provider/model.' },
  settings: { ...SETTINGS_SCHEMA, description: 'Each instead of the setting of the agent.' },
  tags: {
    type: 'array',
    maxItems: MAX_TAGS,
    items: { type: 'string', minLength: 1, maxLength: MAX_TAG_LENGTH },
    description: 'Words that the run is found by.',
  },
  live: { const: true, description: 'Heartbeats may carry the live output of the run.' },
} satisfies JsonObject;
