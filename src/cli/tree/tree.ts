import type { CommandIo, ServerFlags } from '../program/command.ts';
import { treeLines } from './tree-lines.ts';
import { withRun } from '../with-run.ts';

/** The options of `longhaul tree`. */
export interface TreeFlags extends ServerFlags {
  runId: string;
}

/** Prints a run with the runs below it, while they go on and after they have ended. */
export async function tree(io: CommandIo, flags: TreeFlags): Promise<number> {
  const { output } = io;
  const found = await withRun(io, flags, ({ client, runId }) => client.handle(runId).tree());
  if (output.json) output.printJson(found);
  else for (const line of treeLines(found, output)) output.print(line);
  return 0;
}
