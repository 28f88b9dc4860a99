import { LonghaulError } from '../../core/domain/errors/error.ts';
import type { Caller, Scope } from '../auth/caller.ts';
import { RequestError } from '../problems/request-error.ts';

/** The parameters of a path that name a run. A session is a run, too. */
const RUN_PARAMETERS = ['runId', 'sessionId'] as const;

/** Throws `forbidden` for a caller without the right. */
export function requireScope({ scopes }: Caller, scope: Scope): void {
  if (scopes.includes(scope) || scopes.includes('admin')) return;
  throw new RequestError('forbidden', `The credentials lack the scope "${scope}": use others, or have it added`);
}

/** Throws `run_not_found` for another run than the caller reaches, and `forbidden` for a route that is about no single run. */
export function requireRunOfCaller(caller: Caller, params: unknown): void {
  if (caller.runId === undefined) return;
  const name = RUN_PARAMETERS.find((one) => isObject(params) && params[one] !== undefined);
  if (name === undefined) throw new RequestError('forbidden', `The credentials are for run "${caller.runId}" alone`);
  if (isObject(params) && params[name] === caller.runId) return;
  throw new LonghaulError('run_not_found', 'The credentials are for another run');
}

/** Throws `forbidden` for an agent or a program that the caller may not start. */
export function requireStartable({ agents, runId }: Caller, name: string): void {
  if (runId !== undefined) throw new RequestError('forbidden', `The credentials are for run "${runId}" alone`);
  if (agents === undefined || agents.includes(name)) return;
  throw new RequestError('forbidden', `The credentials do not allow to start "${name}": use others, or have it added`);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
