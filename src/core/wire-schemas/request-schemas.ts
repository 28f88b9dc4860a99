import type { Decision } from '../domain/approvals.ts';
import { BYTE_BUDGETS, jsonBytes } from '../domain/byte-budgets.ts';
import type { ErrorCode } from '../domain/errors.ts';
import { depthProblem, isJsonObject, type JsonObject } from '../domain/json.ts';
import {
  APPROVE,
  CANCEL,
  CLOSE,
  INTERRUPT,
  NEXT_TURN,
  type NextTurnInput,
  RAISE,
  RAISE_SESSION,
  REJECT,
  RESPOND,
  REVOKE,
  SEND,
  type SendInput,
  SET_PERMISSIONS_INPUT,
} from '../domain/requests.ts';
import { checkJson, problemsText } from '../json-schema/check-json-schema.ts';
import { mediaProblems } from './run-input-schema.ts';

/** Describes the problem of a message to a run; undefined if there is none. Works in the workflow sandbox and never throws. */
export function messageProblem(value: unknown): { code: ErrorCode; message: string } | undefined {
  if (value === undefined) return { code: 'invalid_input', message: 'expected {"id": "your own", "content": "text"}, got nothing' };
  const tooDeep = depthProblem(value);
  if (tooDeep !== undefined) return { code: 'invalid_input', message: tooDeep };
  const problems = checkJson(SEND, value);
  if (problems.length === 0) problems.push(...mediaProblems((value as SendInput).content, 'content'));
  if (problems.length > 0) return { code: 'invalid_input', message: problemsText(problems) };
  const bytes = jsonBytes((value as SendInput).content);
  if (bytes <= BYTE_BUDGETS.message) return undefined;
  const message = `"content" is ${bytes} bytes of JSON, over ${BYTE_BUDGETS.message}: pass large media by URL, or send it in parts`;
  return { code: 'payload_too_large', message };
}

const DECISIONS: Record<Decision['type'], JsonObject> = { approve: APPROVE, reject: REJECT, respond: RESPOND };

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
  return schemaProblem(SET_PERMISSIONS_INPUT, value);
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

/** Describes the problem of a request to interrupt a turn. */
export function interruptProblem(value: unknown): string | undefined {
  return schemaProblem(INTERRUPT, value);
}

/** Describes the problem of a request to close a session. */
export function closeProblem(value: unknown): string | undefined {
  return schemaProblem(CLOSE, value);
}

/** Describes the problem of the message of a run to a session that it keeps. */
export function nextTurnProblem(value: unknown): string | undefined {
  const problem = schemaProblem(NEXT_TURN, value);
  if (problem !== undefined) return problem;
  const bytes = jsonBytes((value as NextTurnInput).content ?? '');
  return bytes <= BYTE_BUDGETS.message ? undefined : `"content" is ${bytes} bytes of JSON, over ${BYTE_BUDGETS.message}`;
}
