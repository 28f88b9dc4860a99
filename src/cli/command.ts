import { randomUUID } from 'node:crypto';
import { userInfo } from 'node:os';
import type { LonghaulClient } from '../client/longhaul-client.ts';
import type { UnreadRun } from '../client/unread-runs.ts';
import { type CodecOptions, environmentKeys, KEYS_VARIABLE } from '../codec/encryption.ts';
import { errorCode, errorMessage, LonghaulError, UsageError } from '../core/domain/errors.ts';
import { defined } from '../core/domain/json.ts';
import type { Principal } from '../core/domain/run.ts';
import { printableLine, shellCommand, withoutEnd } from '../core/domain/text.ts';
import type { CommandIo, ServerFlags } from './define-command.ts';
import { EXIT_CODES } from './exit-codes.ts';
import { untilInterrupted } from './terminal.ts';

/** Ids that a message names. */
const NAMED = 5;

/** The end of an id that a list has cut. */
const CUT = '…';

export function isCut(id: string): boolean {
  return id.endsWith(CUT);
}

/** Connects like `withClient`, and finds the run by its id or a prefix of it. */
export async function withRun<Value>(
  io: CommandIo,
  flags: ServerFlags & { runId: string },
  work: (found: ConnectedClient & { runId: string }) => Promise<Value>,
): Promise<Value> {
  return withClient(io, flags, async (connected) => work({ ...connected, runId: await wholeRunId(io, connected.client, flags) }));
}

/**
 * Returns the id of the run that `runId` names: its whole id, or a prefix that no other run has. Descendants of a run with the prefix do
 * not count. An unknown id is returned unchanged: the command refuses it, in the same words as a run of another principal. Throws a
 * UsageError that names the candidates. With `--json` an id is used unchanged: a program that means a deleted run must not reach
 * another one.
 */
export async function wholeRunId({ output }: CommandIo, client: LonghaulClient, flags: ServerFlags & { runId: string }): Promise<string> {
  const { runId: given } = flags;
  if (output.json || (await runExists(client, given))) return given;
  const beginning = isCut(given) ? given.slice(0, -CUT.length) : given;
  const [only = given, ...others] = beginning === '' ? [] : await topmostIds(client, beginning);
  if (others.length === 0) return only;
  const list = shellCommand('list', { operands: [], options: serverOptions(flags), program: output.program });
  const named = [only, ...others].slice(0, NAMED).map((id) => `"${id}"`);
  const more = others.length >= NAMED ? ` and others, which ${list} shows` : '';
  throw new UsageError(printableLine(`Several runs begin with "${beginning}": ${named.join(', ')}${more}. Write more of the id`));
}

async function runExists({ temporal }: LonghaulClient, runId: string): Promise<boolean> {
  const { runState } = await import('../temporal/run-workflow.ts');
  return (await runState(temporal, runId)) !== 'gone';
}

/** The most runs that are read: a run may have many descendants. */
const LOOKED_AT = 100;

/** Returns the ids with this prefix, without descendants of other matching runs. */
async function topmostIds(client: LonghaulClient, beginning: string): Promise<string[]> {
  const found: string[] = [];
  for await (const { runId } of client.list({ runIdPrefix: beginning, limit: LOOKED_AT })) found.push(runId);
  const ids = [...new Set(found)];
  return ids.filter((id) => !ids.some((other) => id !== other && id.startsWith(`${other}/`)));
}

/** How a list is printed. */
interface ListForms<Entry> {
  json: (entry: Entry) => unknown;
  /** The table for people. */
  lines: (entries: readonly Entry[]) => Iterable<string>;
  /** The note if there are no entries. */
  none: string;
}

/** Prints entries: for machines, one JSON value per line as they arrive; otherwise a table, or a note if empty. Returns the exit code. */
export async function printList<Entry>(
  { output, terminal }: CommandIo,
  entries: AsyncIterable<Entry> | Iterable<Entry>,
  { json, lines, none }: ListForms<Entry>,
): Promise<number> {
  const found: Entry[] = [];
  for await (const entry of entries) {
    terminal.signal.throwIfAborted();
    if (output.json) output.printJson(json(entry));
    else found.push(entry);
  }
  if (output.json) return 0;
  if (found.length === 0) output.note(none);
  else for (const line of lines(found)) output.print(line);
  return 0;
}

/** The most unread runs that are named. */
const NAMED_UNREAD = 5;

/** Keeps the runs that a list could not read, to say so in one line at its end: it lacks what they would add. */
export class UnreadNote {
  readonly #io: Pick<CommandIo, 'output'>;
  readonly #unread: UnreadRun[] = [];

  constructor(io: Pick<CommandIo, 'output'>) {
    this.#io = io;
  }

  get isEmpty(): boolean {
    return this.#unread.length === 0;
  }

  readonly add = (run: UnreadRun): void => void this.#unread.push(run);

  /** Prints the line if there are such runs, and returns the exit code of the command. */
  end(): number {
    const [first] = this.#unread;
    if (first === undefined) return EXIT_CODES.ok.code;
    const { code, message } = first;
    const named = this.#unread.slice(0, NAMED_UNREAD).map(({ runId }) => `"${printableLine(runId)}"`);
    const more = this.#unread.length - named.length;
    const isOne = this.#unread.length === 1;
    const which = isOne ? `run ${named.join('')}` : `${this.#unread.length} runs`;
    const rest = isOne ? '' : `. They are ${named.join(', ')}${more === 0 ? '' : ` and ${more} more`}`;
    this.#io.output.note(
      `The list is incomplete: ${which} could not be read (${isOne ? '' : 'the first: '}${code}): ${withoutEnd(printableLine(message), '.')}${rest}`,
    );
    this.#unread.length = 0;
    return EXIT_CODES.incomplete.code;
  }
}

/** The server that a command uses. */
export interface ServerLocation {
  address: string;
  namespace: string;
}

export interface ConnectedClient {
  client: LonghaulClient;
  server: ServerLocation;
}

/**
 * Connects, does the work, and disconnects. Throws `server_unreachable` within 5 s if no server answers, and the
 * reason of the terminal's signal once it is aborted.
 */
export async function withClient<Value>(
  { terminal, output }: CommandIo,
  flags: ServerFlags,
  work: (connected: ConnectedClient) => Promise<Value>,
): Promise<Value> {
  const connected = await untilInterrupted(
    terminal.signal,
    connectClient(flags, terminal.env, (line) => output.note(line)),
  );
  try {
    return await untilInterrupted(terminal.signal, work(connected));
  } finally {
    await connected.client.close();
  }
}

/**
 * Returns the server that the flags, the environment and the profile of the Temporal CLI name. Throws a UsageError
 * for a profile that cannot be read.
 */
export async function resolveServerLocation({ address, namespace }: ServerFlags): Promise<ServerLocation> {
  const { resolveServer } = await import('../temporal/server-connection.ts');
  try {
    const server = resolveServer(defined({ address, namespace }));
    return { address: server.connection.address, namespace: server.namespace };
  } catch (error) {
    const [firstLine] = errorMessage(error).split('\n');
    throw new UsageError(`The configuration of the Temporal server cannot be read: ${firstLine}`, { cause: error });
  }
}

async function connectClient(flags: ServerFlags, env: NodeJS.ProcessEnv, onNotice: (line: string) => void): Promise<ConnectedClient> {
  const codec = chosenCodec(flags, env);
  const server = await resolveServerLocation(flags);
  const principal = actingPrincipal(flags, env);
  const { connect } = await import('../client/longhaul-client.ts');
  const userKey = userKeyOf(env);
  const client = await connect({
    ...server,
    codec,
    ...defined({ taskQueue: flags.taskQueue, userKey }),
    onNotice,
  });
  return { client: principal === undefined ? client : client.as(principal), server };
}

/** Returns the principal of a command; undefined if neither flags nor environment name one: it can then access all runs. */
export function actingPrincipal({ tenant, user }: Pick<ServerFlags, 'tenant' | 'user'>, env: NodeJS.ProcessEnv): Principal | undefined {
  const principal = { tenant: tenant ?? (env['LONGHAUL_TENANT'] || undefined), user: user ?? (env['LONGHAUL_USER'] || undefined) };
  if (principal.tenant === undefined && principal.user === undefined) return undefined;
  return defined({ tenant: principal.tenant, user: principal.user });
}

/** Returns the key that clients of the namespace use to hash users in search attributes, or undefined. */
export function userKeyOf(env: NodeJS.ProcessEnv): string | undefined {
  return env['LONGHAUL_USER_KEY'] || undefined;
}

/** The environment variable that replaces `--codec`. */
const CODEC_VARIABLE = 'LONGHAUL_CODEC';

/**
 * Returns the codec of a command: from `--codec`, else from `LONGHAUL_CODEC`. If there are keys, it always encrypts: a user
 * who has set keys does not want clear text. Throws a UsageError for an unknown part, and for encryption without keys.
 */
export function chosenCodec({ codec: flag }: { codec?: string }, env: NodeJS.ProcessEnv): CodecOptions {
  const keys = environmentKeys(env);
  const codec: CodecOptions = defined({ encryption: keys });
  for (const part of (flag ?? env[CODEC_VARIABLE] ?? '').split(',').map((text) => text.trim())) {
    if (part === '') continue;
    const compression = /^compression(?:=(\d+))?$/.exec(part);
    if (compression !== null) codec.compression = compression[1] === undefined ? true : { threshold: Number(compression[1]) };
    else if (part !== 'encryption') throw new UsageError(unknownPart(part, flag === undefined ? CODEC_VARIABLE : '--codec'));
    else if (keys === undefined) throw new UsageError(`There is no key to encrypt with: set ${KEYS_VARIABLE} to id:base64`);
  }
  return codec;
}

/** True if data is encoded, so that every reader needs the codec too. */
export function encodes({ compression, encryption }: CodecOptions): boolean {
  return encryption !== undefined || (compression !== undefined && compression !== false);
}

function unknownPart(part: string, where: string): string {
  return `"${part}" in ${where} is not a part of a codec: write compression, compression=<bytes> or encryption, separated by commas`;
}

/** Returns the options that select the same server, for commands to copy. */
export function serverOptions({ address, namespace, codec }: ServerFlags): string[] {
  return Object.entries({ address, namespace, codec }).flatMap(([name, value]) => (value === undefined ? [] : [`--${name}`, value]));
}

const PROBE_MS = 500;
/** The difference between the port of the UI and the port of the server in `temporal server start-dev`. */
const UI_PORT_OFFSET = 1000;
const CLOUD_UI = 'https://cloud.temporal.io';

/** Returns the address of a run in the Temporal UI at `base`. */
export function runLink(base: string, namespace: string, runId: string): string {
  return `${withoutEnd(base, '/')}/namespaces/${encodeURIComponent(namespace)}/workflows/${encodeURIComponent(runId)}`;
}

/**
 * Returns the address of a server's Temporal UI: `LONGHAUL_UI_URL`, the UI of Temporal Cloud for a server there, or
 * for a local server the matching port, if a UI answers on it. Undefined if none is known.
 */
export async function findUi({ address }: ServerLocation, env: NodeJS.ProcessEnv): Promise<string | undefined> {
  if (env['LONGHAUL_UI_URL']) return env['LONGHAUL_UI_URL'];
  const url = URL.parse(`grpc://${address}`);
  if (url === null) return undefined;
  if (/\.(tmprl\.cloud|api\.temporal\.io)$/.test(url.hostname)) return CLOUD_UI;
  if (!['localhost', '127.0.0.1', '[::1]'].includes(url.hostname)) return undefined;
  const port = Number(url.port || 7233) + UI_PORT_OFFSET;
  // As "dev" prints it: browsers may resolve "localhost" to another address than the one at which the server listens.
  const base = `http://${url.hostname === 'localhost' ? '127.0.0.1' : url.hostname}:${port}`;
  return port <= 65_535 && (await answersAsUi(base)) ? base : undefined;
}

/** True if Temporal's UI answers. Another program may listen on that port, but only the UI serves its settings. */
async function answersAsUi(base: string): Promise<boolean> {
  try {
    const response = await fetch(`${base}/api/v1/settings`, { signal: AbortSignal.timeout(PROBE_MS) });
    const settings: unknown = response.ok ? await response.json() : undefined;
    return typeof settings === 'object' && settings !== null && 'DefaultNamespace' in settings;
  } catch {
    return false;
  }
}

/**
 * Sends a request with the user's id, or with a new one. If no answer comes in time, the error contains the id, with which
 * the same request may be sent again and is accepted once.
 */
export async function sendWithId<Receipt>(ownId: string | undefined, send: (id: string) => Promise<Receipt>): Promise<Receipt> {
  const id = ownId ?? randomUUID();
  try {
    return await send(id);
  } catch (error) {
    if (ownId !== undefined || errorCode(error) !== 'wait_timeout') throw error;
    throw new LonghaulError('wait_timeout', `${errorMessage(error)}: --id ${id}`, { cause: error });
  }
}

/**
 * Returns the name of the operating system's user, or undefined if this process has none (a container with a numeric
 * user id).
 */
export function osUser(): string | undefined {
  try {
    return userInfo().username || undefined;
  } catch {
    return undefined;
  }
}
