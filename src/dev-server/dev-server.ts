import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { setTimeout as delay, setTimeout as sleep } from 'node:timers/promises';
import { Connection } from '@temporalio/client';
import { errorMessage } from '../core/domain/errors.ts';
import { isJsonObject } from '../core/domain/json.ts';
import { findServer, type FindServerOptions, type FoundServer } from './find-server.ts';
import { type GuardedProcess, startProcess } from './guarded-process.ts';
import { cliEnvironment, DevServerError, freePorts, isReachable, SERVER_IP, type StartFlags, startFlags } from './start-flags.ts';

const NAMESPACE = 'default';
const READY_MS = 30_000;
const STOP_MS = 5_000;
const START_ATTEMPTS = 3;

/**
 * Options of a server. `port` and `uiPort` fix a port; by default free ones are chosen. `ui` (or `uiPort`) turns the
 * Temporal UI on, which decodes payloads at `uiCodecEndpoint`. `dbFile` keeps runs across restarts.
 * `searchAttributes` are registered before the first run, and `dynamicConfig` are settings of the server, as `key=JSON`.
 */
export interface DevServerOptions extends FindServerOptions, Omit<StartFlags, 'port'> {
  port?: number | undefined;
  ui?: boolean | undefined;
}

/**
 * A server to connect to. `source` names where it was found, and `provisionMs` is the time that a download or a build
 * took. `uiUrl`, `cliPath` and `dbFile` are only known for a server that was started here, and `dbFile` only if it keeps runs in a file.
 */
export interface DevServer {
  address: string;
  namespace: string;
  source: string;
  provisionMs: number;
  uiUrl?: string;
  cliPath?: string;
  dbFile?: string;
  /** Resolves if the server ends on its own. Only for a server that was started here. */
  ended?: Promise<void>;
  /** Ends the server if it was started here, within seconds; may be called again. */
  stop: () => Promise<void>;
}

/**
 * Finds a local Temporal server like `findServer` and, unless one is already running, starts a tuned one in its
 * own process group, so that Ctrl-C does not end it before the worker has drained. It never outlives this process.
 * Throws a `DevServerError` with the end of the server's log if it does not start, and the signal's reason on abort.
 */
export async function startDevServer(options: DevServerOptions = {}): Promise<DevServer> {
  const found = await findServer(options);
  if (found.type === 'running') {
    const { address, namespace, source } = found;
    return { address, namespace, source, provisionMs: 0, stop: async () => undefined };
  }
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await launch(found, options);
    } catch (error) {
      // Another process may take a free port before the server uses it.
      const portTaken = error instanceof DevServerError && error.message.includes('address already in use');
      if (!portTaken || attempt === START_ATTEMPTS) throw error;
    }
  }
}

async function launch(found: Extract<FoundServer, { type: 'cli' }>, options: DevServerOptions): Promise<DevServer> {
  const { env = process.env, say, signal } = options;
  const withUi = options.ui ?? options.uiPort !== undefined;
  const [port, uiPort] = await freePorts(withUi ? [options.port, options.uiPort] : [options.port]);
  if (port === undefined) throw new DevServerError('No free port was found.');
  const address = `${SERVER_IP}:${port}`;
  const { uiCodecEndpoint, dbFile, searchAttributes, dynamicConfig } = options;
  const args = startFlags({ port, uiPort, uiCodecEndpoint, dbFile, searchAttributes, dynamicConfig });

  signal?.throwIfAborted();
  const server = startProcess({ file: found.cliPath, args, env: cliEnvironment(env) });
  try {
    await awaitReady(server, { address, namespace: NAMESPACE, timeoutMs: READY_MS, signal });
  } catch (error) {
    await server.stop(STOP_MS);
    throw error;
  }
  return {
    address,
    namespace: NAMESPACE,
    source: found.source,
    provisionMs: found.provisionMs,
    cliPath: found.cliPath,
    ...(dbFile !== undefined && { dbFile }),
    ...(uiPort !== undefined && { uiUrl: `http://${SERVER_IP}:${uiPort}` }),
    ...stopper(server, say),
  };
}

function stopper(server: GuardedProcess, say: ((line: string) => void) | undefined): Required<Pick<DevServer, 'ended' | 'stop'>> {
  let stopped: Promise<void> | undefined;
  const watch = async (): Promise<void> => {
    const { code, signal } = await server.ended;
    if (stopped !== undefined) await new Promise(() => undefined);
    say?.(`The Temporal server has ended by itself (${signal ?? `exit code ${code}`}). ${logTail(server)}`);
  };
  return { ended: watch(), stop: () => (stopped ??= server.stop(STOP_MS)) };
}

const POLL_MS = 50;
const ATTEMPT_MS = 1_000;

/** The server to wait for, and the time limit. */
interface ReadyBounds {
  address: string;
  namespace: string;
  timeoutMs: number;
  signal?: AbortSignal | undefined;
}

/**
 * Waits until the server answers for its namespace. Throws a `DevServerError` with the end of its log when it dies or
 * does not answer in time, and the signal's reason on abort.
 */
export async function awaitReady(server: GuardedProcess, bounds: ReadyBounds): Promise<void> {
  const deadline = performance.now() + bounds.timeoutMs;
  while (!(await isServing(bounds))) {
    bounds.signal?.throwIfAborted();
    if (server.hasEnded()) throw new DevServerError(`The Temporal server ended before it was ready. ${logTail(server)}`);
    if (performance.now() > deadline) {
      throw new DevServerError(
        `The Temporal server did not answer at "${bounds.address}" within ${bounds.timeoutMs / 1000} s. ${logTail(server)}`,
      );
    }
    await Promise.race([delay(POLL_MS), server.ended]);
  }
}

/** Returns the last lines that a server printed, as a sentence of an error message. */
function logTail(server: GuardedProcess): string {
  const lines = server.output().trim().split('\n').slice(-15);
  return lines.join('') === '' ? 'Its log is empty.' : `Its log ends with:\n${lines.join('\n')}`;
}

async function isServing({ address, namespace, signal }: ReadyBounds): Promise<boolean> {
  // A gRPC client that finds no listener backs off, and would notice the server a second late.
  if (!(await isReachable(address, ATTEMPT_MS, signal))) return false;
  try {
    const connection = await Connection.connect({ address, connectTimeout: ATTEMPT_MS });
    try {
      await connection.withDeadline(Date.now() + ATTEMPT_MS, () => connection.workflowService.describeNamespace({ namespace }));
      return true;
    } finally {
      await connection.close();
    }
  } catch {
    return false;
  }
}

/** Milliseconds that the server of a killed session may take to end: its guard kills it after three seconds. */
const LEFT_WITHIN_MS = 10_000;
const RETRY_MS = 100;

/** The file in which a server keeps runs, held for one session. */
export interface RunFile {
  /** Records where this session answers, for other sessions that want the file. */
  tell(address: string): void;
  /** Releases the file for other sessions. */
  release(): void;
}

/**
 * Holds the file of runs for this process, and waits until no server uses it: two servers on one file would break each other. The
 * lock is an operating system lock on a file next to it, so it ends with this process, however that ends. Throws a `DevServerError`
 * that names the session that has the file.
 */
export async function holdRunFile(file: string, signal?: AbortSignal): Promise<RunFile> {
  const lock = lockedDatabase(`${file}.lock`);
  if (lock === undefined) throw new DevServerError(`${holderOf(file)} keeps its runs in "${file}": ${WAYS_OUT}`);
  const owner = ownerFile(file);
  const release = (): void => {
    if (!lock.isOpen) return;
    rmSync(owner, { force: true });
    lock.close();
  };
  try {
    await untilUnused(file, signal);
    return { tell: (address) => writeFileSync(owner, JSON.stringify({ pid: process.pid, address })), release };
  } catch (error) {
    release();
    throw error;
  }
}

const WAYS_OUT = 'use that one, end it, or start this one with --memory, or with --db and another file';

/** Waits until no process has the database open. */
async function untilUnused(file: string, signal: AbortSignal | undefined): Promise<void> {
  if (!existsSync(file)) return;
  for (const end = performance.now() + LEFT_WITHIN_MS; ; await sleep(RETRY_MS, undefined, { signal })) {
    const database = lockedDatabase(file);
    if (database !== undefined) return database.close();
    if (performance.now() > end) throw new DevServerError(`Another program uses "${file}": ${WAYS_OUT}`);
  }
}

/** SQLite's code for a file that another connection has locked. */
const BUSY = 5;

/** Opens a database exclusively; undefined if another process has it open. Throws a `DevServerError` for a file that is not a database. */
function lockedDatabase(file: string): DatabaseSync | undefined {
  let database: DatabaseSync | undefined;
  try {
    // Loaded only here: on Node 22, loading it warns that it is experimental.
    const { DatabaseSync: Sqlite } = process.getBuiltinModule('node:sqlite');
    database = new Sqlite(file, { timeout: 0 });
    // An idle server has no transaction: its connection only conflicts with this mode.
    database.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE');
    return database;
  } catch (error) {
    database?.close();
    if (error instanceof Error && 'errcode' in error && typeof error.errcode === 'number' && (error.errcode & 0xff) === BUSY)
      return undefined;
    throw new DevServerError(`The file "${file}" cannot keep runs: ${errorMessage(error)}. Name another one with --db, or remove it`, {
      cause: error,
    });
  }
}

function ownerFile(file: string): string {
  return `${file}.owner`;
}

/** Names the session that has the file, if it has recorded its address. */
function holderOf(file: string): string {
  try {
    const owner: unknown = JSON.parse(readFileSync(ownerFile(file), 'utf8'));
    const { pid, address } = isJsonObject(owner) ? owner : {};
    if (typeof pid === 'number' && typeof address === 'string') return `Another "longhaul dev" (process ${pid}, server at ${address})`;
  } catch {
    // The session is still starting.
  }
  return 'Another "longhaul dev"';
}
