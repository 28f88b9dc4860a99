import { sleep } from '../../temporal/waiting.ts';
import type { RunHandle } from '../../client/run-handle.ts';
import { shellCommand } from '../../core/hints/shell-command.ts';
import { approvalLines } from '../render/approval-lines.ts';
import type { CommandIo, ServerFlags } from '../program/command.ts';
import { serverOptions } from '../program/server-options.ts';

/** How often a run is asked what it waits for, in milliseconds. Most have ended before the first time. */
const EVERY_MS = 1_000;

/** What of a run is asked. */
type AskedRun = Pick<RunHandle<unknown>, 'runId' | 'approvals'>;

/** Says on stderr what a run begins to wait for, each with the commands that decide it, until the signal is aborted. Never rejects. */
export async function tellWhatWaits(
  { output }: CommandIo,
  run: AskedRun,
  { flags, over, everyMs = EVERY_MS }: { flags: ServerFlags; over: AbortSignal; everyMs?: number },
): Promise<void> {
  const { runId } = run;
  const told = new Set<string>();
  let wasPaused = false;
  for (;;) {
    try {
      await sleep(everyMs, over);
    } catch {
      return;
    }
    // Whoever waits for the result hears what goes wrong with the run.
    const asked = await run.approvals().catch(() => undefined);
    if (over.aborted || asked === undefined) continue;
    for (const waiting of asked.pending.filter(({ key }) => !told.has(key))) {
      told.add(waiting.key);
      output.note('The run waits for a decision:');
      for (const line of approvalLines(waiting, { output, runId, flags })) output.note(`  ${line}`);
    }
    const isPaused = asked.status === 'paused';
    if (isPaused && !wasPaused) {
      const resume = shellCommand('resume', { operands: [runId], options: serverOptions(flags), program: output.program });
      output.note(`The run is paused. It goes on after:\n  ${resume}`);
    }
    wasPaused = isPaused;
  }
}
