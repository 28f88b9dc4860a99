import { type DevServer, startDevServer } from '../dev-server/index.ts';
import { freePorts } from '../dev-server/free-port.ts';
import { UsageError } from '../domain/error.ts';
import { DEFAULT_TASK_QUEUE, SEARCH_ATTRIBUTES } from '../protocol.ts';
import { type AgentsModule, loadAgentsModule } from './agents-module.ts';
import { checkNamespace } from './check-namespace.ts';
import type { CommandIo, ServerFlags } from './command.ts';
import { EXIT_CODES } from './exit-codes.ts';
import { installQuietRuntime } from './quiet-runtime.ts';
import { serveAgents } from './serve-agents.ts';
import { findUi } from './ui-link.ts';
import { resolvePlace } from './with-client.ts';

/** The options of `longhaul dev`. */
export interface DevFlags extends ServerFlags {
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
  const agentsModule = flags.agents === undefined ? undefined : await loadAgentsModule(flags.agents);
  const server = await provideServer(io, flags);
  try {
    if (agentsModule !== undefined) return await work(io, { flags, server, agentsModule });
    await announce(io, { server, taskQueue: flags.taskQueue ?? DEFAULT_TASK_QUEUE, agentsModule });
    await untilAborted(io.terminal.signal);
    return EXIT_CODES.ok.code;
  } finally {
    await server.stop();
  }
}

async function provideServer({ terminal, output }: CommandIo, flags: DevFlags): Promise<DevServer> {
  const env = {
    ...terminal.env,
    ...(flags.address === undefined ? {} : { TEMPORAL_ADDRESS: flags.address }),
    ...(flags.namespace === undefined ? {} : { TEMPORAL_NAMESPACE: flags.namespace }),
  };
  if (flags.namespace !== undefined && !env.TEMPORAL_ADDRESS && flags.namespace !== 'default') {
    throw new UsageError(`A local server has the namespace "default" only, not "${flags.namespace}": leave --namespace out`);
  }
  const say = (line: string): void => output.note(output.look('dim', line));
  return await startDevServer({
    say,
    env,
    signal: terminal.signal,
    ui: true,
    port: flags.port ?? (await usualPort(USUAL_PORT, say)),
    uiPort: flags.uiPort ?? (await usualPort(USUAL_UI_PORT, say)),
    dbFile: flags.db,
    searchAttributes: Object.fromEntries(Object.values(SEARCH_ATTRIBUTES).map((name) => [name, 'Keyword' as const])),
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
  { flags, server, agentsModule }: { flags: DevFlags; server: DevServer; agentsModule: AgentsModule },
): Promise<number> {
  await installQuietRuntime(io.output);
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
      ...(flags.taskQueue === undefined ? {} : { taskQueue: flags.taskQueue }),
      graceMs: flags.grace ?? DEFAULT_GRACE_MS,
      ready: (taskQueue) => announce(io, { server, taskQueue, agentsModule }),
    });
  } finally {
    // A worker that failed may still hold on to it; the process ends in any case.
    await connection?.close().catch(() => undefined);
  }
}

interface Ready {
  server: DevServer;
  taskQueue: string;
  agentsModule: AgentsModule | undefined;
}

async function announce({ terminal, output }: CommandIo, { server, taskQueue, agentsModule }: Ready): Promise<void> {
  const { address, namespace } = server;
  const uiUrl = server.uiUrl ?? (await findUi(server, terminal.env));
  const agents = (agentsModule?.agents ?? []).map((agent) => agent.name);
  if (output.json) return output.printJson({ address, namespace, taskQueue, ...(uiUrl === undefined ? {} : { uiUrl }), agents });
  const facts = [
    ['Temporal', `${address} (namespace "${namespace}")`],
    ['UI', uiUrl ?? 'unknown'],
    ['Task queue', taskQueue],
    ['Agents', agents.join(', ') || 'none: start a worker with longhaul worker --agents <module>'],
  ] as const;
  for (const [name, value] of facts) output.print(`${output.look('dim', name.padEnd(11))} ${value}`);
  const [first] = agents;
  if (first !== undefined) output.print(`\nIn another terminal:\n  longhaul start ${first} "…" --wait${await addressFlag(address)}`);
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
