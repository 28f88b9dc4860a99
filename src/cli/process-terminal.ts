import { Interruption, type InterruptionCause } from './interruption.ts';
import { programName } from './program-name.ts';
import type { Terminal } from './terminal.ts';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const satisfies readonly InterruptionCause[];

/** Returns the terminal of this process. A second signal ends the process immediately. */
export function processTerminal(): Terminal {
  const controller = new AbortController();
  const interrupt = (by: InterruptionCause): void => {
    const interruption = new Interruption(by);
    if (controller.signal.aborted) process.exit(interruption.exitCode);
    controller.abort(interruption);
  };
  for (const name of SIGNALS) process.on(name, () => interrupt(name));
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE') throw error;
      // Writing keeps failing until the command has ended; later failures are not a second interruption.
      if (!controller.signal.aborted) interrupt('output closed');
    });
  }
  const { env, stdin, stdout, stderr } = process;
  const program = programName({ main: process.argv[1] ?? '', cwd: process.cwd(), env });
  const interactive = stdin.isTTY && stdout.isTTY ? { interactive: { input: stdin, output: stdout } } : {};
  return { env, stdin, stdout, stderr, program, signal: controller.signal, ...interactive };
}
