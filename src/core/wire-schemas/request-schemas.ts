import type { Decision } from '../domain/approvals.ts';
import { BYTE_BUDGETS, jsonBytes } from '../domain/byte-budgets.ts';
import type { NextTurnInput } from '../domain/children.ts';
import type { ErrorCode } from '../domain/errors.ts';
import { depthProblem, isJsonObject, type JsonObject } from '../domain/json.ts';
import { checkJson, problemsText } from '../json-schema/check-json-schema.ts';
import { propertiesOf } from '../json-schema/json-schema.ts';
import type { SendInput } from '../protocol.ts';
import { BY, RUN_INPUT_SCHEMA, SESSION_LIMITS_SCHEMA } from './run-input-schema.ts';
import {
  COUNT,
  IDENTITY_SCHEMA,
  LIMIT_CHANGES_SCHEMA,
  LIMITS_SCHEMA,
  MAX_LAYERS,
  mediaProblems,
  PERMISSIONS_SCHEMA,
} from './value-schemas.ts';

/** The most characters of an id that a caller chooses. */
const MAX_ID_LENGTH = 64;

const MESSAGE_SCHEMA: JsonObject = {
  type: 'object',
  properties: {
    id: { type: 'string', minLength: 1, maxLength: MAX_ID_LENGTH, description: 'Your own: a message of the same id is taken once.' },
    content: propertiesOf(RUN_INPUT_SCHEMA)['input'] ?? true,
    mode: { enum: ['queue', 'steer', 'interrupt'] },
    principal: IDENTITY_SCHEMA,
  },
  required: ['id', 'content'],
  additionalProperties: false,
};

/** Describes the problem of a message to a run; undefined if there is none. Works in the workflow sandbox and never throws. */
export function messageProblem(value: unknown): { code: ErrorCode; message: string } | undefined {
  if (value === undefined) return { code: 'invalid_input', message: 'expected {"id": "your own", "content": "text"}, got nothing' };
  const tooDeep = depthProblem(value);
  if (tooDeep !== undefined) return { code: 'invalid_input', message: tooDeep };
  const problems = checkJson(MESSAGE_SCHEMA, value);
  if (problems.length === 0) problems.push(...mediaProblems((value as SendInput).content, 'content'));
  if (problems.length > 0) return { code: 'invalid_input', message: problemsText(problems) };
  const bytes = jsonBytes((value as SendInput).content);
  if (bytes <= BYTE_BUDGETS.message) return undefined;
  const message = `"content" is ${bytes} bytes of JSON, over ${BYTE_BUDGETS.message}: pass large media by URL, or send it in parts`;
  return { code: 'payload_too_large', message };
}

const ID: JsonObject = { type: 'string', minLength: 1, maxLength: MAX_ID_LENGTH, description: 'Your own: the same id is taken once.' };
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
  return schemaProblem(DECISIONS[type], value);
}

/** Describes the problem of a request to raise limits. */
export function raiseProblem(value: unknown): string | undefined {
  return schemaProblem(isJsonObject(value) && 'session' in value ? RAISE_SESSION : RAISE, value);
}

/** Describes the problem of a request to set permissions. */
export function setPermissionsProblem(value: unknown): string | undefined {
  return schemaProblem(SET_PERMISSIONS, value);
}

/** Describes the problem of a request to revoke a decision. */
export function revokeProblem(value: unknown): string | undefined {
  return schemaProblem(REVOKE, value);
}

/** Describes the problem of a request to cancel. */
export function cancelProblem(value: unknown): string | undefined {
  return schemaProblem(CANCEL, value);
}

function schemaProblem(schema: JsonObject, value: unknown): string | undefined {
  const tooDeep = depthProblem(value);
  if (tooDeep !== undefined) return tooDeep;
  const problems = checkJson(schema, value);
  return problems.length === 0 ? undefined : problemsText(problems);
}

/** The JSON Schema of the message of a run to a session that it keeps. */
const NEXT_TURN_SCHEMA: JsonObject = {
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
