import { type DevServer, startDevServer } from '../../dev-server/index.ts';
import { freePorts } from '../../dev-server/free-port.ts';
import { UsageError } from '../../core/domain/errors/error.ts';
import { DEFAULT_TASK_QUEUE, SEARCH_ATTRIBUTE_TYPES } from '../../core/protocol.ts';
import { KEYS_VARIABLE } from '../../codec/environment-keys.ts';
import { loadAgentsModule } from './agents-module.ts';
import { chosenCodec } from '../program/codec-choice.ts';
import { USUAL_CODEC_PORT } from './codec-server.ts';
import type { CommandIo, ServerFlags } from '../program/command.ts';
import { type DevCodecServer, startDevCodecServer } from './dev-codec.ts';
import { EXIT_CODES } from '../exit-codes.ts';
import { type DevWorkerReady, serveDevWorker } from './dev-worker.ts';
import { flaggedLog, type LogFlags } from '../program/log-flags.ts';
import { findUi } from '../render/ui-link.ts';
import { resolveServerLocation } from '../with-client.ts';
import { workflowsFile } from './workflows-file.ts';

/** The options of `longhaul dev`. */
export interface DevFlags extends ServerFlags, LogFlags {
  agents?: string;
  port?: number;
  uiPort?: number;
  db?: string;
  /** The module of the user's own workflows. */
  workflows?: string;
  /** True to restart the worker when a file changes. */
  watch?: boolean;
  /** The time that running calls may take to end at shutdown, in milliseconds. */
  grace?: number;
}

/** The port that clients use by default, and the usual port of the Temporal UI. */
const USUAL_PORT = 7233;
const USUAL_UI_PORT = 8233;

/** Runs a local server, and a worker if there are agents, until Ctrl-C; then drains the worker and ends the server. */
export async function dev(io: CommandIo, flags: DevFlags): Promise<number> {
  const { agents } = flags;
  checkWorkerFlags(flags);
  flaggedLog(flags, io.terminal.env);
  // Problems of the module are reported before a server is started. A session with --watch waits until the user fixes
  // them.
  if (agents !== undefined && !flags.watch) await loadAgentsModule(agents);
  const codec = chosenCodec(flags, io.terminal.env);
  const codecServer = await startDevCodecServer(codec, () => usualPort(USUAL_CODEC_PORT, dimNotes(io)), dimNotes(io));
  try {
    const server = await provideServer(io, flags, codecServer);
    try {
      const session: Session = { server, codecServer };
      if (agents !== undefined) return await work(io, { ...session, flags: { ...flags, agents } });
      await announce(io, { ...session, taskQueue: flags.taskQueue ?? DEFAULT_TASK_QUEUE, agents: [], programs: [] });
      await untilAborted(io.terminal.signal);
      return EXIT_CODES.ok.code;
    } finally {
      await server.stop();
    }
  } finally {
    await codecServer.stop();
  }
}

function checkWorkerFlags({ agents, workflows, watch = false }: DevFlags): void {
  workflowsFile(workflows);
  if (agents !== undefined) return;
  const flag = workflows === undefined ? (watch ? '--watch' : undefined) : '--workflows';
  if (flag !== undefined) throw new UsageError(`${flag} configures a worker, and there is no worker without agents: add --agents <module>`);
}

/** The servers that a session has started or found. */
interface Session {
  server: DevServer;
  codecServer: DevCodecServer;
}

function dimNotes({ output }: CommandIo): (line: string) => void {
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
  const say = dimNotes(io);
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

/** Returns the usual port if it is free, otherwise undefined: a second server must not fail because of it. */
async function usualPort(port: number, say: (line: string) => void): Promise<number | undefined> {
  try {
    await freePorts([port]);
    return port;
  } catch {
    say(`Port ${port} is taken: using a free one`);
    return undefined;
  }
}

async function work(io: CommandIo, { flags, server, codecServer }: Session & { flags: DevFlags & { agents: string } }): Promise<number> {
  const { address, namespace } = server;
  const location = { address, namespace, startedHere: server.cliPath !== undefined };
  const ready = (worker: DevWorkerReady): Promise<void> => announce(io, { server, codecServer, ...worker });
  if (!flags.watch) return serveDevWorker(io, { flags, location, ready });
  const { watchWorker } = await import('./watch-worker.ts');
  return watchWorker(io, { flags, location, ready });
}

interface Ready extends Session, DevWorkerReady {}

async function announce({ terminal, output }: CommandIo, { server, codecServer, taskQueue, agents, programs }: Ready): Promise<void> {
  const { address, namespace } = server;
  const uiUrl = server.uiUrl ?? (await findUi(server, terminal.env));
  codecServer.allow(uiUrl);
  const { endpoint: codecEndpoint } = codecServer;
  const found = { ...(uiUrl === undefined ? {} : { uiUrl }), ...(codecEndpoint === undefined ? {} : { codecEndpoint }) };
  if (output.json) return output.printJson({ address, namespace, taskQueue, ...found, agents, programs });
  const facts = [
    ['Temporal', `${address} (namespace "${namespace}")`],
    ['UI', uiUrl ?? 'unknown'],
    ...(codecEndpoint === undefined ? [] : [['Codec', `${codecEndpoint}, for the UI and temporal --codec-endpoint`] as const]),
    ['Task queue', taskQueue],
    ...(agents.length === 0 && programs.length > 0
      ? []
      : [['Agents', agents.join(', ') || `none: start a worker with ${output.program} worker --agents <module>`] as const]),
    ...(programs.length === 0 ? [] : [['Programs', programs.join(', ')] as const]),
  ] as const;
  for (const [name, value] of facts) output.print(`${output.look('dim', name.padEnd(11))} ${value}`);
  const [agent] = agents;
  const [program] = programs;
  const keys = terminal.env[KEYS_VARIABLE] ? `, with the same ${KEYS_VARIABLE}` : '';
  const commands = [
    ...(agent === undefined ? [] : [`start ${agent} "…" --wait`]),
    ...(program === undefined ? [] : [`run ${program} --input-json '{…}'`]),
  ];
  const flag = await addressFlag(address);
  if (commands.length > 0)
    output.print(`\nIn another terminal${keys}:\n${commands.map((command) => `  ${output.program} ${command}${flag}`).join('\n')}`);
  output.print('\nCtrl-C ends it.');
}

/** Returns the flag that another terminal needs to find this server, if any. */
async function addressFlag(address: string): Promise<string> {
  const usual = (await resolveServerLocation({})).address.replace(/^localhost:/, '127.0.0.1:');
  return usual === address.replace(/^localhost:/, '127.0.0.1:') ? '' : ` --address ${address}`;
}

async function untilAborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}
