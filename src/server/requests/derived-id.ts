import { createHash } from 'node:crypto';
import { canonicalJson, type JsonValue } from '../../core/domain/json/json.ts';
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

/** True for an id of the form that the service derives. */
export function isDerivedId(id: string): boolean {
  return DERIVED.test(id);
}

/**
 * Throws `invalid_request` for an id that a caller gives and that only the service makes: who knows a key or a chat of another one could
 * otherwise take its id first.
 */
export function requireOwnId(id: string | undefined, pointer: string): void {
  if (id === undefined || !isDerivedId(id)) return;
  throw new RequestError('invalid_request', 'Ids of this form follow from idempotency keys and chats: choose another one', {
    errors: [{ pointer, detail: 'an id of the form that the service makes' }],
  });
}
