import type { RunHandle } from '../../client/run-handle.ts';
import { ProgramResult } from '../../core/domain/run/program-result.ts';
import type { RunResult } from '../../core/domain/run/result.ts';
import { shellCommand } from '../../core/hints/shell-command.ts';
import type { CommandIo, ServerFlags } from '../program/command.ts';
import { exitCodeOfRun } from '../exit-codes.ts';
import { Interruption } from '../interruption.ts';
import { printable } from '../../core/domain/content/printable.ts';
import type { Output } from '../output.ts';
import { unitStatus } from '../render/facts.ts';
import { resultLine } from '../render/result-line.ts';
import { serverOptions } from '../program/server-options.ts';
import { stepLines } from '../timeline/step-lines.ts';
import { tellWhatWaits } from './waiting-notes.ts';
import type { ConnectedClient } from '../with-client.ts';

/**
 * Waits for the end of a run, prints its result, and returns the exit code for its status. Meanwhile reports pending
 * approvals, and on stderr if no worker takes the run or none has what it needs. An interruption does not affect the run.
 */
export async function waitForResult(
  io: CommandIo,
  { temporal }: Pick<ConnectedClient['client'], 'temporal'>,
  handle: RunHandle<unknown>,
  { flags, ...options }: { timeout?: number; steps?: boolean; flags: ServerFlags },
): Promise<number> {
  const { terminal, output } = io;
  const { signal } = terminal;
  const sayHowToWait = (): void => {
    if (signal.reason instanceof Interruption && signal.reason.exitCode !== 0) {
      const again = shellCommand('result', { operands: [handle.runId], options: serverOptions(flags), program: output.program });
      output.note(`The run goes on. Wait for it again: ${again}`);
    }
  };
  const { watchForWorker } = await import('../../client/start/worker-watch.ts');
  const ended = new AbortController();
  signal.addEventListener('abort', sayHowToWait, { once: true });
  void watchForWorker(temporal, handle.runId, ended.signal, (line) => output.note(printable(line)));
  void tellWhatWaits(io, handle, { flags, ended: AbortSignal.any([ended.signal, signal]) });
  try {
    const result = await handle.result({ ...options, signal });
    printResult(output, result);
    return exitCodeOfRun(result.status);
  } finally {
    ended.abort();
    signal.removeEventListener('abort', sayHowToWait);
  }
}

/** Prints the answer to stdout, so that it can be redirected, and everything else about the run to stderr. */
function printResult(output: Output, result: RunResult<unknown>): void {
  if (output.json) return output.printJson(result);
  for (const step of result.steps ?? []) {
    for (const line of stepLines(step, output)) output.note(line);
  }
  if (result.outputText !== '') output.print(printable(result.outputText));
  output.note(printable(resultLine(result)));
  if (result instanceof ProgramResult) for (const line of unfinishedUnits(result)) output.note(line);
  if (result.error !== null)
    output.note(`error${result.errorCode === undefined ? '' : ` (${result.errorCode})`}: ${printable(result.error)}`);
  if (result.cancelReason !== undefined) output.note(`cancelled: ${printable(result.cancelReason)}`);
}

/** Returns a line for each unit of a program that has not completed. The failure of one is also the error of the run. */
function unfinishedUnits({ units }: ProgramResult<unknown>): string[] {
  return units
    .filter(({ status }) => status !== 'completed')
    .map(({ name, status, reason }) =>
      printable(`unit ${name}: ${unitStatus({ status }, { isOver: true })}${reason === undefined ? '' : `: ${reason}`}`),
    );
}
