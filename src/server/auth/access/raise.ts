import type { RunLimits } from '../../../core/domain/limits.ts';
import { LonghaulError } from '../../../core/domain/errors.ts';
import type { Caller } from '../caller.ts';
import { hasScope, requireScope } from './scopes.ts';

/** The part of a run that says who may raise its limits. */
export interface RaisedRun {
  runId: string;
  status: () => Promise<{ limits?: RunLimits }>;
}

/**
 * Throws `forbidden` for a raise by a caller that may not decide, if the run asks a person at its limits (`onLimit: 'ask'`): to raise a
 * limit is to approve what waits at it, or would wait later. Throws `busy` until the run has resolved its agent, which says if it asks.
 */
export async function requireRaise(caller: Caller, { runId, status }: RaisedRun): Promise<void> {
  if (hasScope(caller, 'approvals:decide')) return;
  const { limits } = await status();
  if (limits === undefined) throw new LonghaulError('busy', `Run "${runId}" has not resolved its agent yet: send it again in a moment`);
  if (limits.onLimit === 'ask') requireScope(caller, 'approvals:decide');
}
