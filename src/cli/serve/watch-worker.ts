import { type ChildProcess, fork } from 'node:child_process';
import { readdir, stat } from 'node:fs/promises';
import { dirname, extname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { sleep } from '../../temporal/waiting.ts';
import { EXIT_CODES } from '../exit-codes.ts';
import type { CommandIo } from '../define-command.ts';
import { DevBundle, type DevWorkerFlags, type DevWorkerLocation, type DevWorkerReady } from './dev-worker.ts';

const MODULE = fileURLToPath(import.meta.url);
/** The program of the worker, next to this file: TypeScript in the repository and JavaScript in the package. */
const PROCESS = resolve(dirname(MODULE), `dev-worker-process${extname(MODULE)}`);

/** The options of a worker that restarts when a file changes. */
interface WatchOptions {
  flags: DevWorkerFlags;
  location: DevWorkerLocation;
  /** Called when the first worker polls. */
  ready: (worker: DevWorkerReady) => void | Promise<void>;
}

/**
 * Runs a worker until the terminal's signal, and replaces it each time a code file next to the agents or the workflows
 * changes. The old worker takes nothing new and finishes its calls while the new one starts, so runs continue.
 */
export async function watchWorker(io: CommandIo, { flags, location, ready }: WatchOptions): Promise<number> {
  const { signal } = io.terminal;
  const newProcess = (): ChildProcess => startProcess(io.output.json);
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
    const end: Promise<boolean> = exitCodeOf(child).then((code) => {
      if (child === current && !signal.aborted)
        io.output.note(`The worker has ended (exit code ${code}): it restarts when a file changes.`);
      return running.delete(end);
    });
    running.add(end);
  };

  await bundle.look();
  start();
  for await (const changed of changedFiles(watchedFolders(flags), signal)) {
    io.output.note(io.output.look('dim', `${fileNames(changed)}: restarting the worker`));
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

const STDERR = 2;

/**
 * Starts a worker in its own process group: Ctrl-C in the terminal reaches only the session, which lets the worker
 * finish its calls. `json`: stdout is for machines, so output of the user's modules goes to stderr.
 */
function startProcess(json: boolean): ChildProcess {
  const child = fork(PROCESS, [], { detached: true, stdio: ['ignore', json ? STDERR : 'inherit', 'inherit', 'ipc'] });
  // A message to a process that has ended fails; its end is reported separately.
  child.on('error', () => undefined);
  return child;
}

function exitCodeOf(child: ChildProcess): Promise<number | null> {
  return new Promise((resolveEnd) => child.once('close', (code) => resolveEnd(code)));
}

/** Returns the folders of the modules, each once. */
function watchedFolders({ agents, workflows }: DevWorkerFlags): string[] {
  const folders = [agents, workflows].flatMap((path) => (path === undefined ? [] : [dirname(resolve(path))]));
  return [...new Set(folders)].filter((folder) => !folders.some((other) => other !== folder && folder.startsWith(`${other}/`)));
}

function fileNames([first = '', ...others]: readonly string[]): string {
  const name = relative(process.cwd(), first);
  return others.length === 0 ? `${name} has changed` : `${name} and ${others.length} more have changed`;
}

/** Names of files that code is loaded from. */
const CODE = /\.(?:[mc]?[jt]s|json)$/;

/** Folders that are not watched: packages and hidden folders. */
const SKIPPED = /^(?:node_modules|\..*)$/;

/**
 * The interval between two checks of the files, in milliseconds. Polling works everywhere, including network drives
 * and containers.
 */
const EVERY_MS = 250;

/** The number of checks of files that keep changing before the change is reported anyway. */
const MOST_LOOKS = 4;

/**
 * Yields the code files below the folders that were changed, added or removed, each time there are some, until the
 * signal is aborted.
 */
export async function* changedFiles(folders: readonly string[], signal: AbortSignal, everyMs = EVERY_MS): AsyncGenerator<string[]> {
  let before = await fileStamps(folders);
  const changed = new Set<string>();
  let looks = 0;
  for (;;) {
    try {
      await sleep(everyMs, signal);
    } catch {
      return;
    }
    const now = await fileStamps(folders);
    const news = [...new Set([...before.keys(), ...now.keys()])].filter((path) => before.get(path) !== now.get(path));
    before = now;
    for (const path of news) changed.add(path);
    if (changed.size === 0) continue;
    looks += 1;
    // Writing often empties a file first, and an editor saves several files: these count as one change.
    if (news.length > 0 && looks < MOST_LOOKS) continue;
    yield [...changed];
    changed.clear();
    looks = 0;
  }
}

/** Returns the modification time and size of each file. */
async function fileStamps(folders: readonly string[]): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  const look = async (folder: string): Promise<void> => {
    const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
    await Promise.all(
      entries.map(async (entry) => {
        const path = join(folder, entry.name);
        if (entry.isDirectory()) return SKIPPED.test(entry.name) ? undefined : look(path);
        if (!CODE.test(entry.name)) return undefined;
        const file = await stat(path).catch(() => undefined);
        if (file !== undefined) found.set(path, `${file.mtimeMs} ${file.size}`);
        return undefined;
      }),
    );
  };
  for (const folder of folders) await look(folder);
  return found;
}
