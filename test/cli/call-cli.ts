import { Readable } from 'node:stream';
import { runCli } from '../../src/cli/run-cli.ts';

/** The result of a call of the command line. */
export interface CliOutcome {
  exitCode: number;
  stdout: string;
  stderr: string;
}

/** Options of a call. By default it runs in a pipe, without input and without a signal. */
export interface CliCallOptions {
  stdin?: string;
  env?: NodeJS.ProcessEnv;
  isTTY?: boolean;
  signal?: AbortSignal;
  /** Called with the whole stdout so far, after each write. */
  onStdout?: (text: string) => void;
}

/** Calls the command line in this process, and keeps all its output. */
export async function callCli(args: readonly string[], options: CliCallOptions = {}): Promise<CliOutcome> {
  const { stdin = '', env = {}, isTTY = false, signal = new AbortController().signal, onStdout } = options;
  const outcome: CliOutcome = { exitCode: -1, stdout: '', stderr: '' };
  const stdout = {
    isTTY,
    write: (text: string) => {
      outcome.stdout += text;
      onStdout?.(outcome.stdout);
    },
  };
  const stderr = { isTTY, write: (text: string) => (outcome.stderr += text) };
  outcome.exitCode = await runCli(args, { env, stdin: Readable.from([stdin]), stdout, stderr, signal });
  return outcome;
}
