import { LonghaulClient } from '../../../client/longhaul-client.ts';
import { createHandler } from '../../../server/index.ts';
import { type HttpServer, listen } from '../../../server/node/listen.ts';
import { memoryStreams } from '../../../streams/memory/memory-streams.ts';
import { sleep } from '../../../temporal/waiting.ts';
import { EXIT_CODES } from '../../exit-codes.ts';
import { Interruption } from '../../interruption.ts';
import { chosenCodec } from '../../program/codec-choice.ts';
import type { CommandIo, ServerFlags } from '../../program/command.ts';
import { flaggedLog, type LogFlags } from '../../program/log-flags.ts';
import { actingPrincipal, type ConnectedClient, userKeyOf, withClient } from '../../with-client.ts';
import { type AgentsModule, loadAgentsModule } from '../agents-module.ts';
import { checkNamespace } from '../check-namespace.ts';
import { installQuietRuntime } from '../quiet-runtime.ts';
import { serveAgents } from '../serve-agents.ts';
import { workflowsFile } from '../workflows-file.ts';
import { handlerOptions, type HttpFlags } from '../../program/http-flags.ts';
import { announce, type Announced } from './announce.ts';
import { type AuthenticationFlags, callerVerification } from './caller-verification.ts';

/** The options of `longhaul serve`. */
export interface ServeFlags extends ServerFlags, LogFlags, HttpFlags, Partial<AuthenticationFlags> {
  /** The module of the agents. */
  agents?: string;
  /** False: no worker runs inside. */
  worker?: boolean;
  /** The module of the user's own workflows. */
  workflows?: string;
  port?: number;
  /** The path before every route. */
  prefix?: string;
  /** The time for which it still takes requests after SIGTERM, in milliseconds, so that proxies see that it is not ready. */
  drain?: number;
  /** The time that requests, and then calls of the worker, may take to end at shutdown, in milliseconds. */
  grace?: number;
}

const DEFAULT_HOST = '127.0.0.1';
const DEFAULT_PORT = 8787;
const DEFAULT_DRAIN_MS = 5_000;
const DEFAULT_GRACE_MS = 30_000;

/** Serves runs over HTTP until SIGTERM or Ctrl-C, with a worker inside if there are agents. */
export async function serve(io: CommandIo, flags: ServeFlags): Promise<number> {
  const verification = callerVerification({ ...flags, host: flags.host ?? DEFAULT_HOST }, io.terminal.env);
  const log = flaggedLog(flags, io.terminal.env);
  const hasWorker = flags.agents !== undefined && flags.worker !== false;
  const agentsModule = flags.agents === undefined ? undefined : await loadedAgents(flags.agents, { hasWorker });
  await checkNamespace(io, flags);
  // Only a worker needs it.
  if (hasWorker) await installQuietRuntime(io.output, log);
  // Commands end with the terminal's signal. This one first answers the requests that it has.
  const staying = { ...io, terminal: { ...io.terminal, signal: new AbortController().signal } };
  return withClient(staying, flags, async (connected) => {
    const closing = new AbortController();
    const client = serviceClient(connected, agentsModule, io, flags);
    const handler = createHandler(client, {
      ...verification,
      ...handlerOptions(flags),
      ...(flags.prefix === undefined ? {} : { prefix: flags.prefix }),
      agents: agentsModule?.agents ?? [],
      programs: agentsModule?.programs ?? [],
      closing: closing.signal,
      onError: (error, { id, method, path }) => io.output.note(`${method} ${path} failed (${id}): ${stackOf(error)}`),
    });
    const server = await listen(handler, { host: flags.host ?? DEFAULT_HOST, port: flags.port ?? DEFAULT_PORT });
    const served = answerUntilInterrupted(io, { server, closing, flags });
    try {
      if (agentsModule !== undefined && hasWorker) return await withWorker(io, { server, connected, flags, agentsModule, served });
      announce(io, { server, connected, flags }, { agentsModule });
      await served;
      return EXIT_CODES.ok.code;
    } finally {
      // Only a worker that fails leaves it open.
      await server.close(0);
    }
  });
}

/** Loads the agents. Without a sink of their own, a worker inside shows live output to the readers of this process. */
async function loadedAgents(path: string, { hasWorker }: { hasWorker: boolean }): Promise<AgentsModule> {
  const loaded = await loadAgentsModule(path);
  return hasWorker ? { ...loaded, more: { streams: memoryStreams(), ...loaded.more } } : loaded;
}

interface Service extends Announced {
  server: HttpServer;
  connected: ConnectedClient;
  flags: ServeFlags;
}

/** Returns the client of the service: with the stores of the agents, so that it exports and deletes whole runs. */
function serviceClient(
  { client }: ConnectedClient,
  agentsModule: AgentsModule | undefined,
  { terminal, output }: CommandIo,
  flags: ServeFlags,
): LonghaulClient {
  const { payloadStore, archive, memory, more: { streams } = {} } = agentsModule ?? {};
  const principal = actingPrincipal(flags, terminal.env);
  const userKey = userKeyOf(terminal.env);
  return new LonghaulClient(client.temporal, {
    ...(flags.taskQueue === undefined ? {} : { taskQueue: flags.taskQueue }),
    ...(payloadStore === undefined ? {} : { payloadStore }),
    ...(archive === undefined ? {} : { archive }),
    ...(memory === undefined ? {} : { memory }),
    ...(streams === undefined ? {} : { streams }),
    ...(principal === undefined ? {} : { principal }),
    ...(userKey === undefined ? {} : { userKey }),
    onNotice: (line) => output.note(line),
  });
}

/** Resolves once the terminal's signal is aborted and the requests under way are answered. */
async function answerUntilInterrupted(
  { terminal: { signal }, output }: CommandIo,
  { server, closing, flags }: Pick<Service, 'server' | 'flags'> & { closing: AbortController },
): Promise<void> {
  if (!signal.aborted) await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
  closing.abort();
  const graceMs = flags.grace ?? DEFAULT_GRACE_MS;
  output.note(`Closing: requests under way may go on for ${graceMs / 1000} s. Ctrl-C again stops at once.`);
  // A person at the keyboard has no proxy to wait for.
  if (!(signal.reason instanceof Interruption && signal.reason.by === 'SIGINT')) await sleep(flags.drain ?? DEFAULT_DRAIN_MS);
  await server.close(graceMs);
}

/** Runs the worker until the requests are answered, and then drains it. */
async function withWorker(io: CommandIo, service: Service & { agentsModule: AgentsModule; served: Promise<void> }): Promise<number> {
  const { agentsModule, served, flags, connected } = service;
  const { terminal } = io;
  const answered = new AbortController();
  const workflowsPath = workflowsFile(flags.workflows);
  const end = served.then(() => answered.abort());
  const code = await serveAgents(
    { ...io, terminal: { ...terminal, signal: answered.signal } },
    {
      agentsModule,
      ...connected.server,
      codec: chosenCodec(flags, terminal.env),
      ...(flags.taskQueue === undefined ? {} : { taskQueue: flags.taskQueue }),
      ...(workflowsPath === undefined ? {} : { workflowsPath }),
      graceMs: flags.grace ?? DEFAULT_GRACE_MS,
      ready: (taskQueue) => announce(io, service, { taskQueue, agentsModule }),
    },
  );
  await end;
  return code;
}

function stackOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
