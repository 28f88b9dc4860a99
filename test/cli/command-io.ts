import { Readable } from 'node:stream';
import type { CommandIo } from '../../src/cli/define-command.ts';
import { Output } from '../../src/cli/output.ts';

/** Input and output of a command in place of a terminal, with its whole output kept. */
export interface KeptIo {
  io: CommandIo;
  stdout(): string;
  stderr(): string;
  /** Each line of stdout as JSON. */
  json(): unknown[];
}

/** A pipe without input; `signal` ends the command early. */
export function commandIo({ json = false, signal = new AbortController().signal }: { json?: boolean; signal?: AbortSignal } = {}): KeptIo {
  const said = { stdout: '', stderr: '' };
  const terminal = {
    env: {},
    stdin: Readable.from([]),
    stdout: { write: (text: string) => (said.stdout += text) },
    stderr: { write: (text: string) => (said.stderr += text) },
    signal,
  };
  return {
    io: { terminal, output: new Output(terminal, json) },
    stdout: () => said.stdout,
    stderr: () => said.stderr,
    json: () =>
      said.stdout
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line) as unknown),
  };
}
