import type { CommandIo, ServerFlags } from '../../program/command.ts';
import { traceLines } from '../../render/trace-lines.ts';
import { withClient } from '../../with-client.ts';

/** The options of `longhaul trace`. */
export interface TraceFlags extends ServerFlags {
  runId: string;
}

/** Prints the trace of a run, while it continues and after it has ended. */
export async function trace(io: CommandIo, { runId, ...flags }: TraceFlags): Promise<number> {
  const { output } = io;
  const found = await withClient(io, flags, ({ client }) => client.handle(runId).trace());
  if (output.json) output.printJson(found.toJSON());
  else for (const line of traceLines(found, output)) output.print(line);
  return 0;
}
