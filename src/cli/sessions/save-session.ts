import { type SaveFlags, writeSaved } from '../commands/records/save.ts';
import type { CommandIo } from '../program/command.ts';
import { withRun } from '../with-run.ts';
import { sessionHandle } from './session-handle.ts';

/** The options of `longhaul session save`. */
export interface SaveSessionFlags extends Omit<SaveFlags, 'runId'> {
  sessionId: string;
}

/** Writes the conversation and the deps of a session as a JSON document, with which another one can begin. */
export async function saveSession(io: CommandIo, { sessionId, ...flags }: SaveSessionFlags): Promise<number> {
  return withRun(io, { ...flags, runId: sessionId }, async ({ client, runId }) =>
    writeSaved(io, (await sessionHandle(client, runId)).run, flags.output),
  );
}
