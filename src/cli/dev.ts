import { type DevServer, startDevServer } from '../dev-server/index.ts';
import { freePorts } from '../dev-server/free-port.ts';
import { UsageError } from '../domain/error.ts';
import { DEFAULT_TASK_QUEUE, SEARCH_ATTRIBUTE_TYPES } from '../protocol.ts';
import type { CodecOptions } from '../codec/codec-options.ts';
import { KEYS_VARIABLE } from '../codec/environment-keys.ts';
import { type AgentsModule, loadAgentsModule } from './agents-module.ts';
import { checkNamespace } from './check-namespace.ts';
import { chosenCodec } from './codec-choice.ts';
import { USUAL_CODEC_PORT } from './codec-server.ts';
import type { CommandIo, ServerFlags } from './command.ts';
import { type DevCodecServer, startDevCodecServer } from './dev-codec.ts';
import { EXIT_CODES } from './exit-codes.ts';
import type { LogChoice } from '../log/log-choice.ts';
import { flaggedLog, type LogFlags } from './log-flags.ts';
import { installQuietRuntime } from './quiet-runtime.ts';
import { serveAgents } from './serve-agents.ts';
import { findUi } from './ui-link.ts';
import { resolvePlace } from './with-client.ts';

/** The options of `longhaul dev`. */
export interface DevFlags extends ServerFlags, LogFlags {
  agents?: string;
  port?: number;
  uiPort?: number;
  db?: string;
  /** Milliseconds. */
  grace?: number;
}

/** Where clients look when they are not told otherwise, and where the Temporal UI usually is. */
const USUAL_PORT = 7233;
const USUAL_UI_PORT = 8233;

const DEFAULT_GRACE_MS = 10_000;

/** Runs a local server, and a worker where there are agents, until Ctrl-C; then drains the worker and ends the server. */
export async function dev(io: CommandIo, flags: DevFlags): Promise<number> {
  const log = flaggedLog(flags, io.terminal.env);
  const agentsModule = flags.agents === undefined ? undefined : await loadAgentsModule(flags.agents);
  const codec = chosenCodec(flags, io.terminal.env);
  const codecServer = await startDevCodecServer(codec, () => usualPort(USUAL_CODEC_PORT, dimly(io)), dimly(io));
  try {
    const server = await provideServer(io, flags, codecServer);
    try {
      const place: Place = { server, codecServer };
      if (agentsModule !== undefined) return await work(io, { ...place, flags, log, codec, agentsModule });
      await announce(io, { ...place, taskQueue: flags.taskQueue ?? DEFAULT_TASK_QUEUE, agentsModule });
      await untilAborted(io.terminal.signal);
      return EXIT_CODES.ok.code;
    } finally {
      await server.stop();
    }
  } finally {
    await codecServer.stop();
  }
}

/** What a session has started, or found. */
interface Place {
  server: DevServer;
  codecServer: DevCodecServer;
}

function dimly({ output }: CommandIo): (line: string) => void {
  return (line) => output.note(output.look('dim', line));
}

async function provideServer(io: CommandIo, flags: DevFlags, { endpoint }: DevCodecServer): Promise<DevServer> {
  const { terminal } = io;
  const env = {
    ...terminal.env,
    ...(flags.address === undefined ? {} : { TEMPORAL_ADDRESS: flags.address }),
    ...(flags.namespace === undefined ? {} : { TEMPORAL_NAMESPACE: flags.namespace }),
  };
  if (flags.namespace !== undefined && !env.TEMPORAL_ADDRESS && flags.namespace !== 'default') {
    throw new UsageError(`A local server has the namespace "default" only, not "${flags.namespace}": leave --namespace out`);
  }
  const say = dimly(io);
  return await startDevServer({
    say,
    env,
    signal: terminal.signal,
    ui: true,
    port: flags.port ?? (await usualPort(USUAL_PORT, say)),
    uiPort: flags.uiPort ?? (await usualPort(USUAL_UI_PORT, say)),
    dbFile: flags.db,
    uiCodecEndpoint: endpoint,
    searchAttributes: SEARCH_ATTRIBUTE_TYPES,
  });
}

/** The usual port while it is free: a second server must not fail over it. */
async function usualPort(port: number, say: (line: string) => void): Promise<number | undefined> {
  try {
    await freePorts([port]);
    return port;
  } catch {
    say(`Port ${port} is taken: using a free one`);
    return undefined;
  }
}

async function work(
  io: CommandIo,
  {
    flags,
    log,
    server,
    codecServer,
    codec,
    agentsModule,
  }: Place & {
    flags: DevFlags;
    log: LogChoice;
    codec: CodecOptions;
    agentsModule: AgentsModule;
  },
): Promise<number> {
  await installQuietRuntime(io.output, log);
  const { address, namespace } = server;
  const startedHere = server.cliPath !== undefined;
  if (!startedHere) await checkNamespace(io, { address, namespace });
  // TLS and keys of the user's profile are for another server than one that was started here.
  const { NativeConnection } = await import('@temporalio/worker');
  const connection = startedHere ? await NativeConnection.connect({ address }) : undefined;
  try {
    return await serveAgents(io, {
      agentsModule,
      ...(connection === undefined ? { address } : { connection }),
      namespace,
      codec,
      ...(flags.taskQueue === undefined ? {} : { taskQueue: flags.taskQueue }),
      graceMs: flags.grace ?? DEFAULT_GRACE_MS,
      ready: (taskQueue) => announce(io, { server, codecServer, taskQueue, agentsModule }),
    });
  } finally {
    // A worker that failed may still hold on to it; the process ends in any case.
    await connection?.close().catch(() => undefined);
  }
}

interface Ready extends Place {
  taskQueue: string;
  agentsModule: AgentsModule | undefined;
}

async function announce({ terminal, output }: CommandIo, { server, codecServer, taskQueue, agentsModule }: Ready): Promise<void> {
  const { address, namespace } = server;
  const uiUrl = server.uiUrl ?? (await findUi(server, terminal.env));
  codecServer.allow(uiUrl);
  const { endpoint: codecEndpoint } = codecServer;
  const agents = (agentsModule?.agents ?? []).map((agent) => agent.name);
  const found = { ...(uiUrl === undefined ? {} : { uiUrl }), ...(codecEndpoint === undefined ? {} : { codecEndpoint }) };
  if (output.json) return output.printJson({ address, namespace, taskQueue, ...found, agents });
  const facts = [
    ['Temporal', `${address} (namespace "${namespace}")`],
    ['UI', uiUrl ?? 'unknown'],
    ...(codecEndpoint === undefined ? [] : [['Codec', `${codecEndpoint}, for the UI and temporal --codec-endpoint`] as const]),
    ['Task queue', taskQueue],
    ['Agents', agents.join(', ') || `none: start a worker with ${output.program} worker --agents <module>`],
  ] as const;
  for (const [name, value] of facts) output.print(`${output.look('dim', name.padEnd(11))} ${value}`);
  const [first] = agents;
  const keys = terminal.env[KEYS_VARIABLE] ? `, with the same ${KEYS_VARIABLE}` : '';
  if (first !== undefined)
    output.print(`\nIn another terminal${keys}:\n  ${output.program} start ${first} "…" --wait${await addressFlag(address)}`);
  output.print('\nCtrl-C ends it.');
}

/** What another terminal has to say so that it finds this server. */
async function addressFlag(address: string): Promise<string> {
  const usual = (await resolvePlace({})).address.replace(/^localhost:/, '127.0.0.1:');
  return usual === address.replace(/^localhost:/, '127.0.0.1:') ? '' : ` --address ${address}`;
}

async function untilAborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}
