import { osUser } from '../os-user.ts';
import type { CommandIo, ServerFlags } from '../program/command.ts';
import { withRun } from '../with-run.ts';
import { sessionHandle } from './session-handle.ts';

/** The options of `longhaul session close`. */
export interface CloseSessionFlags extends ServerFlags {
  sessionId: string;
  by?: string;
}

/** Closes a session, after the turn that goes on. */
export async function closeSession(io: CommandIo, { sessionId: given, by = osUser(), ...flags }: CloseSessionFlags): Promise<number> {
  const { output } = io;
  return withRun(io, { ...flags, runId: given }, async ({ client, runId: sessionId }) => {
    const session = await sessionHandle(client, sessionId);
    const { turn } = await session.close(by === undefined ? {} : { by });
    if (output.json) output.printJson({ sessionId, closed: turn === undefined, ...(turn === undefined ? {} : { turn }) });
    else if (turn === undefined) output.print(`Session "${sessionId}" is closed`);
    else output.print(`Session "${sessionId}" closes after turn ${turn}, which goes on`);
    return 0;
  });
}
