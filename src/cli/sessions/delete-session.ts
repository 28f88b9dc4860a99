import type { LonghaulClient } from '../../client/longhaul-client.ts';
import { errorCode, LonghaulError } from '../../core/domain/errors.ts';
import { isTerminal } from '../../core/domain/run.ts';
import type { StatusView } from '../../core/protocol.ts';
import { type DeletionFlags, removeRun } from '../commands/records/delete.ts';
import { storesIn } from '../commands/records/stores.ts';
import type { CommandIo } from '../program/command.ts';
import { withClient } from '../with-client.ts';

/** The options of `longhaul session delete`. */
export interface DeleteSessionFlags extends DeletionFlags {
  sessionId: string;
}

/** The time for which a session may take to close: it is idle, so that a worker needs a moment. */
const CLOSING_MS = 30_000;

/**
 * Closes a session that is idle and removes it, with its archive and its spilled results. One that does not exist is no error. Throws
 * `run_open`, and changes nothing, while a turn goes on, unless `end` cancels it.
 */
export async function deleteSession(io: CommandIo, { sessionId, ...flags }: DeleteSessionFlags): Promise<number> {
  const stores = storesIn(flags);
  return withClient(io, flags, async ({ client }) => {
    if (flags.end !== true) await closeIfIdle(client, sessionId);
    return removeRun(io, client, { kind: 'session', id: sessionId, stores, flags });
  });
}

/** The codes of a session that need not be closed. */
const CLOSED: readonly (string | undefined)[] = ['run_not_found', 'run_ended'];

async function closeIfIdle(client: LonghaulClient, sessionId: string): Promise<void> {
  try {
    const status = await client.handle(sessionId).status();
    if (isTerminal(status.status)) return;
    requireIdle(sessionId, status);
    const session = client.session(status.agentName, { id: sessionId });
    const { turn } = await session.close();
    if (turn !== undefined)
      throw new LonghaulError(
        'run_open',
        `Turn ${turn} of session "${sessionId}" has just begun, and the session closes after it: delete it again then, or with --end now`,
      );
    await session.run.result({ timeout: CLOSING_MS });
  } catch (error) {
    if (!CLOSED.includes(errorCode(error))) throw error;
  }
}

/** Throws `run_open` if a session has something to do. A run that is no session is refused when it is closed. */
function requireIdle(sessionId: string, { session, queued, status }: StatusView): void {
  const busy =
    session?.turn !== undefined
      ? `Turn ${session.turn} of session "${sessionId}" goes on`
      : queued > 0
        ? `A message to session "${sessionId}" waits`
        : session !== undefined && status !== 'idle'
          ? `Session "${sessionId}" is ${status}`
          : undefined;
  if (busy !== undefined) throw new LonghaulError('run_open', `${busy}: delete it once it is idle, or with --end now`);
}
