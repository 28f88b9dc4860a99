import { existsSync } from 'node:fs';
import type { LonghaulClientOptions } from '../../client/client-options.ts';
import { LonghaulClient } from '../../client/longhaul-client.ts';
import { defined } from '../../core/domain/json.ts';
import { UsageError } from '../../core/domain/errors.ts';
import { apiKeys, fileApiKeys } from '../../server/auth/api-keys.ts';
import { anyOf, type Authenticate } from '../../server/auth/caller.ts';
import { jwt } from '../../server/auth/jwt.ts';
import { requireLoopback } from '../../server/auth/open-access.ts';
import { environmentTokenSecrets } from '../../server/auth/run-tokens.ts';
import { createHandler, type Handler, type HandlerOptions, type OidcOptions } from '../../server/index.ts';
import { type EndingService, type HttpServer, listen, shutDown } from '../../server/node-server.ts';
import { reportText } from '../../server/problems.ts';
import { STUDIO_PATH } from '../../server/studio.ts';
import { memoryStreams } from '../../streams/memory-streams.ts';
import { streamsNotice } from '../../streams/stream-sink.ts';
import type { Telemetry } from '../../telemetry/telemetry.ts';
import { actingPrincipal, chosenCodec, type ConnectedClient, findUi, userKeyOf, withClient } from '../command.ts';
import type { CommandIo, FlagsOf, ServerFlags } from '../define-command.ts';
import { keysFile } from '../commands/keys.ts';
import { EXIT_CODES } from '../exit-codes.ts';
import { type AgentsModule, loadAgentsModule } from '../input-files.ts';
import { flaggedLog, handlerOptions } from '../options.ts';
import { Interruption, untilEnded } from '../terminal.ts';
import { commandTelemetry } from './metrics-page.ts';
import { checkNamespace, installQuietRuntime, serveAgents, wireProviders, workflowsFile } from './serve-agents.ts';
import type { SERVE } from '../serve-commands.ts';
import type { LonghaulWorker } from '../../../worker/index.ts';

const DEFAULT_HOST = '127.0.0.1';
const DEFAULT_PORT = 8787;
const DEFAULT_DRAIN_MS = 5_000;
const DEFAULT_GRACE_MS = 30_000;

/** Serves runs over HTTP until SIGTERM or Ctrl-C, with a worker inside if there are agents. */
export async function serve(io: CommandIo, flags: FlagsOf<typeof SERVE>): Promise<number> {
  const { kinds: callers, ...verification } = callerVerification({ ...flags, host: flags.host ?? DEFAULT_HOST }, io.terminal.env);
  const log = flaggedLog(flags, io.terminal.env);
  const hasWorker = flags.agents !== undefined && flags.worker;
  const loaded = flags.agents === undefined ? undefined : await loadAgentsModule(flags.agents, (line) => io.output.note(line));
  const agentsModule = loaded !== undefined && hasWorker ? withSink(loaded) : loaded;
  await checkNamespace(io, flags);
  const { telemetry, created, close } = await commandTelemetry(io.output, flags, { agentsModule, hasWorker });
  // Only a worker needs it.
  if (hasWorker) await installQuietRuntime(io.output, log, telemetry?.page);
  // Commands end with the terminal's signal. This one first answers the requests in progress.
  const staying = { ...io, terminal: { ...io.terminal, signal: new AbortController().signal } };
  try {
    return await withClient(staying, flags, async (connected) => {
      const [draining, closing] = [new AbortController(), new AbortController()];
      const client = new LonghaulClient(connected.client.temporal, serviceClientOptions(io, flags, agentsModule));
      const handler = serviceHandler(client, io, {
        agentsModule,
        providers: await wireProviders(agentsModule),
        ...verification,
        ...handlerOptions(flags),
        ...defined({ prefix: flags.prefix, telemetry, studio: flags.studio, uiUrl: await findUi(connected.server, io.terminal.env) }),
        draining: draining.signal,
        closing: closing.signal,
      });
      const server = await listen(handler, { host: flags.host ?? DEFAULT_HOST, port: flags.port ?? DEFAULT_PORT });
      const served = answerUntilInterrupted(io, { server, draining, closing, flags });
      try {
        if (agentsModule !== undefined && hasWorker)
          return await withWorker(io, { server, connected, flags, callers, agentsModule, telemetry, created, served });
        announceService(io, { server, connected, flags, callers }, { agentsModule });
        const notice = streamsNotice(agentsModule?.streams, 'service');
        if (notice !== undefined) io.output.note(notice);
        await served;
        return EXIT_CODES.ok.code;
      } finally {
        // Only a failed worker leaves the server open.
        await server.close(0);
      }
    });
  } finally {
    await close();
  }
}

interface Service extends Announced {
  server: HttpServer;
  connected: ConnectedClient;
  flags: FlagsOf<typeof SERVE>;
}

/** Resolves once the terminal's signal is aborted and requests in progress are answered. */
async function answerUntilInterrupted(
  { terminal: { signal }, output }: CommandIo,
  { server, draining, closing, flags }: Pick<Service, 'server' | 'flags'> & Pick<EndingService, 'draining' | 'closing'>,
): Promise<void> {
  await untilEnded(signal);
  // Ctrl-C comes from a person, so no proxy has to notice.
  const isAlone = signal.reason instanceof Interruption && signal.reason.by === 'SIGINT';
  const drainMs = isAlone ? 0 : (flags.drain ?? DEFAULT_DRAIN_MS);
  const graceMs = flags.grace ?? DEFAULT_GRACE_MS;
  const noticed = drainMs > 0 ? `in ${drainMs / 1000} s it takes no more requests, and ` : '';
  output.note(`Closing: ${noticed}requests in progress may continue for ${graceMs / 1000} s. Ctrl-C again stops at once.`);
  await shutDown({ server, draining, closing, drainMs, graceMs });
}

interface ServiceWithWorker extends Service {
  agentsModule: AgentsModule;
  telemetry: Telemetry | undefined;
  created: (worker: LonghaulWorker) => void;
  served: Promise<void>;
}

/** Runs the worker until the requests are answered, and then drains it. */
async function withWorker(io: CommandIo, service: ServiceWithWorker): Promise<number> {
  const { agentsModule, served, flags, connected, telemetry, created } = service;
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
      ...defined({ taskQueue: flags.taskQueue, workflowsPath, telemetry }),
      graceMs: flags.grace ?? DEFAULT_GRACE_MS,
      created,
      ready: (taskQueue) => announceService(io, service, { taskQueue, agentsModule }),
    },
  );
  await end;
  return code;
}

/** A listening service. */
interface Announced {
  server: { url: string };
  /** The Temporal server that it talks to. */
  connected: { server: { address: string; namespace: string } };
  flags: { prefix?: string; studio?: boolean };
  /** The kinds of credentials that it verifies, in words. */
  callers: readonly string[];
}

/** The agents of a service, and the task queue of its worker. */
interface AnnouncedAgents {
  /** Undefined: no worker runs inside. */
  taskQueue?: string;
  agentsModule?: Pick<AgentsModule, 'agents' | 'programs'> | undefined;
}

/** Prints where the service listens, who may call it, and what to do next. */
function announceService(
  { output }: CommandIo,
  { server, connected, flags, callers }: Announced,
  { taskQueue, agentsModule }: AnnouncedAgents = {},
): void {
  const url = `${server.url}${flags.prefix ?? ''}`;
  const { address, namespace } = connected.server;
  const agents = agentsModule?.agents.map(({ name }) => name) ?? [];
  const programs = agentsModule?.programs.map(({ name }) => name) ?? [];
  const studioUrl = flags.studio ? `${url}${STUDIO_PATH}` : undefined;
  if (output.json) {
    const parts = { ...defined({ taskQueue, studioUrl }), ...(agentsModule === undefined ? {} : { agents, programs }) };
    output.printJson({ url, address, namespace, callers, ...parts });
    return;
  }
  const served = [
    ...(agents.length === 0 ? [] : [`agents: ${agents.join(', ')}`]),
    ...(programs.length === 0 ? [] : [`programs: ${programs.join(', ')}`]),
  ].join('; ');
  output.print(`Listening at ${url} for ${address} (namespace "${namespace}")`);
  output.print(callers.length === 0 ? 'Callers: no authentication, only this machine' : `Callers: ${callers.join(', ')}`);
  output.print(workerLine(taskQueue, served));
  if (studioUrl !== undefined) output.print(`Studio: ${studioUrl}`);
  const [agent = 'my-agent'] = agents;
  const header = callers.length === 0 ? '' : ` -H 'authorization: Bearer …'`;
  output.print(`\n  curl ${url}/v1/runs${header} --json '${JSON.stringify({ agent, input: '…' })}'`);
  output.print(`  curl -N ${url}/v1/runs/<run id>/stream${header}`);
  output.print(`  curl ${url}/v1/openapi.json`);
  output.print('\nCtrl-C ends it.');
}

function workerLine(taskQueue: string | undefined, served: string): string {
  if (taskQueue !== undefined) return `A worker inside polls task queue "${taskQueue}" with ${served}`;
  return served === '' ? 'Without --agents: other workers run what is started.' : `Without a worker inside: other ones run ${served}`;
}

/** The flags that decide who may call the service. */
interface AuthenticationFlags {
  host: string;
  /** The file of the API keys. */
  keys?: string;
  jwtIssuer?: string;
  jwtAudience?: string;
  /** The URL of the issuer's public keys. Default: its discovery document names it. */
  jwksUrl?: string;
  /** The client id for logging in at the issuer. */
  oidcClient?: string;
  /** The scopes that a login requests. */
  oidcScope?: string;
}

/** How the service verifies its callers. Without `authenticate`, every caller is an operator. */
interface CallerVerification {
  /** The accepted kinds of credentials, in words; none if every caller is an operator. */
  kinds: readonly string[];
  authenticate?: Authenticate;
  tokenSecrets?: readonly string[];
  oidc?: OidcOptions;
}

/**
 * Returns how the service verifies its callers: with API keys if there is a file of them, and with an issuer's tokens. Throws a
 * UsageError for an address that other machines can reach if callers are not verified.
 */
function callerVerification(flags: AuthenticationFlags, env: NodeJS.ProcessEnv): CallerVerification {
  const file = keysFile(defined({ file: flags.keys }), env);
  const isNamed = flags.keys !== undefined || Boolean(env['LONGHAUL_KEYS_FILE']);
  if (isNamed && !existsSync(file))
    throw new UsageError(`There is no file "${file}" with API keys: make one with "npx longhaul keys create"`);
  const ways = [
    ...(existsSync(file) ? [{ kind: `API keys in ${file}`, authenticate: apiKeys(fileApiKeys({ file })) }] : []),
    ...issuerOf(flags),
  ];
  if (ways.length === 0) requireLoopback(flags.host);
  const secrets = environmentTokenSecrets(env);
  return {
    kinds: ways.map(({ kind }) => kind),
    ...(ways.length === 0 ? {} : { authenticate: anyOf(...ways.map(({ authenticate }) => authenticate)) }),
    ...defined({ tokenSecrets: secrets, oidc: loginOf(flags, env) }),
  };
}

/** The client secret, which has no flag because other users can read the arguments of processes. */
const CLIENT_SECRET_VARIABLE = 'LONGHAUL_OIDC_CLIENT_SECRET';

function loginOf(
  { oidcClient: clientId, oidcScope: scope, jwtIssuer: issuer, jwtAudience: audience }: AuthenticationFlags,
  env: NodeJS.ProcessEnv,
): OidcOptions | undefined {
  if (clientId === undefined) {
    if (scope !== undefined) throw new UsageError('--oidc-scope belongs to a log-in: write --oidc-client, too');
    return undefined;
  }
  if (issuer === undefined)
    throw new UsageError('--oidc-client needs the issuer: write --jwt-issuer and --jwt-audience, which verify the tokens');
  return { issuer, clientId, ...defined({ scope, audience, clientSecret: env[CLIENT_SECRET_VARIABLE] || undefined }) };
}

function issuerOf({
  jwtIssuer: issuer,
  jwtAudience: audience,
  jwksUrl,
}: AuthenticationFlags): { kind: string; authenticate: Authenticate }[] {
  if (issuer === undefined && audience === undefined && jwksUrl === undefined) return [];
  if (issuer === undefined || audience === undefined) throw new UsageError('--jwt-issuer and --jwt-audience belong together: write both');
  return [{ kind: `tokens of ${issuer}`, authenticate: jwt({ issuer, audience, ...defined({ jwksUrl }) }) }];
}

/** Returns the module with a sink: by default, the worker shows live output to readers in its process. */
export function withSink(agentsModule: AgentsModule): AgentsModule {
  return { streams: memoryStreams(), ...agentsModule };
}

/** Returns the options of a service's client, with the agents' stores, so that it exports and deletes whole runs. */
export function serviceClientOptions(
  { terminal, output }: CommandIo,
  flags: ServerFlags,
  agentsModule: AgentsModule | undefined,
): LonghaulClientOptions {
  const { payloadStore, archive, memory, streams }: Partial<AgentsModule> = agentsModule ?? {};
  const principal = actingPrincipal(flags, terminal.env);
  const userKey = userKeyOf(terminal.env);
  return {
    ...defined({ taskQueue: flags.taskQueue, payloadStore, archive, memory, streams, principal, userKey }),
    onNotice: (line) => output.note(line),
  };
}

/** Returns the handler of a service, which lists the module's agents and programs and reports errors to the operator. */
export function serviceHandler(
  client: LonghaulClient,
  { output }: Pick<CommandIo, 'output'>,
  { agentsModule, ...options }: { agentsModule: AgentsModule | undefined } & HandlerOptions,
): Handler {
  return createHandler(client, {
    agents: agentsModule?.agents ?? [],
    programs: agentsModule?.programs ?? [],
    ...defined({ tools: agentsModule?.tools }),
    onError: (...failure) => output.note(reportText(...failure)),
    ...options,
  });
}
