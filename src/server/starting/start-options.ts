import { defineSearchAttributeKey, type SearchAttributePair, type SearchAttributeType } from '@temporalio/common';
import type { JsonObject } from '../../core/domain/json.ts';
import type { Principal } from '../../core/domain/run.ts';
import type { Caller } from '../auth/caller.ts';
import { RequestError } from '../problems/request-error.ts';

/** The fields of a start that not every caller may set. */
export interface GuardedFields {
  principal?: Principal;
  taskQueue?: string;
  priority?: number;
  fairnessKey?: string;
  searchAttributes?: Record<string, { type: string; value: unknown }>;
}

/** The fields that decide how the operator's machines are used. */
const OF_OPERATOR = ['taskQueue', 'priority', 'fairnessKey', 'searchAttributes'] as const;

/**
 * Throws `forbidden` for fields that the caller may not set. Whom a run acts for, with the claims that tools rely on, is what the
 * service has verified, never what a body says.
 */
export function requireOwnFields({ principal, scopes }: Caller, body: GuardedFields): void {
  if (principal !== undefined && body.principal !== undefined) {
    throw new RequestError('forbidden', 'The credentials say whom the run acts for: leave out "principal"', {
      errors: [{ pointer: '#/principal', detail: 'not allowed with these credentials' }],
    });
  }
  const field = OF_OPERATOR.find((name) => body[name] !== undefined);
  if (field === undefined || scopes.includes('admin')) return;
  throw new RequestError('forbidden', `"${field}" needs the scope "admin": leave it out, or use other credentials`, {
    errors: [{ pointer: `#/${field}`, detail: 'needs the scope "admin"' }],
  });
}

/** Returns search attributes as the client takes them. */
export function searchAttributePairs(given: GuardedFields['searchAttributes']): { searchAttributes?: SearchAttributePair[] } {
  if (given === undefined) return {};
  const pairs = Object.entries(given).map(([name, { type, value }]) => {
    const key = defineSearchAttributeKey(name, type as SearchAttributeType);
    return { key, value: type === 'DATETIME' ? new Date(String(value)) : value } as SearchAttributePair;
  });
  return { searchAttributes: pairs };
}

/** The key in the memo of a run under which the digest of the request that started it is kept. */
export const REQUEST_MEMO = 'longhaulRequest';

/** Returns the memo of a start with the digest of its request. */
export function memoWith(memo: JsonObject | undefined, digest: string | undefined): { memo?: JsonObject } {
  if (digest === undefined) return memo === undefined ? {} : { memo };
  return { memo: { ...memo, [REQUEST_MEMO]: digest } };
}
