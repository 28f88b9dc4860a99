import { joinedLines } from '../core/domain/content/text.ts';
import { resolve } from 'node:path';
import { errorMessage } from '../core/domain/errors/error.ts';
import { cliCache, installInCache, type CliCache } from './cli-cache.ts';
import { DevServerError } from './dev-server-error.ts';
import { findOnPath, isExecutable } from './find-on-path.ts';
import { buildWithGo } from './go-install.ts';
import { probeCli } from './probe-cli.ts';
import { isReachable } from './reachable.ts';
import { downloadWithSdk, earlierSdkDownload, type ProvisionContext } from './sdk-download.ts';

const REACHABLE_MS = 5_000;

/**
 * Options of the search. `say` receives a line for what cannot be used, and the progress of a download or a build, which take minutes; `env` defaults to the
 * environment of this process.
 */
export interface FindServerOptions {
  say?: ((line: string) => void) | undefined;
  env?: NodeJS.ProcessEnv | undefined;
  signal?: AbortSignal | undefined;
}

/**
 * A server that is running already, or a CLI that can start one. `source` names where it was found; `provisionMs` is
 * the time that a download or a build took, 0 if there was none.
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

/** A place of the search that is empty, as most of them are. */
class NothingThere extends Error {
  override readonly name = 'NothingThere';
}

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
      miss(link.source, oneLine(errorMessage(error)));
      // What is there and cannot be used is for the user to know, before minutes go by with another way.
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
  return await provide(downloadWithSdk, search);
}

async function build(search: Search): Promise<FoundCli> {
  return await provide(buildWithGo, search);
}

async function probed(cliPath: string, search: Search): Promise<FoundCli> {
  return { cliPath, serverVersion: await probeCli(cliPath, search), provisionMs: 0 };
}

async function provide(make: (directory: string, context: ProvisionContext) => Promise<string>, search: Search): Promise<FoundCli> {
  const start = performance.now();
  let serverVersion = '';
  await installInCache(search.cache, async (directory) => {
    const executable = await make(directory, search);
    serverVersion = await probeCli(executable, search);
    return executable;
  });
  return { cliPath: search.cache.cliPath, serverVersion, provisionMs: performance.now() - start };
}

function oneLine(text: string): string {
  return joinedLines(text, ' · ');
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
