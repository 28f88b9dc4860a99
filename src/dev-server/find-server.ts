import { rmSync } from 'node:fs';
import { access, chmod, constants, lstat, mkdir, mkdtemp, readdir, rename, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, extname, join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import envPaths from 'env-paths';
import { joinedLines } from '../core/domain/text.ts';
import { errorMessage } from '../core/domain/errors.ts';
import { atExit, type GuardedProcess, type ProcessSpec, startProcess } from './guarded-process.ts';
import { allStartFlags, cliEnvironment, DevServerError, isReachable } from './start-flags.ts';

const REACHABLE_MS = 5_000;

/**
 * Options of the search. `say` receives a line for what cannot be used, and the progress of a download or a build, which take minutes.
 * `env` defaults to the environment of this process.
 */
export interface FindServerOptions {
  say?: ((line: string) => void) | undefined;
  env?: NodeJS.ProcessEnv | undefined;
  signal?: AbortSignal | undefined;
}

/**
 * A running server, or a CLI that can start one. `source` names where it was found; `provisionMs` is the time that a
 * download or a build took, or 0.
 */
export type FoundServer =
  | { type: 'running'; source: string; address: string; namespace: string }
  | { type: 'cli'; source: string; cliPath: string; serverVersion: string; provisionMs: number };

type FoundCli = Omit<Extract<FoundServer, { type: 'cli' }>, 'type' | 'source'>;

interface Search extends ProvisionContext {
  cache: CliCache;
}

interface Link {
  source: string;
  /** Throws an error with the reason as its message if it finds nothing. */
  find: (search: Search) => Promise<FoundCli>;
}

/** Thrown for a place of the search without a server or CLI, which is the usual case. */
class NothingThere extends Error {
  override readonly name = 'NothingThere';
}

const GRACE_MS = 2_000;

const PROBE_MS = 15_000;
const OLDEST_SERVER = [1, 29] as const;

const PARTIAL = '.downloading';

const REMOVE = { recursive: true, force: true, maxRetries: 5, retryDelay: 50 };

const INTERVAL_MS = 3_000;
// If the download host is blocked without an answer, the SDK would wait for minutes.
const FIRST_BYTE_MS = 5_000;
const STALL_MS = 20_000;
const POLL_MS = 100;
const DOWNLOAD_GRACE_MS = 500;

/** The newest version of the CLI that Go can install: later versions replace a module that no module proxy serves. */
const CLI_PACKAGE = 'github.com/temporalio/cli/cmd/temporal@v1.5.1';

const LINKS: readonly Link[] = [
  { source: 'TEMPORAL_CLI_PATH', find: findNamed },
  { source: 'temporal on the PATH', find: findInstalled },
  { source: 'the cache', find: findCached },
  { source: 'the download by the SDK', find: download },
  { source: 'go install', find: build },
];

/**
 * Finds a Temporal server, or a CLI that can start one. The first of these that works is used: `TEMPORAL_ADDRESS`,
 * `TEMPORAL_CLI_PATH`, `temporal` on the PATH, the cache, the SDK's download, a build with Go. Throws a
 * `DevServerError` that lists all attempts if every one fails or `TEMPORAL_ADDRESS` does not answer, and the signal's
 * reason on abort.
 */
export async function findServer(options: FindServerOptions = {}): Promise<FoundServer> {
  const { say = () => undefined, env = process.env, signal } = options;
  const search: Search = { say, env, signal, cache: cliCache(env) };
  const misses: string[] = [];
  const miss = (source: string, reason: string): void => void misses.push(`${source}: ${reason}`);

  if (env['TEMPORAL_ADDRESS']) return await useRunning(env['TEMPORAL_ADDRESS'], search);
  miss('TEMPORAL_ADDRESS', 'not set');
  for (const link of LINKS) {
    signal?.throwIfAborted();
    try {
      return { type: 'cli', source: link.source, ...(await link.find(search)) };
    } catch (error) {
      signal?.throwIfAborted();
      miss(link.source, joinedLines(errorMessage(error), ' · '));
      // The user should know what cannot be used before another way takes minutes.
      if (!(error instanceof NothingThere)) say(misses.at(-1) ?? '');
    }
  }
  throw new DevServerError(nothingFound(misses));
}

async function useRunning(address: string, search: Search): Promise<FoundServer> {
  const reachable = await isReachable(address, REACHABLE_MS, search.signal);
  search.signal?.throwIfAborted();
  if (!reachable) {
    throw new DevServerError(
      `Nothing answers at TEMPORAL_ADDRESS "${address}". Start that server, or unset TEMPORAL_ADDRESS to have a local one provided.`,
    );
  }
  return { type: 'running', source: 'TEMPORAL_ADDRESS', address, namespace: search.env['TEMPORAL_NAMESPACE'] || 'default' };
}

async function findNamed(search: Search): Promise<FoundCli> {
  const named = search.env['TEMPORAL_CLI_PATH'];
  if (!named) throw new NothingThere('not set');
  const cliPath = resolve(named);
  if (!(await isExecutable(cliPath))) throw new Error(`"${cliPath}" is not an executable file`);
  return await probed(cliPath, search);
}

async function findInstalled(search: Search): Promise<FoundCli> {
  const cliPath = await findOnPath('temporal', search.env);
  if (cliPath === undefined) throw new NothingThere('not found');
  return await probed(cliPath, search);
}

async function findCached(search: Search): Promise<FoundCli> {
  const { cliPath, directory } = search.cache;
  if (!(await isExecutable(cliPath))) throw new NothingThere(`nothing in "${directory}" yet`);
  return await probed(cliPath, search);
}

async function download(search: Search): Promise<FoundCli> {
  const earlier = await earlierSdkDownload(search.env);
  if (earlier !== undefined) return await probed(earlier, search);
  return await provideCli(downloadWithSdk, search);
}

async function build(search: Search): Promise<FoundCli> {
  return await provideCli(buildWithGo, search);
}

async function probed(cliPath: string, search: Search): Promise<FoundCli> {
  return { cliPath, serverVersion: await probeCli(cliPath, search), provisionMs: 0 };
}

async function provideCli(make: (directory: string, context: ProvisionContext) => Promise<string>, search: Search): Promise<FoundCli> {
  const start = performance.now();
  let serverVersion = '';
  await installInCache(search.cache, async (directory) => {
    const executable = await make(directory, search);
    serverVersion = await probeCli(executable, search);
    return executable;
  });
  return { cliPath: search.cache.cliPath, serverVersion, provisionMs: performance.now() - start };
}

function nothingFound(misses: readonly string[]): string {
  return [
    'No local Temporal server could be found or provided. Tried:',
    ...misses.map((line) => `  - ${line}`),
    'Three ways out:',
    '  1. Install the Temporal CLI (server 1.29 or newer), so that `temporal` is on the PATH.',
    '  2. Set TEMPORAL_CLI_PATH to such a CLI, or TEMPORAL_ADDRESS to a server that runs already.',
    '  3. Install Go: the CLI is then built from source once, and kept in the cache.',
  ].join('\n');
}

/** The location of a downloaded or built CLI. */
interface CliCache {
  directory: string;
  cliPath: string;
}

/** Returns the cache in the user's cache directory, or in the directory that `LONGHAUL_CACHE` names. */
export function cliCache(env: NodeJS.ProcessEnv): CliCache {
  const directory = resolve(env['LONGHAUL_CACHE'] || envPaths('longhaul', { suffix: '' }).cache);
  return { directory, cliPath: join(directory, executableName(`temporal-${process.platform}-${process.arch}`)) };
}

/**
 * Lets `provide` create an executable in a separate directory, and moves it into the cache in one step. Another
 * process sees either nothing or the whole file, and two concurrent processes each install a whole one. The directory
 * is always removed, even if this process exits in the middle.
 */
async function installInCache(cache: CliCache, provide: (directory: string) => Promise<string>): Promise<void> {
  await mkdir(cache.directory, { recursive: true });
  const unfinished = await mkdtemp(join(cache.directory, 'unfinished-'));
  const forget = atExit(() => rmSync(unfinished, REMOVE));
  try {
    const executable = await provide(unfinished);
    await chmod(executable, 0o755);
    await rename(executable, cache.cliPath);
  } finally {
    await rm(unfinished, REMOVE);
    forget();
  }
}

/** The environment and signal for probing a CLI. */
interface ProbeContext {
  env: NodeJS.ProcessEnv;
  signal?: AbortSignal | undefined;
}

/**
 * Returns the version of the server in a Temporal CLI. Throws an error with the reason as its message if the file is
 * not a Temporal CLI, its server is older than 1.29, or it does not accept the flags that servers are started with
 * here.
 */
async function probeCli(cliPath: string, context: ProbeContext): Promise<string> {
  const answered = await runCli(cliPath, ['--version'], context);
  if (answered.code !== 0) throw new Error(`"${cliPath}" does not run: ${firstLine(answered.output)}`);
  const version = /server\s+v?(\d+)\.(\d+)(?:\.\d+)?/i.exec(answered.output);
  if (version === null) throw new Error(`"${cliPath}" does not say which server it contains: ${firstLine(answered.output)}`);
  const number = version[0].replace(/^\D+/, '');
  if (isOlder(Number(version[1]), Number(version[2]))) {
    throw new Error(`"${cliPath}" contains server ${number}, which is older than ${OLDEST_SERVER.join('.')}`);
  }
  // With --help the CLI still parses every flag before it, and starts nothing.
  const flags = await runCli(cliPath, [...allStartFlags(), '--help'], context);
  if (flags.code !== 0)
    throw new Error(
      `"${cliPath}" cannot take the flags it is started with: ${/unknown (?:shorthand )?flag[^\n]*/.exec(flags.output)?.[0] ?? firstLine(flags.output)}`,
    );
  return number;
}

async function runCli(cliPath: string, args: readonly string[], context: ProbeContext): Promise<{ code: number | null; output: string }> {
  try {
    return await runProcess({ file: cliPath, args, env: cliEnvironment(context.env) }, { signal: context.signal, timeoutMs: PROBE_MS });
  } catch (error) {
    context.signal?.throwIfAborted();
    throw new Error(`"${cliPath} ${args.slice(0, 2).join(' ')}" did not answer within ${PROBE_MS / 1000} s`, { cause: error });
  }
}

function isOlder(major: number, minor: number): boolean {
  return major < OLDEST_SERVER[0] || (major === OLDEST_SERVER[0] && minor < OLDEST_SERVER[1]);
}

function firstLine(output: string): string {
  return output.trim().split('\n', 1)[0]?.slice(0, 200) || 'it printed nothing';
}

/**
 * Builds the Temporal CLI from source with Go, in a directory, and returns the path of the executable. Throws an
 * error with the reason as its message if Go is missing or the build fails, and the signal's reason on abort.
 */
async function buildWithGo(directory: string, context: ProvisionContext): Promise<string> {
  const go = await findOnPath('go', context.env);
  if (go === undefined) throw new Error('no `go` on the PATH');
  const work = join(directory, 'work');
  await mkdir(work);
  context.say(`building the Temporal CLI with "go install ${CLI_PACKAGE}": a first build takes 2 to 4 minutes, later starts use the cache`);
  const counts = { modules: 0, packages: 0 };
  const progress = reportProgress(
    context.say,
    (seconds) => `building the Temporal CLI: ${counts.modules} modules downloaded, ${counts.packages} packages compiled, ${seconds} s`,
  );
  try {
    const { code, output } = await runProcess(
      {
        file: go,
        args: ['install', '-v', CLI_PACKAGE],
        env: { ...context.env, GOBIN: directory, GOTMPDIR: work, GOFLAGS: '-buildvcs=false', GOOS: '', GOARCH: '' },
        cwd: directory,
        unfinished: directory,
        onOutput: lineCounter(counts),
      },
      { signal: context.signal },
    );
    if (code !== 0) throw new Error(`go install failed: ${output.trim().split('\n').slice(-3).join(' · ') || `exit code ${code}`}`);
  } finally {
    progress.stop();
  }
  return join(directory, executableName('temporal'));
}

// With -v, Go prints a line for each module it downloads and one for each package it compiles.
function lineCounter(counts: { modules: number; packages: number }): (text: string) => void {
  let rest = '';
  return (text) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      if (line.startsWith('go: downloading ')) counts.modules += 1;
      else if (!line.startsWith('go: ')) counts.packages += 1;
    }
  };
}

/** Returns the name of an executable file on this platform. */
function executableName(name: string): string {
  return process.platform === 'win32' ? `${name}.exe` : name;
}

/** Returns the first executable with this name on the PATH, or undefined. */
async function findOnPath(name: string, env: NodeJS.ProcessEnv): Promise<string | undefined> {
  for (const directory of (env['PATH'] ?? '').split(delimiter)) {
    const candidate = join(directory, executableName(name));
    if (directory !== '' && (await isExecutable(candidate))) return candidate;
  }
  return undefined;
}

/** True for a file that this user may execute. */
async function isExecutable(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK);
    return (await stat(path)).isFile();
  } catch {
    return false;
  }
}

/** The end of a program: its exit code and the end of what it printed. */
interface ProcessOutcome {
  code: number | null;
  output: string;
}

/** Limits of a program's run: a signal, a time limit in milliseconds, or both. */
interface ProcessBounds {
  signal?: AbortSignal | undefined;
  timeoutMs?: number;
}

/**
 * Runs a program to its end. Throws the signal's reason on abort, and an error when the time limit has passed; in
 * both cases the program is ended completely.
 */
async function runProcess(spec: ProcessSpec, bounds: ProcessBounds): Promise<ProcessOutcome> {
  bounds.signal?.throwIfAborted();
  const running = startProcess(spec);
  const settled = new AbortController();
  const cut = waitForCut(bounds, settled.signal);
  const end = await Promise.race([running.ended, cut]);
  settled.abort();
  if (end === 'cut') {
    await running.stop(GRACE_MS);
    bounds.signal?.throwIfAborted();
    throw new Error(`did not end within ${(bounds.timeoutMs ?? 0) / 1000} s`);
  }
  return { code: end.code, output: running.output() };
}

async function waitForCut(bounds: ProcessBounds, settled: AbortSignal): Promise<'cut'> {
  const signal = bounds.signal === undefined ? settled : AbortSignal.any([bounds.signal, settled]);
  await delay(bounds.timeoutMs ?? 2 ** 31 - 1, undefined, { signal, ref: false }).catch(() => undefined);
  return 'cut';
}

/** The environment, progress output and signal for providing a CLI. */
interface ProvisionContext {
  env: NodeJS.ProcessEnv;
  say: (line: string) => void;
  signal?: AbortSignal | undefined;
}

/**
 * Returns the CLI that the SDK has already downloaded into the temporary directory, or undefined. Only a
 * file of this user counts: any user may write there.
 */
async function earlierSdkDownload(env: NodeJS.ProcessEnv): Promise<string | undefined> {
  const directory = env['TMPDIR'] || tmpdir();
  for (const name of await readdir(directory).catch(() => [])) {
    if (!name.startsWith('temporal-sdk-typescript-') || name.endsWith(PARTIAL)) continue;
    const path = join(directory, name);
    const file = await lstat(path).catch(() => undefined);
    if (file?.isFile() && (process.getuid === undefined || file.uid === process.getuid())) return path;
  }
  return undefined;
}

/**
 * Lets the Temporal SDK download its CLI into a directory, and returns the path of the executable. Throws within
 * seconds if the host does not answer, and the signal's reason on abort. `downloader` is the program that downloads,
 * with the directory as its last argument: it writes a file that ends in `.downloading`, then renames it.
 */
export async function downloadWithSdk(directory: string, context: ProvisionContext, downloader = sdkDownloader()): Promise<string> {
  const [file, ...args] = downloader;
  const running = startProcess({ file, args: [...args, directory], env: context.env, unfinished: directory });
  let bytes = 0;
  const progress = reportProgress(context.say, (seconds) =>
    bytes === 0
      ? `waiting for the download host, ${seconds} s`
      : `downloading the Temporal CLI: ${Math.round(bytes / 1e6)} MB, ${seconds} s`,
  );
  try {
    return await watchDownload(directory, running, context.signal, (size) => (bytes = size));
  } finally {
    progress.stop();
    await running.stop(DOWNLOAD_GRACE_MS);
  }
}

function sdkDownloader(): [string, ...string[]] {
  const script = new URL(`./sdk-download-process${extname(import.meta.url)}`, import.meta.url);
  return [process.execPath, fileURLToPath(script)];
}

async function watchDownload(
  directory: string,
  running: GuardedProcess,
  signal: AbortSignal | undefined,
  report: (bytes: number) => void,
): Promise<string> {
  let bytes = 0;
  let lastGrowth = performance.now();
  for (;;) {
    signal?.throwIfAborted();
    const over = running.hasEnded();
    const { executable, size } = await lookAtDownload(directory);
    if (executable !== undefined) return executable;
    if (over) throw new Error(failureReason(running.output()));
    if (size > bytes) lastGrowth = performance.now();
    bytes = size;
    report(bytes);
    const limit = bytes === 0 ? FIRST_BYTE_MS : STALL_MS;
    if (performance.now() - lastGrowth > limit) throw new Error(`the download host sent nothing for ${limit / 1000} s`);
    await Promise.race([delay(POLL_MS), running.ended]);
  }
}

async function lookAtDownload(directory: string): Promise<{ executable?: string; size: number }> {
  const names = await readdir(directory);
  const done = names.find((name) => !name.endsWith(PARTIAL));
  if (done !== undefined) return { executable: join(directory, done), size: 0 };
  const partial = names[0];
  const size =
    partial === undefined
      ? 0
      : await stat(join(directory, partial))
          .then((file) => file.size)
          .catch(() => 0);
  return { size };
}

// The SDK prints nested causes in one line, each with the whole address in brackets. The innermost one is the reason.
function failureReason(output: string): string {
  const message = output.trim().split('\n').at(-1) ?? '';
  return message.split('): ').at(-1)?.slice(0, 200) || 'the download ended without a file';
}

/** Reports progress every few seconds until `stop` is called. `describe` receives the elapsed whole seconds. */
function reportProgress(say: (line: string) => void, describe: (seconds: number) => string): { stop: () => void } {
  const start = performance.now();
  const timer = setInterval(() => say(describe(Math.round((performance.now() - start) / 1000))), INTERVAL_MS);
  return { stop: () => clearInterval(timer) };
}
