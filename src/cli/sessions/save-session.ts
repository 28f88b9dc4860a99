import { type SaveFlags, writeSaved } from '../commands/records/save.ts';
import type { CommandIo } from '../program/command.ts';
import { withClient } from '../with-client.ts';
import { sessionHandle } from './session-handle.ts';

/** The options of `longhaul session save`. */
export interface SaveSessionFlags extends Omit<SaveFlags, 'runId'> {
  sessionId: string;
}

/** Writes the conversation and the deps of a session as a JSON document, with which another one can begin. */
export async function saveSession(io: CommandIo, { sessionId, ...flags }: SaveSessionFlags): Promise<number> {
  return withClient(io, flags, async ({ client }) => writeSaved(io, (await sessionHandle(client, sessionId)).run, flags.output));
}
