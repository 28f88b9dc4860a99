import { sleep } from '../../temporal/waiting.ts';
import type { RunHandle } from '../../client/run-handle.ts';
import { shellCommand } from '../../core/domain/text.ts';
import { approvalLines } from '../render/approval-lines.ts';
import type { CommandIo, ServerFlags } from '../program/command.ts';
import { serverOptions } from '../program/server-options.ts';

/** Milliseconds between two queries of a run's pending approvals. Most runs have ended before the first. */
const EVERY_MS = 1_000;

/** The part of a run handle that is needed. */
type QueriedRun = Pick<RunHandle<unknown>, 'runId' | 'approvals'>;

/** Reports on stderr each approval that becomes pending, with the commands that decide it, until the signal is aborted. Never rejects. */
export async function tellWhatWaits(
  { output }: CommandIo,
  run: QueriedRun,
  { flags, ended, everyMs = EVERY_MS }: { flags: ServerFlags; ended: AbortSignal; everyMs?: number },
): Promise<void> {
  const { runId } = run;
  const reported = new Set<string>();
  let wasPaused = false;
  for (;;) {
    try {
      await sleep(everyMs, ended);
    } catch {
      return;
    }
    // Errors of the run are reported by the call that waits for the result.
    const approvals = await run.approvals().catch(() => undefined);
    if (ended.aborted || approvals === undefined) continue;
    for (const waiting of approvals.pending.filter(({ key }) => !reported.has(key))) {
      reported.add(waiting.key);
      output.note('The run waits for a decision:');
      for (const line of approvalLines(waiting, { output, runId, flags })) output.note(`  ${line}`);
    }
    const isPaused = approvals.status === 'paused';
    if (isPaused && !wasPaused) {
      const resume = shellCommand('resume', { operands: [runId], options: serverOptions(flags), program: output.program });
      output.note(`The run is paused. It goes on after:\n  ${resume}`);
    }
    wasPaused = isPaused;
  }
}
