import type { RunHandle } from '../../../client/run-handle.ts';
import { ANYWHERE } from '../../../core/domain/text.ts';
import { UsageError } from '../../../core/domain/errors.ts';
import type { LimitOptions } from '../../../core/domain/limits.ts';
import type { CommandIo, ServerFlags } from '../../program/command.ts';
import { type LimitFlags, limitOptions } from '../../program/limit-flags.ts';
import { limitsText } from '../../render/limits-text.ts';
import { osUser } from '../../os-user.ts';
import { underId } from '../request-id.ts';
import { withRun } from '../../with-run.ts';

/** The options of `longhaul raise`. */
export interface RaiseFlags extends ServerFlags, LimitFlags {
  runId: string;
  by?: string;
  id?: string;
}

/** Raises limits of a run while it goes on or waits, and prints the new limits. */
export async function raise(io: CommandIo, flags: RaiseFlags): Promise<number> {
  const limits = limitsOf(flags);
  return withRun(io, flags, async ({ client, runId }) => raiseLimits(io, client.handle<unknown>(runId), { ...flags, limits }));
}

/** Raises limits of the run of a handle. */
export async function raiseLimits(
  { output }: CommandIo,
  run: Pick<RunHandle<unknown>, 'runId' | 'raise'>,
  { limits, by = osUser(), id: ownId }: Pick<RaiseFlags, 'by' | 'id'> & { limits: LimitOptions },
): Promise<number> {
  const receipt = await underId(ownId, (id) => run.raise(limits, { id, ...(by === undefined ? {} : { by }) }));
  if (output.json) output.printJson({ runId: run.runId, ...receipt });
  else if (receipt.status === 'duplicate') output.print(`Limits had been raised by "${receipt.id}" before: nothing changes`);
  else output.print(`Limits of run "${run.runId}" are now: ${limitsText(receipt.limits)}`);
  return 0;
}

function limitsOf(flags: RaiseFlags): LimitOptions {
  const limits = limitOptions(flags);
  if (Object.keys(limits).length > 0) return limits;
  throw new UsageError(`There is no limit to raise: write ${ANYWHERE} raise "${flags.runId}" --steps 20, or another of its options`);
}
