import type { Client } from '@temporalio/client';
import { randomUUID } from 'node:crypto';
import { LonghaulError } from '../../core/domain/errors.ts';
import { type LimitOptions, plainLimits, type SessionLimits } from '../../core/domain/limits.ts';
import { type RaiseInput, type RaiseReceipt, UPDATES } from '../../core/protocol.ts';
import { raiseProblem } from '../../core/wire-schemas/request-schemas.ts';
import { updateRun, type UpdateOptions } from './update.ts';

/** The options of raising limits. */
export interface RaiseOptions extends UpdateOptions {
  /** An id of your own, at most 64 characters: the same id is accepted once. Default: a UUID. */
  id?: string;
  /** The person or service that raises them. */
  by?: string;
}

/**
 * Raises limits of a run, or of a whole session, each to its new value: `{steps: 30, costUsd: 2, deadline: '4h'}`. Throws `invalid_input`, before
 * anything is sent, for limits whose form the run would refuse.
 */
export async function raiseLimits(
  client: Client,
  runId: string,
  raised: { limits: LimitOptions } | { session: SessionLimits },
  options: RaiseOptions,
): Promise<RaiseReceipt> {
  const { id = randomUUID(), by, ...sending } = options;
  const argument: RaiseInput = {
    id,
    ...('limits' in raised ? { limits: plainLimits('raise', raised.limits) } : raised),
    ...(by === undefined ? {} : { by }),
  };
  const problem = raiseProblem(argument);
  if (problem !== undefined) throw new LonghaulError('invalid_input', `The limits of run "${runId}" were not raised: ${problem}`);
  return updateRun<RaiseReceipt>(client, runId, { name: UPDATES.raise, argument, id, updateId: `raise ${id}` }, sending);
}
