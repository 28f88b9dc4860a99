import { type Caller, SCOPES, type Scope } from '../caller.ts';
import { forbidden } from './access-error.ts';

/** True for the name of a scope. */
export function isScope(name: unknown): name is Scope {
  return SCOPES.some((scope) => scope === name);
}

/** True if the caller has the scope, or `admin`, which includes all. */
export function hasScope({ scopes }: Pick<Caller, 'scopes'>, scope: Scope): boolean {
  return scopes.includes(scope) || scopes.includes('admin');
}

/** Throws `forbidden` unless the caller has the scope. */
export function requireScope(caller: Pick<Caller, 'id' | 'scopes'>, scope: Scope): void {
  if (hasScope(caller, scope)) return;
  throw forbidden(`The caller "${caller.id}" lacks the scope "${scope}": use credentials that have it`, scope);
}
