import { LonghaulError } from '../../../core/domain/errors.ts';
import type { Caller } from '../caller.ts';
import { forbidden } from './access-error.ts';

/**
 * True if the caller may start the agent or program of that name. An undefined name stands for a document without a registered name:
 * only a caller that may start all may start it, because its content is the caller's own.
 */
export function mayStart({ agents, runId }: Pick<Caller, 'agents' | 'runId'>, name: string | undefined): boolean {
  if (runId !== undefined) return false;
  return agents === undefined || (name !== undefined && agents.includes(name));
}

/** Throws `forbidden` unless the caller may start the agent or program of that name. It does not say if there is one. */
export function requireStart(caller: Caller, name: string | undefined): void {
  if (mayStart(caller, name)) return;
  if (caller.runId !== undefined) throw forbidden(`The token is for the run "${caller.runId}": it starts nothing. Use other credentials`);
  const what = name === undefined ? 'programs as documents' : `"${name}"`;
  throw forbidden(`The caller "${caller.id}" may not start ${what}: use credentials whose agents include it`);
}

/**
 * Throws `forbidden` if the caller may not start the agent of a run: what is said to a run lets its agent work as a start does. `status` is
 * asked for only if the caller may not start all agents.
 */
export async function requireAgentOf(caller: Caller, status: () => Promise<{ agentName: string }>): Promise<void> {
  if (caller.agents !== undefined) requireStart(caller, (await status()).agentName);
}

/**
 * True unless the caller is bound to another run. An undefined id stands for a request about more than one run, such as a list. The
 * principal of a run is not checked here: the caller's client does that.
 */
export function mayReachRun({ runId: own }: Pick<Caller, 'runId'>, runId: string | undefined): boolean {
  return own === undefined || own === runId;
}

/**
 * Throws `run_not_found` if the caller is bound to another run: it is not told if that one exists. Throws `forbidden` for a request that is
 * about no single run.
 */
export function requireRun(caller: Pick<Caller, 'runId'>, runId: string | undefined): void {
  if (mayReachRun(caller, runId)) return;
  if (runId !== undefined) throw new LonghaulError('run_not_found', 'The token is for another run: use other credentials');
  throw forbidden(`The token is for the run "${caller.runId}" alone: use other credentials`);
}
