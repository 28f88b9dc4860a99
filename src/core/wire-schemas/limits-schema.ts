import type { JsonObject } from '../domain/json/json.ts';
import { AMOUNT, AT_LEAST_ONE, COUNT, DURATION } from './bounded-number.ts';

/** The JSON Schema of an amount of US dollars above 0. */
const POSITIVE: JsonObject = { ...AMOUNT, exclusiveMinimum: 0 };

/** The JSON Schema of limits: those that a start sets, and the amounts that a child is given of the limits of its parent. */
export const LIMITS_SCHEMA: JsonObject = {
  type: 'object',
  properties: {
    steps: AT_LEAST_ONE,
    toolCalls: COUNT,
    toolCallsByName: { type: 'object', additionalProperties: COUNT },
    inputTokens: COUNT,
    outputTokens: COUNT,
    totalTokens: COUNT,
    costUsd: { ...POSITIVE, description: 'US dollars.' },
    deadlineMs: { ...DURATION, description: 'Milliseconds from the start of the run.' },
  },
  additionalProperties: false,
};

/** The JSON Schema of the limits that a caller raises during the run. */
export const LIMIT_CHANGES_SCHEMA: JsonObject = { ...LIMITS_SCHEMA, minProperties: 1 };
