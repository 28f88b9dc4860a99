import { type ChildProcess, fork } from 'node:child_process';
import { dirname, extname, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { changedFiles } from './changed-files.ts';
import type { CommandIo } from '../program/command.ts';
import type { DevWorkerFlags, DevWorkerLocation, DevWorkerReady } from './dev-worker.ts';
import { DevBundle } from './dev-bundle.ts';
import { EXIT_CODES } from '../exit-codes.ts';

const MODULE = fileURLToPath(import.meta.url);
/** The program of the worker, beside this file: TypeScript in the repository and JavaScript in the package. */
const PROCESS = resolve(dirname(MODULE), `dev-worker-process${extname(MODULE)}`);

/** The options of a worker that restarts when a file changes. */
export interface WatchOptions {
  flags: DevWorkerFlags;
  location: DevWorkerLocation;
  /** Called when the first worker polls. */
  ready: (worker: DevWorkerReady) => void | Promise<void>;
}

/**
 * Runs a worker until the terminal's signal, and replaces it each time a code file beside the agents or the workflows
 * changes. The old worker takes nothing new and finishes its calls while the new one starts, so runs continue.
 */
export async function watchWorker(io: CommandIo, { flags, location, ready }: WatchOptions): Promise<number> {
  const { signal } = io.terminal;
  const bundle = new DevBundle(flags.workflows);
  const running = new Set<Promise<boolean>>();
  let isAnnounced = false;
  let current: ChildProcess | undefined;
  let spare: ChildProcess | undefined;

  const start = (changedAt?: number): void => {
    const child = spare ?? newProcess();
    spare = undefined;
    current = child;
    child.send({ flags, location: { ...location, bundleFile: bundle.file } });
    child.once('message', (worker: unknown) => {
      if (!isAnnounced) void ready(worker as DevWorkerReady);
      else if (changedAt !== undefined) io.output.note(`The worker polls again, after ${((Date.now() - changedAt) / 1000).toFixed(1)} s.`);
      isAnnounced = true;
      if (!signal.aborted) spare ??= newProcess();
    });
    const end: Promise<boolean> = ended(child).then((code) => {
      if (child === current && !signal.aborted)
        io.output.note(`The worker has ended (exit code ${code}): it starts anew when a file changes.`);
      return running.delete(end);
    });
    running.add(end);
  };

  await bundle.look();
  start();
  for await (const changed of changedFiles(watchedFolders(flags), signal)) {
    io.output.note(io.output.look('dim', `${namesOf(changed)}: restarting the worker`));
    bundle.changed(changed);
    await bundle.look();
    current?.kill('SIGTERM');
    start(Date.now());
  }
  current?.kill('SIGTERM');
  spare?.kill('SIGKILL');
  await Promise.all(running);
  return EXIT_CODES.ok.code;
}

/**
 * Starts a worker in its own process group: Ctrl-C in the terminal reaches only the session, which lets the worker
 * finish its calls.
 */
function newProcess(): ChildProcess {
  const child = fork(PROCESS, [], { detached: true, stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  // A message to a process that has ended fails; its end is reported separately.
  child.on('error', () => undefined);
  return child;
}

function ended(child: ChildProcess): Promise<number | null> {
  return new Promise((resolveEnd) => child.once('close', (code) => resolveEnd(code)));
}

/** Returns the folders of the modules, each once. */
function watchedFolders({ agents, workflows }: DevWorkerFlags): string[] {
  const folders = [agents, workflows].flatMap((path) => (path === undefined ? [] : [dirname(resolve(path))]));
  return [...new Set(folders)].filter((folder) => !folders.some((other) => other !== folder && folder.startsWith(`${other}/`)));
}

function namesOf([first = '', ...others]: readonly string[]): string {
  const name = relative(process.cwd(), first);
  return others.length === 0 ? `${name} has changed` : `${name} and ${others.length} more have changed`;
}
