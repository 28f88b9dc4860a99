import type { RunHandle } from '../../client/run-handle.ts';
import type { StreamItemContent } from '../../client/stream/stream-item.ts';
import { ProgramResult, type RunResult } from '../../core/domain/result.ts';
import { printable, shellCommand } from '../../core/domain/text.ts';
import type { CommandIo, ServerFlags } from '../program/command.ts';
import { exitCodeOfRun } from '../exit-codes.ts';
import { Interruption } from '../interruption.ts';
import type { Output } from '../output.ts';
import { unitStatus } from '../render/facts.ts';
import { resultLine } from '../render/result-line.ts';
import { serverOptions } from '../program/server-options.ts';
import { stepLines } from '../timeline/step-lines.ts';
import { tellWhatWaits } from './waiting-notes.ts';
import { streamedItems, liveService } from '../live/streamed-items.ts';
import { LiveRun, SILENCE_MS } from '../live/live-run.ts';
import { type ConnectedClient, resolveServerLocation } from '../with-client.ts';

/**
 * Waits for the end of a run, prints its result, and returns the exit code for its status. On a terminal, text comes as the model writes
 * it, where a service streams it. Meanwhile reports pending approvals, and on stderr that the run is working, and if no worker takes the run or none has what it needs. An interruption does not affect the run.
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
  const { watchForWorker } = await import('../../client/missing-workers.ts');
  const ended = new AbortController();
  signal.addEventListener('abort', sayHowToWait, { once: true });
  void watchForWorker(temporal, handle.runId, ended.signal, (line) => output.note(printable(line)));
  void tellWhatWaits(io, handle, { flags, ended: AbortSignal.any([ended.signal, signal]) });
  const live = new LiveRun(output);
  const silence = setTimeout(() => output.note(output.look('dim', 'The run is working …')), SILENCE_MS);
  const service = output.isLive ? liveService(terminal.env, (await resolveServerLocation(flags)).address) : undefined;
  if (service !== undefined) {
    const items = streamedItems(service, handle.runId, AbortSignal.any([ended.signal, signal]));
    void live.follow(untilFirst(items, () => clearTimeout(silence)));
  }
  try {
    const result = await handle.result({ ...options, signal });
    clearTimeout(silence);
    printResult(output, result, live.finish(result.outputText));
    return exitCodeOfRun(result.status);
  } finally {
    clearTimeout(silence);
    ended.abort();
    signal.removeEventListener('abort', sayHowToWait);
  }
}

/** Yields the items, and calls the function at the first piece of text. */
async function* untilFirst(items: AsyncIterable<StreamItemContent>, begins: () => void): AsyncGenerator<StreamItemContent> {
  for await (const item of items) {
    if (item.type === 'delta') begins();
    yield item;
  }
}

/**
 * Prints the answer to stdout, so that it can be redirected, unless it has been written there, and everything else about the run to stderr.
 */
function printResult(output: Output, result: RunResult<unknown>, isWritten: boolean): void {
  if (output.json) return output.printJson(result);
  for (const step of result.steps ?? []) {
    for (const line of stepLines(step, output)) output.note(line);
  }
  if (result.outputText !== '' && !isWritten) output.print(printable(result.outputText));
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
