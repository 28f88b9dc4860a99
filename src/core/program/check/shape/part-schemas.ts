import type { JsonObject } from '../../../domain/json.ts';

/** A text with at least one character. */
export const TEXT: JsonObject = { type: 'string', minLength: 1 };

/** A list of names. */
export const NAMES: JsonObject = { type: 'array', items: TEXT };

/** A JSON Schema. It is checked as one by itself. */
export const SCHEMA: JsonObject = { type: 'object' };

/** Any object. */
export const OBJECT: JsonObject = { type: 'object' };

/** Milliseconds, or a text such as `30s`. */
export const DURATION: JsonObject = { type: ['number', 'string'] };

/** A whole number from `least` to `most`; without `most`, up to the largest one that is exact. */
export function wholeNumber(least: number, most: number = Number.MAX_SAFE_INTEGER): JsonObject {
  return { type: 'integer', minimum: least, maximum: most };
}

/** An object with these fields and no others. */
export function fields(required: Record<string, JsonObject>, optional: Record<string, JsonObject> = {}): JsonObject {
  return { type: 'object', properties: { ...required, ...optional }, required: Object.keys(required), additionalProperties: false };
}

/** A reference and a JSON Schema. */
export const CONDITION: JsonObject = fields({ of: TEXT, is: SCHEMA });

const DEADLINE = { deadline: DURATION, onDeadline: { enum: ['approve', 'reject'] } };

/** The options of a question to a person. */
export const DEADLINE_FIELDS: Record<string, JsonObject> = DEADLINE;

/** A decision of a person: `true`, or its deadline. */
export const DECISION: JsonObject = { anyOf: [{ const: true }, fields({}, DEADLINE)] };

const COUNT = wholeNumber(0);

/** The limits of a run. */
export const LIMITS: JsonObject = fields(
  {},
  {
    steps: wholeNumber(1),
    toolCalls: COUNT,
    toolCallsByName: { type: 'object', additionalProperties: COUNT },
    inputTokens: COUNT,
    outputTokens: COUNT,
    totalTokens: COUNT,
    costUsd: { type: 'number', exclusiveMinimum: 0 },
    deadline: DURATION,
  },
);
