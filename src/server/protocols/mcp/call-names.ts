import type { Principal } from '../../../core/domain/run.ts';
import { RequestError } from '../../problems/request-error.ts';
import { runIdOfKey } from '../../requests/idempotency-key.ts';

/** The names in the `_meta` of requests and results. */
export const META = {
  /** In a call: the key by which it is found again. In `notifications/cancelled`: that of the call to cancel. */
  idempotencyKey: 'longhaul/idempotencyKey',
  /** In results and progress: the run of the call. In `notifications/cancelled`: the run to cancel. */
  runId: 'longhaul/runId',
  /** In results: the status of the run. */
  status: 'longhaul/status',
  /** In results: the reason for which the model ended its last answer. `length`: it was cut off. */
  finishReason: 'longhaul/finishReason',
} as const;

/** The header by which clients of the protocol up to 2025-11-25 name their session. */
export const SESSION_HEADER = 'mcp-session-id';

const LONGEST_KEY = 255;

/** The `_meta` of a message. */
export type Meta = Readonly<Record<string, unknown>> | undefined;

/** The parts of a call by which it is known again. */
export interface CallParts {
  meta: Meta;
  /** The session of the client. Absent in the protocol of 2026-07-28, which has none. */
  session: string | null;
  /** The JSON-RPC id of the request, unique in the session of its client. */
  requestId: unknown;
}

/**
 * Returns the name of a call, by which each instance of the service finds its run: the key that the caller gave, or else the session with
 * the id of the request. Undefined if there is neither: then nothing tells that a request is the same as another. Throws `invalid_request`.
 */
export function nameOfCall({ meta, session, requestId }: CallParts): string | undefined {
  const key = keyOf(meta);
  if (key !== undefined) return JSON.stringify(['mcp', 'key', key]);
  const isId = typeof requestId === 'string' || typeof requestId === 'number';
  return session === null || !isId ? undefined : JSON.stringify(['mcp', 'request', session, requestId]);
}

/** Returns the id of the run that a call of that name starts. Callers of two principals never meet. */
export function runIdOfCall(principal: Principal | undefined, name: string): string {
  return runIdOfKey(principal, name);
}

/** Returns the key that a caller gave; undefined for none. Throws `invalid_request` for one that is no text of 1 to 255 characters. */
function keyOf(meta: Meta): string | undefined {
  const key = meta?.[META.idempotencyKey];
  if (key === undefined || (typeof key === 'string' && key !== '' && key.length <= LONGEST_KEY && key.isWellFormed())) return key;
  throw new RequestError(
    'invalid_request',
    `"${META.idempotencyKey}" of "_meta" is no text of 1 to ${LONGEST_KEY} characters: write such a key`,
  );
}
