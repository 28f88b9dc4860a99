import { BYTE_BUDGETS } from '../../domain/json/byte-budget.ts';
import type { Decision } from '../../domain/approvals/approval.ts';
import { depthProblem } from '../../domain/json/json-depth.ts';
import { isJsonObject, type JsonObject } from '../../domain/json/json.ts';
import { checkJson, problemsText } from '../../json-schema/check-json-schema.ts';
import { LIMIT_CHANGES_SCHEMA } from '../limits-schema.ts';
import { SESSION_LIMITS_SCHEMA } from './session-schema.ts';
import { PERMISSIONS_SCHEMA } from '../permissions-schema.ts';

/** The most characters of an id that a caller chooses. */
export const MAX_ID_LENGTH = 64;

const ID: JsonObject = { type: 'string', minLength: 1, maxLength: MAX_ID_LENGTH, description: 'Your own: the same id is taken once.' };
const BY: JsonObject = { type: 'string', minLength: 1, maxLength: 200, description: 'Who asks.' };
const REASON: JsonObject = { type: 'string', maxLength: BYTE_BUDGETS.errorMessage };
const REMEMBER: JsonObject = { enum: ['tool', 'arguments'] };
const DECISION = { callId: { type: 'string', minLength: 1, maxLength: 200 }, id: ID, digest: { type: 'string', minLength: 1 }, by: BY };

function request(properties: JsonObject, required: string[]): JsonObject {
  return { type: 'object', properties, required, additionalProperties: false };
}

const OF_DECISION = ['callId', 'id', 'digest'];

/** The JSON Schemas of decisions, by their type. */
const DECISIONS: Record<Decision['type'], JsonObject> = {
  approve: request({ ...DECISION, arguments: { type: 'object' }, remember: REMEMBER }, OF_DECISION),
  reject: request({ ...DECISION, reason: REASON, remember: REMEMBER }, OF_DECISION),
  respond: request({ ...DECISION, content: true }, [...OF_DECISION, 'content']),
};

const RAISE = request({ id: ID, limits: LIMIT_CHANGES_SCHEMA, by: BY }, ['id', 'limits']);
const RAISE_SESSION = request({ id: ID, session: SESSION_LIMITS_SCHEMA, by: BY }, ['id', 'session']);
const SET_PERMISSIONS = request({ id: ID, permissions: PERMISSIONS_SCHEMA, by: BY }, ['id', 'permissions']);
const REVOKE = request({ decision: { type: 'string', minLength: 1 } }, ['decision']);
const CANCEL = request({ reason: REASON, by: BY }, []);

/**
 * Describes the problem of a decision; undefined if there is none. Works in the workflow sandbox and never throws, as the functions
 * below.
 */
export function decisionProblem(type: Decision['type'], value: unknown): string | undefined {
  return problem(DECISIONS[type], value);
}

/** Describes the problem of a request to raise limits. */
export function raiseProblem(value: unknown): string | undefined {
  return problem(isJsonObject(value) && 'session' in value ? RAISE_SESSION : RAISE, value);
}

/** Describes the problem of a request to set permissions. */
export function setPermissionsProblem(value: unknown): string | undefined {
  return problem(SET_PERMISSIONS, value);
}

/** Describes the problem of a request to revoke a decision. */
export function revokeProblem(value: unknown): string | undefined {
  return problem(REVOKE, value);
}

/** Describes the problem of a request to cancel. */
export function cancelProblem(value: unknown): string | undefined {
  return problem(CANCEL, value);
}

function problem(schema: JsonObject, value: unknown): string | undefined {
  const tooDeep = depthProblem(value);
  if (tooDeep !== undefined) return tooDeep;
  const problems = checkJson(schema, value);
  return problems.length === 0 ? undefined : problemsText(problems);
}
