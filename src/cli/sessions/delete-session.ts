import type { LonghaulClient } from '../../client/longhaul-client.ts';
import { errorCode, LonghaulError } from '../../core/domain/errors/error.ts';
import { deleteRun, type DeleteFlags } from '../commands/records/delete.ts';
import type { CommandIo } from '../program/command.ts';
import { withClient } from '../with-client.ts';
import { sessionHandle } from './session-handle.ts';

/** The options of `longhaul session delete`. */
export interface DeleteSessionFlags extends Omit<DeleteFlags, 'runId'> {
  sessionId: string;
}

/** The time for which a session may take to close: it is idle, so that a worker needs a moment. */
const CLOSING_MS = 30_000;

/** Closes a session and removes it, with its archive and its spilled results. One that does not exist is no error. Throws `run_open` while a turn goes on, unless `end` cancels it. */
export async function deleteSession(io: CommandIo, { sessionId, ...flags }: DeleteSessionFlags): Promise<number> {
  if (flags.end !== true) await withClient(io, flags, async ({ client }) => closeIfOpen(client, sessionId));
  return deleteRun(io, { ...flags, runId: sessionId });
}

/** The codes of a session that need not be closed. */
const CLOSED: readonly (string | undefined)[] = ['run_not_found', 'run_ended'];

async function closeIfOpen(client: LonghaulClient, sessionId: string): Promise<void> {
  try {
    const session = await sessionHandle(client, sessionId);
    const { turn } = await session.close();
    if (turn !== undefined) {
      throw new LonghaulError(
        'run_open',
        `Turn ${turn} of session "${sessionId}" goes on, and the session closes after it: delete it again then, or with --end now`,
      );
    }
    await session.run.result({ timeout: CLOSING_MS });
  } catch (error) {
    if (!CLOSED.includes(errorCode(error))) throw error;
  }
}
