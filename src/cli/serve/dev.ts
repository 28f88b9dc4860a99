import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type CodecOptions, KEYS_VARIABLE } from '../../codec/encryption.ts';
import { defined } from '../../core/domain/json.ts';
import { errorMessage, UsageError } from '../../core/domain/errors.ts';
import { DEFAULT_TASK_QUEUE, SEARCH_ATTRIBUTE_TYPES } from '../../core/protocol.ts';
import { DevServerError, freePorts, portIfFree } from '../../dev-server/start-flags.ts';
import { type DevServer, holdRunFile, type RunFile, startDevServer } from '../../dev-server/dev-server.ts';
import { STUDIO_PATH } from '../../server/studio.ts';
import { EXIT_CODES } from '../exit-codes.ts';
import { type Fact, factLines, type Output } from '../output.ts';
import { chosenCodec, encodes, findUi, resolveServerLocation } from '../command.ts';
import type { CommandIo } from '../define-command.ts';
import { flaggedLog } from '../options.ts';
import { loadAgentsModule } from '../input-files.ts';
import { type CodecServer, reportRefusals, startCodecServer, USUAL_CODEC_PORT } from './codec-server.ts';
import { type DevWorkerReady, serveDevWorker } from './dev-worker.ts';
import { workflowsFile } from './serve-agents.ts';
import { untilEnded } from '../terminal.ts';
import type { DevFlags } from '../serve-commands.ts';

/** The port that clients use by default, and the usual port of the Temporal UI. */
const USUAL_PORT = 7233;
const USUAL_UI_PORT = 8233;
/** The port of the HTTP service, the same as for `longhaul serve`. */
const USUAL_HTTP_PORT = 8787;

/** The file that keeps runs by default, in the current folder. */
const USUAL_FILE = join('.longhaul', 'dev.db');

/** Runs a local server, and a worker if there are agents, until Ctrl-C; then drains the worker and ends the server. */
export async function dev(io: CommandIo, flags: DevFlags): Promise<number> {
  const { agents } = flags;
  checkWorkerFlags(flags);
  checkServerFlags(flags, io.terminal.env);
  flaggedLog(flags, io.terminal.env);
  // Problems of the module are reported before a server is started. A session with --watch waits until the user fixes
  // them.
  if (agents !== undefined && !flags.watch) await loadAgentsModule(agents);
  if (flags.httpPort !== undefined) await freePorts([flags.httpPort]);
  const codec = chosenCodec(flags, io.terminal.env);
  const codecServer = await startDevCodecServer(codec, () => usualPort(USUAL_CODEC_PORT, dimNotes(io)), dimNotes(io));
  try {
    const server = await keepingRuns(io, flags, (dbFile) => provideServer(io, flags, { codecServer, dbFile }));
    try {
      const session: Session = { server, codecServer };
      if (agents !== undefined) return await untilServerEnds(session, work(io, { ...session, flags: { ...flags, agents } }));
      await announceSession(io, { ...session, taskQueue: flags.taskQueue ?? DEFAULT_TASK_QUEUE, agents: [], programs: [] });
      await untilServerEnds(session, untilEnded(io.terminal.signal));
      return EXIT_CODES.ok.code;
    } finally {
      await server.stop();
    }
  } finally {
    await codecServer.stop();
  }
}

function checkWorkerFlags({ agents, workflows, watch = false, httpPort, http }: DevFlags): void {
  workflowsFile(workflows);
  if (httpPort !== undefined && !http)
    throw new UsageError('--no-http means no HTTP service, and --http-port is its port: leave one of them out');
  if (agents !== undefined) return;
  const flags = { '--workflows': workflows !== undefined, '--watch': watch, '--http-port': httpPort !== undefined };
  const [flag] = Object.entries(flags).flatMap(([name, isGiven]) => (isGiven ? [name] : []));
  if (flag !== undefined) throw new UsageError(`${flag} configures a worker, and there is no worker without agents: add --agents <module>`);
}

function checkServerFlags({ address, namespace, db, memory = false }: DevFlags, env: NodeJS.ProcessEnv): void {
  const flag = db !== undefined ? '--db' : memory ? '--memory' : undefined;
  if (db !== undefined && memory) throw new UsageError('--memory keeps no runs, and --db names the file that does: leave one of them out');
  const isLocal = (address ?? env['TEMPORAL_ADDRESS'] ?? '') === '';
  if (isLocal && namespace !== undefined && namespace !== 'default') {
    throw new UsageError(`A local server has the namespace "default" only, not "${namespace}": leave --namespace out`);
  }
  if (flag === undefined || isLocal) return;
  const named = address === undefined ? 'TEMPORAL_ADDRESS' : '--address';
  throw new UsageError(`${flag} is about a server that dev starts, and ${named} names one that runs already: leave one of them out`);
}

/** Starts a server that keeps its runs where the flags say, and says so. */
async function keepingRuns(io: CommandIo, flags: DevFlags, start: (dbFile: string | undefined) => Promise<DevServer>): Promise<DevServer> {
  const say = dimNotes(io);
  const { address, db = USUAL_FILE, memory = false } = flags;
  const running = address ?? io.terminal.env['TEMPORAL_ADDRESS'] ?? '';
  if (running !== '') {
    say(`Using the Temporal server at ${running} …`);
    return start(undefined);
  }
  if (memory) {
    say('Starting a Temporal server, with its runs in memory …');
    return start(undefined);
  }
  say(`Starting a Temporal server, with its runs in ${db} …`);
  makeFolder(dirname(db), { isOwn: flags.db === undefined });
  const file = await holdRunFile(db, io.terminal.signal);
  try {
    return releaseAtEnd(file, await start(db));
  } catch (error) {
    file.release();
    throw error;
  }
}

/** Makes the folder of a file of runs. The default one excludes itself from the user's repository. */
function makeFolder(folder: string, { isOwn }: { isOwn: boolean }): void {
  try {
    mkdirSync(folder, { recursive: true });
    if (isOwn) writeFileSync(join(folder, '.gitignore'), '*\n');
  } catch (error) {
    throw new UsageError(
      `No runs can be kept in "${folder}": ${errorMessage(error)}. Name another file with --db, or keep none with --memory`,
      { cause: error },
    );
  }
}

/** Returns a server that releases its file when it ends. */
function releaseAtEnd(file: RunFile, server: DevServer): DevServer {
  file.tell(server.address);
  return { ...server, stop: () => server.stop().finally(() => file.release()) };
}

function dimNotes({ output }: CommandIo): (line: string) => void {
  return (line) => output.note(output.look('dim', line));
}

async function provideServer(
  io: CommandIo,
  flags: DevFlags,
  { codecServer, dbFile }: { codecServer: DevCodecServer; dbFile: string | undefined },
): Promise<DevServer> {
  const { terminal } = io;
  const env = {
    ...terminal.env,
    ...defined({ TEMPORAL_ADDRESS: flags.address, TEMPORAL_NAMESPACE: flags.namespace }),
  };
  const say = dimNotes(io);
  return await startDevServer({
    say,
    env,
    signal: terminal.signal,
    ui: true,
    port: flags.port ?? (await usualPort(USUAL_PORT, say)),
    uiPort: flags.uiPort ?? (await usualPort(USUAL_UI_PORT, say)),
    dbFile,
    uiCodecEndpoint: codecServer.endpoint,
    searchAttributes: SEARCH_ATTRIBUTE_TYPES,
  });
}

async function usualPort(port: number, say: (line: string) => void): Promise<number | undefined> {
  const free = await portIfFree(port);
  if (free === undefined) say(`Port ${port} is taken: using a free one`);
  return free;
}

/** Chooses the port of the HTTP service. Each worker of the session listens there. */
async function chosenHttpPort(io: CommandIo, { http, httpPort }: DevFlags): Promise<number | undefined> {
  if (!http) return undefined;
  const chosen = httpPort ?? (await usualPort(USUAL_HTTP_PORT, dimNotes(io)));
  return chosen ?? (await freePorts([undefined]))[0];
}

async function work(
  io: CommandIo,
  { flags: given, server, codecServer }: Session & { flags: DevFlags & { agents: string } },
): Promise<number> {
  const { httpPort: _, ...rest } = given;
  const httpPort = await chosenHttpPort(io, given);
  const flags = { ...rest, ...defined({ httpPort }) };
  const { address, namespace } = server;
  const uiUrl = server.uiUrl ?? (await findUi(server, io.terminal.env));
  const location = { address, namespace, startedHere: server.cliPath !== undefined, ...defined({ uiUrl }) };
  const ready = (worker: DevWorkerReady): Promise<void> => announceSession(io, { server, codecServer, ...worker });
  if (!flags.watch) return serveDevWorker(io, { flags, location, ready });
  const { watchWorker } = await import('./watch-worker.ts');
  return watchWorker(io, { flags, location, ready });
}

/** Does the work of a session. Rejects if its server ends meanwhile, since what waits for the server would never end. */
async function untilServerEnds<Value>({ server }: Session, working: Promise<Value>): Promise<Value> {
  const again = server.dbFile === undefined ? 'Its runs are gone' : `Its runs are in ${server.dbFile}, and continue`;
  const ended = server.ended?.then(() => {
    throw new DevServerError(`The server of this session has ended. ${again}: start longhaul dev again`);
  });
  return await Promise.race([working, ...(ended === undefined ? [] : [ended])]);
}

/** The servers that a session of `longhaul dev` has started or found. */
export interface Session {
  server: DevServer;
  codecServer: DevCodecServer;
}

/** Prints what the session provides, and what to do next. Pages of the Temporal UI may then call the codec server. */
async function announceSession(
  { terminal, output }: CommandIo,
  { server, codecServer, ...worker }: Session & DevWorkerReady,
): Promise<void> {
  const { taskQueue, httpUrl, agents, programs } = worker;
  const { address, namespace } = server;
  const uiUrl = server.uiUrl ?? (await findUi(server, terminal.env));
  codecServer.allow(uiUrl);
  const { endpoint: codecEndpoint } = codecServer;
  const studioUrl = httpUrl === undefined ? undefined : `${httpUrl}${STUDIO_PATH}`;
  const found = defined({ dbFile: server.dbFile, uiUrl, codecEndpoint, httpUrl, studioUrl });
  if (output.json) return output.printJson({ address, namespace, taskQueue, ...found, agents, programs });
  const noAgents = `none: start a worker with ${output.program} worker --agents <module>`;
  const facts: Fact[] = [
    ['Temporal', `${address} (namespace "${namespace}")`],
    ['Runs', server.cliPath === undefined ? undefined : dataLocationText(server.dbFile)],
    ['UI', uiUrl ?? 'unknown'],
    ['Codec', codecEndpoint && `${codecEndpoint}, for the UI and temporal --codec-endpoint`],
    ['HTTP', httpUrl],
    ['Studio', studioUrl],
    ['Task queue', taskQueue],
    ['Agents', agents.length === 0 && programs.length > 0 ? undefined : agents.join(', ') || noAgents],
    ['Programs', programs.length === 0 ? undefined : programs.join(', ')],
  ];
  for (const line of factLines(facts, output, 11)) output.print(line);
  const commands = await nextCommands(output, address, worker);
  const keys = terminal.env[KEYS_VARIABLE] ? `, with the same ${KEYS_VARIABLE}` : '';
  if (commands.length > 0) output.print(`\nIn another terminal${keys}:\n${commands.map((command) => `  ${command}`).join('\n')}`);
  output.print('\nCtrl-C ends it.');
}

function dataLocationText(dbFile: string | undefined): string {
  if (dbFile === undefined) return 'in memory: gone when this ends';
  return `kept in ${dbFile}. To begin anew, end this and delete ${dirname(dbFile) === '.longhaul' ? '.longhaul' : `${dbFile}*`}`;
}

/** Returns commands for another terminal. */
async function nextCommands({ program: longhaul }: Output, address: string, worker: DevWorkerReady): Promise<string[]> {
  const {
    httpUrl,
    agents: [agent],
    programs: [program],
  } = worker;
  const flag = await addressFlag(address);
  return [
    ...(agent === undefined ? [] : [`${longhaul} start ${agent} "…" --wait${flag}`]),
    ...(program === undefined ? [] : [`${longhaul} run ${program} --input-json '{…}'${flag}`]),
    ...(agent === undefined || httpUrl === undefined
      ? []
      : [`curl ${httpUrl}/v1/runs --json '${JSON.stringify({ agent, input: '…' })}'`, `curl -N ${httpUrl}/v1/runs/<run id>/stream`]),
  ];
}

/** Returns the flag that another terminal needs to find this server, if any. */
async function addressFlag(address: string): Promise<string> {
  const usual = (await resolveServerLocation({})).address.replace(/^localhost:/, '127.0.0.1:');
  return usual === address.replace(/^localhost:/, '127.0.0.1:') ? '' : ` --address ${address}`;
}

/** The codec server that `dev` runs for the Temporal UI; without an endpoint if nothing is encoded. */
interface DevCodecServer {
  readonly endpoint: string | undefined;
  /** Allows the pages of the Temporal UI at this address to call. */
  allow(uiUrl: string | undefined): void;
  stop(): Promise<void>;
}

/** Starts a local codec server if the codec encodes anything. Pages may call once their address is allowed. */
async function startDevCodecServer(
  codec: CodecOptions,
  port: () => Promise<number | undefined>,
  say: (line: string) => void,
): Promise<DevCodecServer> {
  const origins = new Set<string>();
  let server: CodecServer | undefined;
  if (encodes(codec)) {
    const allowsOrigin = (origin: string): boolean => origins.has(origin);
    server = await startCodecServer({ codec, port: await port(), allowsOrigin, onRefusal: reportRefusals(say) });
  }
  return {
    endpoint: server?.url,
    allow: (uiUrl) => {
      if (uiUrl !== undefined) for (const origin of originsOf(new URL(uiUrl))) origins.add(origin);
    },
    stop: async () => server?.stop(),
  };
}

/** Returns both names of a local origin, because a browser may use either one. */
function originsOf(url: URL): string[] {
  const isLocal = url.hostname === '127.0.0.1' || url.hostname === 'localhost';
  return isLocal ? ['127.0.0.1', 'localhost'].map((host) => `${url.protocol}//${host}:${url.port}`) : [url.origin];
}
