import { createHash } from 'node:crypto';
import type { JsonValue } from '../../core/domain/json.ts';
import { identityOf, type Principal } from '../../core/domain/run.ts';
import { RequestError } from '../problems/request-error.ts';
import { derivedId, digestOf } from './derived-id.ts';

/** The name of the header. */
export const IDEMPOTENCY_KEY = 'idempotency-key';

const LONGEST_KEY = 255;

/** The longest id of a message or of a decision. */
const LONGEST_ID = 64;

/** Returns the key of a request; undefined if it has none. Throws `invalid_request` for a key that is too long, or empty. */
export function readIdempotencyKey(headers: Headers): string | undefined {
  const key = headers.get(IDEMPOTENCY_KEY)?.trim();
  if (key === undefined || (key !== '' && key.length <= LONGEST_KEY)) return key;
  throw new RequestError('invalid_request', `The header "Idempotency-Key" has ${key.length} characters: write 1 to ${LONGEST_KEY}`, {
    errors: [{ parameter: 'Idempotency-Key', detail: `write 1 to ${LONGEST_KEY} characters` }],
  });
}

/**
 * Returns the id of the run that a request with that key starts. It follows from the key and the principal alone, so that no table is
 * needed, and callers of two principals never meet. `tenant` is the one that a caller without a principal starts the run for: its keys are
 * apart for each.
 */
export function runIdOfKey(principal: Principal | undefined, key: string, tenant?: string): string {
  return derivedId('run', { ...identityOf(principal ?? {}), key, ...(tenant === undefined ? {} : { for: tenant }) });
}

/** Returns the digest of the body of a request, which the run that it starts keeps in its memo. */
export function requestDigest(route: string, key: string, body: unknown): string {
  // Converted as it was sent: members without a value are none.
  return digestOf({ route, key, body: JSON.parse(JSON.stringify(body ?? null)) as JsonValue });
}

/** Returns the id of a message or a decision: the one in the body, or else one that follows from the key. */
export function requestId(id: string | undefined, key: string | undefined): { id?: string } {
  if (id !== undefined) return { id };
  if (key === undefined) return {};
  return { id: key.length <= LONGEST_ID ? key : createHash('sha256').update(key).digest('hex') };
}
