import type { CommandIo, ServerFlags } from '../program/command.ts';
import { withRun } from '../with-run.ts';
import { sessionHandle } from './session-handle.ts';

/** The options of `longhaul session reset`. */
export interface ResetSessionFlags extends ServerFlags {
  sessionId: string;
}

/** Empties the conversation of a session, after the turn that goes on. */
export async function resetSession({ output, ...io }: CommandIo, { sessionId: given, ...flags }: ResetSessionFlags): Promise<number> {
  return withRun({ output, ...io }, { ...flags, runId: given }, async ({ client, runId: sessionId }) => {
    const { beforeTurn } = await (await sessionHandle(client, sessionId)).reset();
    if (output.json) output.printJson({ sessionId, beforeTurn });
    else output.print(`Turn ${beforeTurn} of session "${sessionId}" begins with an empty conversation`);
    return 0;
  });
}
