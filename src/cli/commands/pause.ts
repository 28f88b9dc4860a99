import type { CommandIo, ServerFlags } from '../program/command.ts';
import { withRun } from '../with-run.ts';

/** The options of `longhaul pause` and `longhaul resume`. */
export interface PauseFlags extends ServerFlags {
  runId: string;
}

/** Pauses a run: it starts nothing new after its current step. */
export async function pause(io: CommandIo, flags: PauseFlags): Promise<number> {
  const { runId, paused } = await withRun(io, flags, async (found) => ({
    runId: found.runId,
    paused: (await found.client.handle(found.runId).pause()).paused,
  }));
  if (io.output.json) io.output.printJson({ runId, paused });
  else io.output.print(`Run "${runId}" is paused: it begins nothing new after the current step`);
  return 0;
}

/** Resumes a paused run. */
export async function resume(io: CommandIo, flags: PauseFlags): Promise<number> {
  const { runId, paused } = await withRun(io, flags, async (found) => ({
    runId: found.runId,
    paused: (await found.client.handle(found.runId).resume()).paused,
  }));
  if (io.output.json) io.output.printJson({ runId, paused });
  else io.output.print(`Run "${runId}" goes on`);
  return 0;
}
