import type { CommandIo, ServerFlags } from '../../program/command.ts';
import { traceLines } from '../../render/trace-lines.ts';
import { withRun } from '../../with-run.ts';

/** The options of `longhaul trace`. */
export interface TraceFlags extends ServerFlags {
  runId: string;
}

/** Prints the trace of a run, while it continues and after it has ended. */
export async function trace(io: CommandIo, flags: TraceFlags): Promise<number> {
  const { output } = io;
  const found = await withRun(io, flags, ({ client, runId }) => client.handle(runId).trace());
  if (output.json) output.printJson(found.toJSON());
  else for (const line of traceLines(found, output)) output.print(line);
  return 0;
}
