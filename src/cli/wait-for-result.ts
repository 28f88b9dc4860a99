import type { RunHandle } from '../client/run-handle.ts';
import type { RunResult } from '../domain/run-result.ts';
import type { CommandIo } from './command.ts';
import { exitCodeOfRun } from './exit-codes.ts';
import { Interruption } from './interruption.ts';
import { printable } from '../domain/printable.ts';
import type { Output } from './output.ts';
import { stepLines } from './step-lines.ts';
import type { ConnectedClient } from './with-client.ts';

/**
 * Waits for the end of a run, prints its result, and returns the exit code that says how it ended. Says on stderr when no
 * worker takes the run, or none has what it needs. An interruption leaves the run alone.
 */
export async function waitForResult(
  { terminal, output }: CommandIo,
  { temporal }: ConnectedClient['client'],
  handle: RunHandle<unknown>,
  options: { timeout?: number; steps?: boolean },
): Promise<number> {
  const { signal } = terminal;
  const comfort = (): void => {
    if (signal.reason instanceof Interruption && signal.reason.exitCode !== 0) {
      output.note(`The run goes on. Wait for it again: longhaul result ${handle.runId}`);
    }
  };
  const { watchForWorker } = await import('../client/worker-watch.ts');
  const over = new AbortController();
  signal.addEventListener('abort', comfort, { once: true });
  void watchForWorker(temporal, handle.runId, over.signal, (line) => output.note(printable(line)));
  try {
    const result = await handle.result({ ...options, signal });
    printResult(output, result);
    return exitCodeOfRun(result.status);
  } finally {
    over.abort();
    signal.removeEventListener('abort', comfort);
  }
}

/** The answer goes to stdout, so that it can be redirected; everything about the run goes to stderr. */
function printResult(output: Output, result: RunResult<unknown>): void {
  if (output.json) return output.printJson(result);
  for (const step of result.steps ?? []) {
    for (const line of stepLines(step, output)) output.note(line);
  }
  if (result.outputText !== '') output.print(printable(result.outputText));
  output.note(printable(result.summary()));
  if (result.error !== null)
    output.note(`error${result.errorCode === undefined ? '' : ` (${result.errorCode})`}: ${printable(result.error)}`);
  if (result.cancelReason !== undefined) output.note(`cancelled: ${printable(result.cancelReason)}`);
}
