import { BYTE_BUDGETS } from '../domain/json/byte-budget.ts';
import type { Decision } from '../domain/approvals/approval.ts';
import { depthProblem } from '../domain/json/json-depth.ts';
import type { JsonObject } from '../domain/json/json.ts';
import { checkJson, problemsText } from '../json-schema/check-json-schema.ts';
import { LIMIT_CHANGES_SCHEMA } from './limits-schema.ts';

/** The longest id that a caller may give. */
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

/** What a decision says, by its type. */
const DECISIONS: Record<Decision['type'], JsonObject> = {
  approve: request({ ...DECISION, arguments: { type: 'object' }, remember: REMEMBER }, OF_DECISION),
  reject: request({ ...DECISION, reason: REASON, remember: REMEMBER }, OF_DECISION),
  respond: request({ ...DECISION, content: true }, [...OF_DECISION, 'content']),
};

const RAISE = request({ id: ID, limits: LIMIT_CHANGES_SCHEMA, by: BY }, ['id', 'limits']);
const REVOKE = request({ decision: { type: 'string', minLength: 1 } }, ['decision']);
const CANCEL = request({ reason: REASON, by: BY }, []);

/** What is wrong with a decision, or undefined. Works in the workflow sandbox and never throws, like those below. */
export function decisionProblem(type: Decision['type'], value: unknown): string | undefined {
  return problem(DECISIONS[type], value);
}

/** What is wrong with a request to raise limits. */
export function raiseProblem(value: unknown): string | undefined {
  return problem(RAISE, value);
}

/** What is wrong with a request to revoke a decision. */
export function revokeProblem(value: unknown): string | undefined {
  return problem(REVOKE, value);
}

/** What is wrong with a request to cancel. */
export function cancelProblem(value: unknown): string | undefined {
  return problem(CANCEL, value);
}

function problem(schema: JsonObject, value: unknown): string | undefined {
  const tooDeep = depthProblem(value);
  if (tooDeep !== undefined) return tooDeep;
  const problems = checkJson(schema, value);
  return problems.length === 0 ? undefined : problemsText(problems);
}
