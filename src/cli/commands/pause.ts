import type { CommandIo, ServerFlags } from '../program/command.ts';
import { withClient } from '../with-client.ts';

/** The options of `longhaul pause` and `longhaul resume`. */
export interface PauseFlags extends ServerFlags {
  runId: string;
}

/** Pauses a run: it starts nothing new after its current step. */
export async function pause(io: CommandIo, { runId, ...flags }: PauseFlags): Promise<number> {
  const { paused } = await withClient(io, flags, async ({ client }) => client.handle(runId).pause());
  if (io.output.json) io.output.printJson({ runId, paused });
  else io.output.print(`Run "${runId}" is paused: it begins nothing new after the current step`);
  return 0;
}

/** Resumes a paused run. */
export async function resume(io: CommandIo, { runId, ...flags }: PauseFlags): Promise<number> {
  const { paused } = await withClient(io, flags, async ({ client }) => client.handle(runId).resume());
  if (io.output.json) io.output.printJson({ runId, paused });
  else io.output.print(`Run "${runId}" goes on`);
  return 0;
}
