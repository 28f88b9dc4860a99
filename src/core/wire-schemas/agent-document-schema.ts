import type { JsonObject } from '../domain/json/json.ts';

const TEXT: JsonObject = { type: 'string' };
const TEXTS: JsonObject = { type: 'array', items: TEXT };
const NAME: JsonObject = { type: 'string', minLength: 1, maxLength: 1_000 };
const NUMBER: JsonObject = { type: 'number' };

/** The checks of an answer. */
const RULES: JsonObject = {
  step: NAME,
  anchors: { type: 'array', items: NAME },
  type: TEXT,
  confidenceFloor: NUMBER,
  requiredFields: TEXTS,
  range: { type: 'object', properties: { min: NUMBER, max: NUMBER }, additionalProperties: false },
  lenient: { const: true },
};

/** The JSON Schema of an agent in the input of its run. */
export const AGENT_DOCUMENT_SCHEMA: JsonObject = {
  type: 'object',
  description: 'The agent itself, if it is a step of the program that starts the run.',
  properties: {
    ...RULES,
    model: { type: 'string', pattern: '^[^/]+/.', maxLength: 1_000 },
    instructions: TEXTS,
    tools: { type: 'array', items: NAME, minItems: 1, uniqueItems: true },
    settings: { type: 'object' },
    output: { type: 'object' },
  },
  required: ['step', 'model', 'instructions', 'tools'],
  additionalProperties: false,
};
