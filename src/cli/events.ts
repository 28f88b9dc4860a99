import type { CommandIo, ServerFlags } from './command.ts';
import { eventLines } from './print-event.ts';
import { runTimes } from './run-times.ts';
import { withClient } from './with-client.ts';

/** The options of `longhaul events`. */
export interface EventsFlags extends ServerFlags {
  runId: string;
  follow?: boolean;
  from: number;
}

/** Prints the events of a run from an offset on; following, until the run has ended. */
export async function events(io: CommandIo, { runId, follow = false, from, ...flags }: EventsFlags): Promise<number> {
  const { output, terminal } = io;
  const { signal, stdout } = terminal;
  await withClient(io, flags, async ({ client }) => {
    const { start } = await runTimes(client, runId);
    const width = stdout.isTTY === true ? stdout.columns : undefined;
    const look = { startedAt: start.getTime() / 1000, look: output.look.bind(output), ...(width === undefined ? {} : { width }) };
    let offset = from;
    for await (const event of client.handle(runId).events({ from, follow, signal })) {
      if (output.json) output.printJson({ offset, ...event });
      else for (const line of eventLines(event, look)) output.print(line);
      offset += 1;
    }
  });
  return 0;
}
