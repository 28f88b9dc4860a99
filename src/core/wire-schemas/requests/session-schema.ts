import type { JsonObject } from '../../domain/json/json.ts';
import { checkJson, problemsText } from '../../json-schema/check-json-schema.ts';
import { AT_LEAST_ONE, DURATION, SUMMAND } from '../bounded-number.ts';

const NO_LIMIT: JsonObject = { type: 'null' };
const BY: JsonObject = { type: 'string', minLength: 1, maxLength: 200, description: 'Who asks.' };

/** The JSON Schema of the limits of a session. */
export const SESSION_LIMITS_SCHEMA: JsonObject = {
  type: 'object',
  properties: {
    turns: { anyOf: [AT_LEAST_ONE, NO_LIMIT] },
    totalTokens: { anyOf: [AT_LEAST_ONE, NO_LIMIT] },
    costUsd: { anyOf: [SUMMAND, NO_LIMIT] },
    deadlineMs: { anyOf: [DURATION, NO_LIMIT] },
  },
  additionalProperties: false,
};

const TERMS: JsonObject = {
  limits: SESSION_LIMITS_SCHEMA,
  compactAfter: { anyOf: [AT_LEAST_ONE, NO_LIMIT] },
  title: { type: 'string', minLength: 1, maxLength: 200 },
  generateTitle: { const: true },
  refresh: { const: 'never' },
};

/** The JSON Schema of the part of the input of a run that makes it a session. */
export const SESSION_INPUT_SCHEMA: JsonObject = { type: 'object', properties: TERMS, additionalProperties: false };

const INTERRUPT: JsonObject = {
  type: 'object',
  properties: { turn: AT_LEAST_ONE, reason: { type: 'string', maxLength: 500 }, by: BY },
  additionalProperties: false,
};

const CLOSE: JsonObject = { type: 'object', properties: { by: BY }, additionalProperties: false };

/** Describes the problem of a request to interrupt a turn; undefined if there is none. Works in the sandbox and never throws. */
export function interruptProblem(value: unknown): string | undefined {
  return problem(INTERRUPT, value);
}

/** Describes the problem of a request to close a session. */
export function closeProblem(value: unknown): string | undefined {
  return problem(CLOSE, value);
}

function problem(schema: JsonObject, value: unknown): string | undefined {
  const problems = checkJson(schema, value);
  return problems.length === 0 ? undefined : problemsText(problems);
}
