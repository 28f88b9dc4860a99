import { LonghaulClient } from '../../../client/longhaul-client.ts';
import { type HttpServer, listen } from '../../../server/node/listen.ts';
import { type EndingService, shutDown } from '../../../server/node/shut-down.ts';
import { EXIT_CODES } from '../../exit-codes.ts';
import { Interruption } from '../../interruption.ts';
import { chosenCodec } from '../../program/codec-choice.ts';
import type { CommandIo, ServerFlags } from '../../program/command.ts';
import { flaggedLog, type LogFlags } from '../../program/log-flags.ts';
import { type ConnectedClient, withClient } from '../../with-client.ts';
import { type AgentsModule, loadAgentsModule } from '../agents-module.ts';
import { streamsNotice } from '../../../streams/streams-notice.ts';
import { checkNamespace } from '../check-namespace.ts';
import { installQuietRuntime } from '../quiet-runtime.ts';
import { serveAgents } from '../serve-agents.ts';
import { workflowsFile } from '../workflows-file.ts';
import { handlerOptions, type HttpFlags } from '../../program/http-flags.ts';
import { serviceClientOptions, serviceHandler, withSink } from './agents-over-http.ts';
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
  const { kinds: callers, ...verification } = callerVerification({ ...flags, host: flags.host ?? DEFAULT_HOST }, io.terminal.env);
  const log = flaggedLog(flags, io.terminal.env);
  const hasWorker = flags.agents !== undefined && flags.worker !== false;
  const loaded = flags.agents === undefined ? undefined : await loadAgentsModule(flags.agents);
  const agentsModule = loaded !== undefined && hasWorker ? withSink(loaded) : loaded;
  await checkNamespace(io, flags);
  // Only a worker needs it.
  if (hasWorker) await installQuietRuntime(io.output, log);
  // Commands end with the terminal's signal. This one first answers the requests that it has.
  const staying = { ...io, terminal: { ...io.terminal, signal: new AbortController().signal } };
  return withClient(staying, flags, async (connected) => {
    const [draining, closing] = [new AbortController(), new AbortController()];
    const client = new LonghaulClient(connected.client.temporal, serviceClientOptions(io, flags, agentsModule));
    const handler = serviceHandler(client, io, {
      agentsModule,
      ...verification,
      ...handlerOptions(flags),
      ...(flags.prefix === undefined ? {} : { prefix: flags.prefix }),
      draining: draining.signal,
      closing: closing.signal,
    });
    const server = await listen(handler, { host: flags.host ?? DEFAULT_HOST, port: flags.port ?? DEFAULT_PORT });
    const served = answerUntilInterrupted(io, { server, draining, closing, flags });
    try {
      if (agentsModule !== undefined && hasWorker) return await withWorker(io, { server, connected, flags, callers, agentsModule, served });
      announce(io, { server, connected, flags, callers }, { agentsModule });
      const notice = streamsNotice(agentsModule?.more.streams, 'service');
      if (notice !== undefined) io.output.note(notice);
      await served;
      return EXIT_CODES.ok.code;
    } finally {
      // Only a worker that fails leaves it open.
      await server.close(0);
    }
  });
}

interface Service extends Announced {
  server: HttpServer;
  connected: ConnectedClient;
  flags: ServeFlags;
}

/** Resolves once the terminal's signal is aborted and the requests under way are answered. */
async function answerUntilInterrupted(
  { terminal: { signal }, output }: CommandIo,
  { server, draining, closing, flags }: Pick<Service, 'server' | 'flags'> & Pick<EndingService, 'draining' | 'closing'>,
): Promise<void> {
  if (!signal.aborted) await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
  // A person at the keyboard has no proxy to wait for.
  const isAlone = signal.reason instanceof Interruption && signal.reason.by === 'SIGINT';
  const drainMs = isAlone ? 0 : (flags.drain ?? DEFAULT_DRAIN_MS);
  const graceMs = flags.grace ?? DEFAULT_GRACE_MS;
  const noticed = drainMs > 0 ? `in ${drainMs / 1000} s it takes no more requests, and ` : '';
  output.note(`Closing: ${noticed}requests under way may go on for ${graceMs / 1000} s. Ctrl-C again stops at once.`);
  await shutDown({ server, draining, closing, drainMs, graceMs });
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
