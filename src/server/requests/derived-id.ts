import { createHash } from 'node:crypto';
import { canonicalJson, type JsonValue } from '../../core/domain/json.ts';
import type { Caller } from '../auth/caller.ts';
import { RequestError } from '../problems/request-error.ts';

/** The beginnings of the ids that the service derives: of runs of idempotency keys, and of sessions of chats. */
type DerivedKind = 'run' | 'chat';

/** Also of what is below such a run: the steps of a program have ids that begin with its own. */
const DERIVED = /^(?:run|chat)-[\da-f]{40}(?:\/|$)/;

/** Returns the SHA-256 of a value, in hexadecimal digits. The order of its members does not count. */
export function digestOf(value: JsonValue): string {
  return createHash('sha256').update(canonicalJson(value)).digest('hex');
}

/** Returns the id that follows from what it names. */
export function derivedId(kind: DerivedKind, named: JsonValue): string {
  return `${kind}-${digestOf(named).slice(0, 40)}`;
}

/** The reason for which a caller may not give a run an id; undefined if it may. */
function refusalOf(id: string, { principal }: Pick<Caller, 'principal'>): { detail: string; what: string } | undefined {
  if (DERIVED.test(id)) {
    return {
      detail: 'Ids of this form follow from idempotency keys and chats: choose another one',
      what: 'an id of the form that the service makes',
    };
  }
  if (principal === undefined || !id.includes('/')) return undefined;
  return {
    detail: 'Ids with "/" are those of runs below other runs: choose one without',
    what: 'an id of the form of a run below another one',
  };
}

/**
 * True for an id that a caller may give to a run or a session. It may not take one that only the service makes: who knows a key or a chat
 * of another caller could otherwise take its id first. For the same reason, a caller that acts for a principal may not take one of the form
 * that runs below others have.
 */
export function mayTakeId(id: string, caller: Pick<Caller, 'principal'>): boolean {
  return refusalOf(id, caller) === undefined;
}

/** Throws `invalid_request` for an id that the caller may not take. */
export function requireOwnId(id: string | undefined, pointer: string, caller: Pick<Caller, 'principal'>): void {
  const refused = id === undefined ? undefined : refusalOf(id, caller);
  if (refused === undefined) return;
  throw new RequestError('invalid_request', refused.detail, { errors: [{ pointer, detail: refused.what }] });
}
