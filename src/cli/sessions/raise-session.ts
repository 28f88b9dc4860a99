import { UsageError } from '../../core/domain/errors.ts';
import { ANYWHERE } from '../../core/domain/text.ts';
import { underId } from '../commands/request-id.ts';
import { osUser } from '../os-user.ts';
import type { CommandIo, ServerFlags } from '../program/command.ts';
import { sessionFacts } from '../render/session-facts.ts';
import { withRun } from '../with-run.ts';
import { sessionHandle } from './session-handle.ts';
import { type SessionLimitFlags, sessionLimitOptions } from './session-limit-flags.ts';

/** The options of `longhaul session raise`. */
export interface RaiseSessionFlags extends ServerFlags, SessionLimitFlags {
  sessionId: string;
  by?: string;
  id?: string;
}

/** Raises limits of a whole session, and prints its turns and amounts against the new limits. */
export async function raiseSession(io: CommandIo, flags: RaiseSessionFlags): Promise<number> {
  const { output } = io;
  const { sessionId: given, by = osUser() } = flags;
  const limits = sessionLimitOptions(flags);
  if (Object.keys(limits).length === 0) {
    throw new UsageError(`There is no limit to raise: write ${ANYWHERE} session raise "${given}" --turns 50, or another of its options`);
  }
  return withRun(io, { ...flags, runId: given }, async ({ client, runId: sessionId }) => {
    const session = await sessionHandle(client, sessionId);
    const receipt = await underId(flags.id, (id) => session.raise(limits, { id, ...(by === undefined ? {} : { by }) }));
    const status = await session.status();
    const now = status.session;
    if (output.json) output.printJson({ sessionId, id: receipt.id, status: receipt.status, limits: now?.limits ?? null });
    else if (receipt.status === 'duplicate') output.print(`Limits had been raised by "${receipt.id}" before: nothing changes`);
    else output.print(`Limits of session "${sessionId}" are raised`);
    if (now !== undefined && !output.json)
      for (const [name, value] of sessionFacts(now, status.startTime)) output.note(`${name.padEnd(9)} ${value}`);
    return 0;
  });
}
