import { once } from 'node:events';
import { realpathSync, statSync } from 'node:fs';
import { basename, delimiter, dirname, join, sep } from 'node:path';

/** The part of an output stream that a command uses. */
export interface OutputStream {
  write(text: string): unknown;
  readonly isTTY?: boolean;
  /** The width of a terminal; undefined for other streams. */
  readonly columns?: number;
}

/** The streams of a terminal at which a person types. */
export interface InteractiveStreams {
  readonly input: NodeJS.ReadableStream;
  readonly output: NodeJS.WritableStream;
}

/** Everything that a command uses of its process, so that tests can replace it. */
export interface Terminal {
  readonly env: NodeJS.ProcessEnv;
  readonly stdin: AsyncIterable<Uint8Array | string>;
  /** Undefined if stdin or stdout is not a terminal. */
  readonly interactive?: InteractiveStreams;
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
  /**
   * Reserves stdout for this program, and returns it: from then on, output of the user's modules goes to stderr. Called if machines read
   * stdout. Absent: nothing else prints.
   */
  readonly keepStdout?: () => OutputStream;
  /** The name of this program in commands to copy. Default `npx longhaul`. */
  readonly program?: string;
  /** Aborted with an `Interruption` on Ctrl-C, on SIGTERM, and when the reader of stdout has closed it. */
  readonly signal: AbortSignal;
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const satisfies readonly InterruptionCause[];

/** Matches the npm script of this process if it only runs this command: `npx longhaul worker`, or a script with nothing else. */
const OWN_SCRIPT = /^(?:longhaul|'longhaul'|"longhaul")(?:\s[^&|;]*)?$/;

/** Milliseconds between two checks of the parent process. */
const LOOK_EVERY_MS = 250;

/**
 * Calls a function once npm or npx, which has started this process, has ended. On SIGTERM they end with the shell between them and this
 * process, without passing the signal on: a worker would keep running. Does nothing in a process that something else started,
 * because that may be intended.
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
  return { env, stdin, stdout, stderr, keepStdout, program, signal: controller.signal, ...interactive };
}

/** Replaces the `write` of stdout, which everything in this process uses. The returned stream has the original one. */
function keepStdout(): OutputStream {
  const { stdout, stderr } = process;
  const write = stdout.write.bind(stdout);
  stdout.write = stderr.write.bind(stderr);
  return new Proxy(stdout, {
    get: (stream, name) => {
      if (name === 'write') return write;
      const value: unknown = Reflect.get(stream, name, stream);
      return typeof value === 'function' ? (value.bind(stream) as unknown) : value;
    },
  });
}

/**
 * The facts that decide how this program is called from the current folder, so that printed commands can be copied unchanged.
 */
interface ProgramLocation {
  /** The file that is running. */
  main: string;
  cwd: string;
  env: NodeJS.ProcessEnv;
}

/**
 * Returns `longhaul` if the shell finds it, otherwise `npx longhaul`. A copy in `node_modules/.bin` does not count:
 * only npm puts that folder on the PATH.
 */
export function programName({ main, cwd, env }: ProgramLocation): string {
  const onPath = (env['PATH'] ?? '')
    .split(delimiter)
    .filter((folder) => folder !== '' && !folder.endsWith(join('node_modules', '.bin')))
    .flatMap((folder) => ['longhaul', 'longhaul.cmd'].map((name) => join(folder, name)))
    .find(isFile);
  if (onPath === undefined) return 'npx longhaul';
  // If the project has its own copy, the one on the PATH may be another version.
  return isOfProject(realPath(main), cwd) && realPath(onPath) !== realPath(main) ? 'npx longhaul' : 'longhaul';
}

/** True if a file is in the `node_modules` of the folder or of a parent folder. */
function isOfProject(file: string, cwd: string): boolean {
  for (let folder = realPath(cwd); ; folder = dirname(folder)) {
    if (basename(folder) !== 'node_modules' && file.startsWith(join(folder, 'node_modules') + sep)) return true;
    if (folder === dirname(folder)) return false;
  }
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() === true;
}

function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

/**
 * The causes that end a command early, and the exit code of each: 128 plus the number of the signal, as shells count.
 */
const EXITS = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129, 'output closed': 0 } as const;

/** The cause that ended a command early. */
type InterruptionCause = keyof typeof EXITS;

/** The reason of the terminal's signal. It is never reported, because the user caused it. */
export class Interruption extends Error {
  override readonly name = 'Interruption';
  readonly by: InterruptionCause;

  constructor(by: InterruptionCause) {
    super(`interrupted: ${by}`);
    this.by = by;
  }

  /** The exit code of an interrupted command. */
  get exitCode(): number {
    return EXITS[this.by];
  }
}

/**
 * Waits for the work, or rejects with the reason of the signal as soon as it is aborted, even if the work continues.
 */
export async function untilInterrupted<Value>(signal: AbortSignal, work: Promise<Value>): Promise<Value> {
  let abort = (): void => undefined;
  const interrupted = new Promise<never>((_, reject) => {
    abort = () => reject(signal.reason as Error);
    if (signal.aborted) abort();
    else signal.addEventListener('abort', abort, { once: true });
  });
  try {
    return await Promise.race([interrupted, work]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}

/** Waits for the end of a command that serves. */
export async function untilEnded(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, 'abort');
}

/** Returns a text from the command line, or all of stdin for "-". */
export async function textOrStdin(text: string, { stdin, signal }: Pick<Terminal, 'stdin' | 'signal'>): Promise<string> {
  return text === '-' ? await untilInterrupted(signal, readAll(stdin)) : text;
}

async function readAll(stdin: AsyncIterable<Uint8Array | string>): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of stdin) chunks.push(typeof chunk === 'string' ? Buffer.from(chunk) : chunk);
  // The line break at the end belongs to the shell, not to the user's text.
  return Buffer.concat(chunks)
    .toString('utf8')
    .replace(/\r?\n$/, '');
}
