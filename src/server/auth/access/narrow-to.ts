import type { Caller, Scope } from '../caller.ts';
import { requireRun } from './reach.ts';
import { requireScope } from './scopes.ts';

/** The rights that a caller hands on: those for one run. */
export interface Narrowing {
  runId: string;
  scopes: readonly Scope[];
  /** Milliseconds since the epoch. */
  expiresAt: number;
}

/**
 * Returns a caller with a part of the rights: for one run, and never for longer than the caller's own. Throws `forbidden` for a scope
 * that the caller lacks, and for another run than it is bound to.
 */
export function narrowTo(caller: Caller, { runId, scopes, expiresAt }: Narrowing): Caller & { runId: string; expiresAt: number } {
  requireRun(caller, runId);
  for (const scope of scopes) requireScope(caller, scope);
  return {
    id: caller.id,
    ...(caller.principal === undefined ? {} : { principal: caller.principal }),
    scopes: [...new Set(scopes)],
    agents: [],
    runId,
    expiresAt: Math.min(expiresAt, caller.expiresAt ?? Infinity),
  };
}
