import type { JsonObject } from '../domain/json/json.ts';
import { AMOUNT, AT_LEAST_ONE, COUNT, DURATION } from './bounded-number.ts';

/** US dollars, of which there must be some. */
const POSITIVE: JsonObject = { ...AMOUNT, exclusiveMinimum: 0 };

/** The limits of a run that can be given at its start and raised while it goes on. */
export const LIMITS_SCHEMA: JsonObject = {
  type: 'object',
  properties: {
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

/** The same with the limit of steps. */
export const LIMIT_CHANGES_SCHEMA: JsonObject = {
  ...LIMITS_SCHEMA,
  properties: { maxIterations: AT_LEAST_ONE, ...(LIMITS_SCHEMA['properties'] as JsonObject) },
  minProperties: 1,
};
