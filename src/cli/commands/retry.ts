import type { RunHandle } from '../../client/run-handle.ts';
import { shellCommand } from '../../core/domain/text.ts';
import type { CommandIo, ServerFlags } from '../program/command.ts';
import { serverOptions } from '../program/server-options.ts';
import { withRun } from '../with-run.ts';

/** The options of `longhaul retry`. */
export interface RetryFlags extends ServerFlags {
  runId: string;
  fromStep?: number;
}

/** Lets a run that has ended go on from a step. */
export async function retry(io: CommandIo, flags: RetryFlags): Promise<number> {
  return withRun(io, flags, async ({ client, runId }) => retryOf(io, client.handle<unknown>(runId), flags));
}

/** Retries the run of a handle. Prints the run id, and on stderr the command that waits for it. */
export async function retryOf(
  { output }: CommandIo,
  run: Pick<RunHandle<unknown>, 'runId' | 'retry'>,
  { fromStep, ...flags }: Omit<RetryFlags, 'runId'>,
): Promise<number> {
  const receipt = await run.retry(fromStep === undefined ? {} : { fromStep });
  if (output.json) {
    output.printJson(receipt);
    return 0;
  }
  output.print(run.runId);
  output.note(
    `It goes on from step ${receipt.fromStep}. Wait for it: ${shellCommand('result', { operands: [run.runId], options: serverOptions(flags), program: output.program })}`,
  );
  if (receipt.dropped.length > 0) {
    output.note(`Requests after that step are no longer part of the run, and can be sent again: ${receipt.dropped.join(', ')}`);
  }
  return 0;
}
