import type { CommandIo, ServerFlags } from '../program/command.ts';
import { eventLines } from '../render/print-event.ts';
import { followProgress } from '../render/progress-lines.ts';
import { runTimes } from '../timeline/times.ts';
import { withRun } from '../with-run.ts';

/** The options of `longhaul events`. */
export interface EventsFlags extends ServerFlags {
  runId: string;
  follow?: boolean;
  from: number;
}

/** Prints the events of a run from an offset on; with `--follow` until the run has ended, and the progress that its calls report. */
export async function events(io: CommandIo, { follow = false, from, ...flags }: EventsFlags): Promise<number> {
  const { output, terminal } = io;
  const { signal, stdout } = terminal;
  await withRun(io, flags, async ({ client, runId }) => {
    const { start } = await runTimes(client, runId);
    const width = stdout.isTTY === true ? stdout.columns : undefined;
    const look = { startedAt: start.toISOString(), look: output.look.bind(output), ...(width === undefined ? {} : { width }) };
    let offset = from;
    const handle = client.handle(runId);
    const ended = new AbortController();
    const progress = follow ? followProgress(handle, output, AbortSignal.any([signal, ended.signal])) : undefined;
    try {
      for await (const event of handle.events({ from, follow, signal })) {
        if (output.json) output.printJson({ offset, ...event });
        else for (const line of eventLines(event, look)) output.print(line);
        offset += 1;
      }
    } finally {
      ended.abort();
      await progress;
    }
  });
  return 0;
}
