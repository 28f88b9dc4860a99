import { mkdtempSync, rmSync } from 'node:fs';
import { readFile, rename, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { connectTo } from '../../client/longhaul-client.ts';
import type { CodecOptions } from '../../codec/encryption.ts';
import { errorMessage } from '../../core/domain/errors.ts';
import { defined } from '../../core/domain/json.ts';
import type { Handler } from '../../server/index.ts';
import { type HttpServer, listen, type ListenOptions } from '../../server/node-server.ts';
import { resolveServer } from '../../temporal/server-connection.ts';
import { sleep } from '../../temporal/waiting.ts';
import { chosenCodec, type ServerLocation } from '../command.ts';
import type { CommandIo, ServerFlags } from '../define-command.ts';
import { type AgentsModule, loadAgentsModule } from '../input-files.ts';
import { flaggedLog, type LogFlags } from '../options.ts';
import { checkNamespace, installQuietRuntime, sayBundling, serveAgents, wireProviders, workflowsFile } from './serve-agents.ts';
import { serviceClientOptions, serviceHandler, withSink } from './serve.ts';

/** The options of `longhaul dev` that concern its worker. */
export interface DevWorkerFlags extends ServerFlags, LogFlags {
  agents: string;
  /** The module of the user's workflows. */
  workflows?: string;
  /** The time that running calls may take to end at shutdown, in milliseconds. */
  grace?: number;
  /** The port of the HTTP service in the worker's process. Absent: there is none. */
  httpPort?: number;
}

/** The server of a session's worker. Plain data, because the worker may be another process. */
export interface DevWorkerLocation {
  address: string;
  namespace: string;
  /** True if the session started the server. */
  startedHere: boolean;
  /** The address of the Temporal UI, if one is known. */
  uiUrl?: string;
  /** The path of the workflow bundle, whether or not it exists yet. Without it, the worker creates its own bundle. */
  bundleFile?: string;
}

/** The message of a worker that has started polling. */
export interface DevWorkerReady {
  taskQueue: string;
  /** The address of the HTTP service. Absent: there is none. */
  httpUrl?: string;
  agents: string[];
  programs: string[];
}

const DEFAULT_GRACE_MS = 10_000;

/** Runs the worker of a session until the terminal's signal, then drains it. Returns the exit code. */
export async function serveDevWorker(
  io: CommandIo,
  {
    flags,
    location,
    ready,
  }: { flags: DevWorkerFlags; location: DevWorkerLocation; ready: (worker: DevWorkerReady) => void | Promise<void> },
): Promise<number> {
  const workflowsPath = workflowsFile(flags.workflows);
  const { httpPort } = flags;
  const loaded = await loadAgentsModule(flags.agents, (line) => io.output.note(line));
  // Without the service, the process has no reader.
  const agentsModule = httpPort === undefined ? loaded : withSink(loaded);
  await installQuietRuntime(io.output, flaggedLog(flags, io.terminal.env));
  const { address, namespace, startedHere, bundleFile } = location;
  const codec = chosenCodec(flags, io.terminal.env);
  const ofUser = defined({ workflowsPath });
  if (!startedHere) await checkNamespace(io, { address, namespace });
  // TLS settings and keys of the user's profile are for another server, not for one started here.
  const { NativeConnection } = await import('@temporalio/worker');
  const connection = startedHere ? await NativeConnection.connect({ address }) : undefined;
  const graceMs = flags.grace ?? DEFAULT_GRACE_MS;
  const http =
    httpPort === undefined ? undefined : await serveDevHttp(io, { flags: { ...flags, httpPort }, location, agentsModule, graceMs });
  try {
    return await serveAgents(io, {
      agentsModule,
      ...(connection === undefined ? { address } : { connection }),
      namespace,
      codec,
      ...defined({ taskQueue: flags.taskQueue }),
      ...(bundleFile === undefined
        ? ofUser
        : { worker: { workflowBundle: await bundleAt(bundleFile, { ...ofUser, codec, begins: () => sayBundling(io.output) }) } }),
      graceMs,
      ready: async (taskQueue) => {
        const httpUrl = await http?.url;
        await ready({
          taskQueue,
          ...defined({ httpUrl }),
          agents: agentsModule.agents.map((agent) => agent.name),
          programs: agentsModule.programs.map((program) => program.name),
        });
      },
    });
  } finally {
    await http?.close();
    // A failed worker may still use the connection; the process ends anyway.
    await connection?.close().catch(() => undefined);
  }
}

const HOST = '127.0.0.1';

/** How long a worker waits for its port: the previous worker may take a moment to release it. */
const PORT_WITHIN_MS = 10_000;

/** The HTTP service in the process of a session's worker. */
interface DevHttp {
  /** The address; undefined if the port is taken, which is reported to the user. */
  readonly url: Promise<string | undefined>;
  /** Resolves once requests in progress are answered, and cuts them off after the grace period. */
  close(): Promise<void>;
}

/** The parts of the service. */
interface DevHttpOptions {
  flags: ServerFlags & { httpPort: number };
  /** The Temporal server. `startedHere`: this session started it. */
  location: ServerLocation & { startedHere: boolean; uiUrl?: string };
  agentsModule: AgentsModule;
  graceMs: number;
}

/**
 * Serves the agents over HTTP on this machine, to everyone who can reach it. On the terminal's signal it releases its port first: the
 * next worker of the session listens there, and readers of cut streams reconnect.
 */
async function serveDevHttp(io: CommandIo, { flags, location, agentsModule, graceMs }: DevHttpOptions): Promise<DevHttp> {
  const { signal } = io.terminal;
  const { address, namespace, startedHere, uiUrl } = location;
  // TLS settings and keys of the user's profile are for another server, not for one started here.
  const server = startedHere ? { connection: { address }, namespace } : resolveServer({ address, namespace });
  const options = { ...serviceClientOptions(io, flags, agentsModule), codec: chosenCodec(flags, io.terminal.env) };
  const client = await connectTo(server, options);
  const closing = new AbortController();
  const handler = serviceHandler(client, io, {
    agentsModule,
    providers: await wireProviders(agentsModule),
    studio: true,
    closing: closing.signal,
    ...defined({ uiUrl }),
  });
  const opened = listenOrReport(io, handler, flags.httpPort, closing.signal);
  let closed: Promise<void> | undefined;
  const close = (): Promise<void> => {
    closing.abort();
    closed ??= opened.then((http) => http?.close(graceMs)).then(() => client.close());
    return closed;
  };
  if (signal.aborted) closing.abort();
  else signal.addEventListener('abort', () => void close(), { once: true });
  return { url: opened.then((http) => http?.url), close };
}

/** Listens once the previous worker has released the port, or tells the user if it does not. */
async function listenOrReport({ output }: CommandIo, handler: Handler, port: number, signal: AbortSignal): Promise<HttpServer | undefined> {
  try {
    return await listenOnceFree(handler, { host: HOST, port, signal, withinMs: PORT_WITHIN_MS });
  } catch (error) {
    const problem = isPortTaken(error)
      ? `port "${port}" is still taken, by the worker before or by another program. End that program, or choose another --http-port`
      : errorMessage(error);
    output.note(`This worker answers no HTTP requests: ${problem}`);
    return undefined;
  }
}

/** The pause between two attempts, in milliseconds. */
const PAUSE_MS = 50;

/**
 * Listens as soon as the port is free. Rejects if it is still taken after that time. Resolves without a server once the signal is aborted.
 */
export async function listenOnceFree(
  handler: Handler,
  { signal, withinMs, ...options }: ListenOptions & { signal: AbortSignal; withinMs: number },
): Promise<HttpServer | undefined> {
  const deadline = performance.now() + withinMs;
  while (!signal.aborted) {
    try {
      return await listen(handler, options);
    } catch (error) {
      if (!isPortTaken(error) || performance.now() > deadline) throw error;
    }
    await sleep(PAUSE_MS);
  }
  return undefined;
}

/** True for the error of a port at which another program listens. */
export function isPortTaken(error: unknown): boolean {
  const cause = error instanceof Error ? error.cause : undefined;
  return cause instanceof Error && 'code' in cause && cause.code === 'EADDRINUSE';
}

/**
 * The workflow bundle of a session with `--watch`. The first worker that needs it creates it, and later workers load
 * it until a file of the workflows changes.
 */
export class DevBundle {
  readonly #folder = mkdtempSync(join(tmpdir(), 'longhaul-dev-'));
  readonly #workflows: string | undefined;
  #generation = 1;
  #files: Set<string> = new Set();

  constructor(workflows: string | undefined) {
    this.#workflows = workflows === undefined ? undefined : resolve(workflows);
    process.once('exit', () => rmSync(this.#folder, { recursive: true, force: true }));
  }

  /** The path of the bundle, whether or not it exists yet. */
  get file(): string {
    return join(this.#folder, `workflows-${this.#generation}.js`);
  }

  /** Finds the files that the workflows consist of. Called when a worker starts. */
  async look(): Promise<void> {
    if (this.#workflows !== undefined) this.#files = await importedFiles(this.#workflows);
  }

  /** Makes the next worker create a new bundle if one of the files belongs to the workflows. */
  changed(files: readonly string[]): void {
    if (files.some((file) => this.#files.has(file))) this.#generation += 1;
  }
}

/** Returns the bundle of the package, or the one at the path. Creates the latter if it is missing, after calling `begins`. */
async function bundleAt(
  file: string,
  { begins, ...options }: { workflowsPath?: string; codec: CodecOptions; begins: () => void },
): Promise<{ codePath: string }> {
  const { packagedBundle } = await import('../../../worker/packaged-bundle.ts');
  const packaged = packagedBundle(options);
  if (packaged !== undefined) return packaged;
  if ((await stat(file).catch(() => undefined)) === undefined) {
    begins();
    const { bundleAhead } = await import('../../../worker/create-worker.ts');
    const unfinished = `${file}.${process.pid}`;
    await writeFile(unfinished, await bundleAhead(options));
    await rename(unfinished, file);
  }
  return { codePath: file };
}

/** Matches imports of files, except type imports, which are erased. */
const IMPORT = /\b(?:import|export)\s+(?!type\b)(?:[^'"`;]*?\bfrom\s*)?['"](\.[^'"]+)['"]|\bimport\(\s*['"](\.[^'"]+)['"]\s*\)/g;

/** File endings for an import that has no extension, or the extension of the compiled file. */
const ENDINGS = ['', '.ts', '.js', '.mts', '.mjs', '/index.ts', '/index.js'];

/** Returns the file and all files of the same project that it loads by relative imports. */
export async function importedFiles(file: string, found = new Set<string>()): Promise<Set<string>> {
  if (found.has(file)) return found;
  const code = await readFile(file, 'utf8').catch(() => undefined);
  if (code === undefined) return found;
  found.add(file);
  for (const [, from, lazy] of code.matchAll(IMPORT)) {
    const target = resolve(dirname(file), from ?? lazy ?? '');
    for (const base of new Set([target, target.replace(/\.(m?)js$/, '.$1ts')])) {
      for (const ending of ENDINGS) await importedFiles(`${base}${ending}`, found);
    }
  }
  return found;
}
