import { connect, createServer, type Server } from 'node:net';
import { errorMessage } from '../core/domain/errors.ts';

/** The type of a custom search attribute, as the Temporal CLI names it. */
type SearchAttributeType = 'Text' | 'Keyword' | 'Int' | 'Double' | 'Bool' | 'Datetime' | 'KeywordList';

/**
 * The options that the flags of a dev server depend on. Without `uiPort` there is no UI, and without `dbFile` the
 * server keeps its data in memory. The UI decodes payloads at `uiCodecEndpoint`. `dynamicConfig` is set in addition to the tuning.
 */
export interface StartFlags {
  port: number;
  uiPort?: number | undefined;
  uiCodecEndpoint?: string | undefined;
  dbFile?: string | undefined;
  searchAttributes?: Readonly<Record<string, SearchAttributeType>> | undefined;
  dynamicConfig?: readonly string[] | undefined;
}

/** The address that every server started here listens on. Other machines cannot reach it. */
export const SERVER_IP = '127.0.0.1';

/**
 * Dynamic configuration that makes runs faster. At the default poll rate, the single shard of a dev server reads its
 * transfer queue 20 times a second, and each fast step of a run waits 100 ms. Eager execution returns the next
 * activity with the response to the workflow task.
 */
const TUNING = [
  'history.transferProcessorMaxPollRPS=5000',
  'system.enableActivityEagerExecution=true',
  'frontend.enableServerVersionCheck=false',
];

/**
 * Makes runs survive a crash of the process, but not of the machine: this saves 2 ms per step compared with a sync at
 * every commit. The content of removed runs is overwritten in the file.
 */
const DATABASE_TUNING = ['journal_mode=WAL', 'synchronous=NORMAL', 'secure_delete=ON'];

/** Returns the arguments of the Temporal CLI for one tuned local server. */
export function startFlags(options: StartFlags): string[] {
  const ui = options.uiPort === undefined ? '--headless' : `--ui-port=${options.uiPort}`;
  const codec = options.uiCodecEndpoint === undefined ? [] : [`--ui-codec-endpoint=${options.uiCodecEndpoint}`];
  const database = options.dbFile === undefined ? [] : [`--db-filename=${options.dbFile}`, ...repeat('--sqlite-pragma', DATABASE_TUNING)];
  const attributes = Object.entries(options.searchAttributes ?? {}).map(([name, type]) => `${name}=${type}`);
  return [
    'server',
    'start-dev',
    '--log-level=error',
    `--ip=${SERVER_IP}`,
    `--port=${options.port}`,
    ui,
    ...codec,
    ...repeat('--dynamic-config-value', [...TUNING, ...(options.dynamicConfig ?? [])]),
    ...database,
    ...repeat('--search-attribute', attributes),
  ];
}

/** Returns every flag that a server may be started with: a CLI that does not accept these cannot be used. */
export function allStartFlags(): string[] {
  return [
    ...startFlags({
      port: 7233,
      uiPort: 8233,
      uiCodecEndpoint: 'http://127.0.0.1:8234',
      dbFile: 'probe.sqlite',
      searchAttributes: { Probe: 'Keyword' },
    }),
    '--headless',
  ];
}

/**
 * Returns the environment for a CLI, without `TEMPORAL_*` variables, which would override flags or name another
 * server.
 */
export function cliEnvironment(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('TEMPORAL_')));
}

function repeat(flag: string, values: readonly string[]): string[] {
  return values.map((value) => `${flag}=${value}`);
}

/**
 * Returns free ports, one for each requested: a number is checked, `undefined` accepts any. Throws a `DevServerError` for a
 * number that is taken: the server would fail there, and the program that uses the port would be mistaken for it.
 */
export async function freePorts(requested: readonly (number | undefined)[]): Promise<number[]> {
  const held: Server[] = [];
  try {
    // All ports are held until the last one is chosen, so that no port is chosen twice.
    for (const port of requested) held.push(await hold(port));
    return held.map(portOf);
  } finally {
    await Promise.all(held.map((server) => new Promise((resolve) => server.close(resolve))));
  }
}

/** Returns a usual port if it is free, otherwise undefined: a second server must not fail because of it. */
export async function portIfFree(port: number): Promise<number | undefined> {
  try {
    await freePorts([port]);
    return port;
  } catch {
    return undefined;
  }
}

/** Returns the port that a listening server received. */
export function portOf(server: Server): number {
  const address = server.address();
  if (address === null || typeof address === 'string') throw new DevServerError('The server does not listen on a port.');
  return address.port;
}

async function hold(port: number | undefined): Promise<Server> {
  const server = createServer();
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) =>
      reject(
        new DevServerError(`Port "${port ?? 0}" cannot be used: ${errorMessage(error)}. Choose another, or end the program that uses it.`, {
          cause: error,
        }),
      ),
    );
    server.listen({ host: SERVER_IP, port: port ?? 0 }, resolve);
  });
  return server;
}

const DEFAULT_PORT = 7233;

/**
 * True if a server accepts connections at `host:port` (or at a URL; the port defaults to 7233) within the time limit.
 */
export async function isReachable(address: string, timeoutMs: number, signal?: AbortSignal): Promise<boolean> {
  const url = parse(address);
  if (url === null) return false;
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const port = url.port === '' ? DEFAULT_PORT : Number(url.port);
  return await new Promise((resolve) => {
    const socket = connect({ host, port, timeout: timeoutMs });
    const answer = (reachable: boolean): void => {
      signal?.removeEventListener('abort', giveUp);
      socket.destroy();
      resolve(reachable);
    };
    const giveUp = (): void => answer(false);
    signal?.addEventListener('abort', giveUp);
    socket
      .once('connect', () => answer(true))
      .once('error', giveUp)
      .once('timeout', giveUp);
  });
}

function parse(address: string): URL | null {
  return URL.parse(address.includes('://') ? address : `grpc://${address}`);
}

/**
 * The error if no local Temporal server could be found, built or started. Its message says what was tried and what to
 * do next.
 */
export class DevServerError extends Error {
  override readonly name = 'DevServerError';
}
