import type { NextTurnInput } from '../../domain/children/kept-agent.ts';
import { BYTE_BUDGETS } from '../../domain/json/byte-budget.ts';
import { depthProblem } from '../../domain/json/json-depth.ts';
import type { JsonObject } from '../../domain/json/json.ts';
import { jsonBytes } from '../../domain/json/payload-limit.ts';
import { checkJson, problemsText } from '../../json-schema/check-json-schema.ts';
import { COUNT } from '../bounded-number.ts';
import { LIMITS_SCHEMA } from '../limits-schema.ts';
import { MAX_LAYERS, PERMISSIONS_SCHEMA } from '../permissions-schema.ts';

/** The JSON Schema of the message of a run to a session that it keeps. */
export const NEXT_TURN_SCHEMA: JsonObject = {
  type: 'object',
  properties: {
    turn: { type: 'integer', minimum: 2 },
    content: { type: 'string' },
    of: {
      type: 'object',
      properties: { eventId: { type: 'string', minLength: 1, maxLength: 1_000 }, index: COUNT },
      required: ['eventId', 'index'],
    },
    left: LIMITS_SCHEMA,
    runs: COUNT,
    permissions: { type: 'array', items: PERMISSIONS_SCHEMA, maxItems: MAX_LAYERS },
  },
  required: ['turn', 'runs'],
  anyOf: [{ required: ['content'] }, { required: ['of'] }],
  additionalProperties: false,
};

/** Describes the problem of such a message; undefined if there is none. Works in the sandbox and never throws. */
export function nextTurnProblem(value: unknown): string | undefined {
  const tooDeep = depthProblem(value);
  if (tooDeep !== undefined) return tooDeep;
  const problems = checkJson(NEXT_TURN_SCHEMA, value);
  if (problems.length > 0) return problemsText(problems);
  const bytes = jsonBytes((value as NextTurnInput).content ?? '');
  return bytes <= BYTE_BUDGETS.message ? undefined : `"content" is ${bytes} bytes of JSON, over ${BYTE_BUDGETS.message}`;
}
