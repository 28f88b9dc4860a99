import { Interruption, type InterruptionCause } from './interruption.ts';
import { programName } from './program-name.ts';
import type { Terminal } from './terminal.ts';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const satisfies readonly InterruptionCause[];

/** The script of npm whose process this is, if it is the command itself: `npx longhaul worker`, or a script that runs nothing beside it. */
const OWN_SCRIPT = /^(?:longhaul|'longhaul'|"longhaul")(?:\s[^&|;]*)?$/;

/** Milliseconds between two looks at the parent process. */
const LOOK_EVERY_MS = 250;

/**
 * Calls a function once npm or npx, which has started this process, is gone. They end on SIGTERM with the shell between them and this
 * process, and pass the signal to neither: a worker would stay behind, and go on. Nothing is done in a process that something else started,
 * because that may leave it behind on purpose.
 */
function whenLauncherEnds({ npm_lifecycle_script: script }: NodeJS.ProcessEnv, ended: () => void): void {
  if (script === undefined || !OWN_SCRIPT.test(script)) return;
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    ended();
  }, LOOK_EVERY_MS);
  timer.unref();
}

/** Returns the terminal of this process. A second signal ends the process immediately. */
export function processTerminal(): Terminal {
  const controller = new AbortController();
  const interrupt = (by: InterruptionCause): void => {
    const interruption = new Interruption(by);
    if (controller.signal.aborted) process.exit(interruption.exitCode);
    controller.abort(interruption);
  };
  for (const name of SIGNALS) process.on(name, () => interrupt(name));
  whenLauncherEnds(process.env, () => interrupt('SIGTERM'));
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
