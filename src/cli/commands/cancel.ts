import type { CommandIo, ServerFlags } from '../program/command.ts';
import { osUser } from '../os-user.ts';
import { withRun } from '../with-run.ts';

/** The options of `longhaul cancel`. */
export interface CancelFlags extends ServerFlags {
  runId: string;
  reason: string;
  /** Default: the name of the OS user. */
  by?: string;
}

/** Requests the cancellation of a run. A run that has ended already is no error. */
export async function cancel(io: CommandIo, { reason, by = osUser(), ...flags }: CancelFlags): Promise<number> {
  const { output } = io;
  const who = by === undefined ? {} : { by };
  const { runId, outcome } = await withRun(io, flags, async (found) => ({
    runId: found.runId,
    outcome: await found.client.handle(found.runId).cancel(reason, who),
  }));
  if (output.json) output.printJson({ runId, outcome, ...(outcome === 'requested' ? { reason, ...who } : {}) });
  else if (outcome === 'requested') output.print(`Cancellation of run "${runId}" is requested: ${reason}`);
  else output.print(`Run "${runId}" had ended already: there was nothing to cancel`);
  return 0;
}
