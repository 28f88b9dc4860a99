import { Client, type ClientOptions, Connection } from '@temporalio/client';
import type { CodecOptions } from '../codec/encryption.ts';
import { withCodec } from '../codec/with-codec.ts';
import type { SpilledContent } from '../core/domain/content.ts';
import { defined, isJsonObject, type JsonValue } from '../core/domain/json.ts';
import { connectionReason, LonghaulError, UsageError } from '../core/domain/errors.ts';
import type { DefaultOutput, ProgramResult } from '../core/domain/result.ts';
import { identityOf, isSameIdentity, type Principal } from '../core/domain/run.ts';
import type { SavedContext } from '../core/saved/saved-context.ts';
import { principalProblem } from '../core/input-checks.ts';
import type { AnyAgent, GivenDepsOf, ResultOf } from '../define/agent-definition.ts';
import { nonEmpty, type OptionTable, requireDefined, requireKnown } from '../define/option-checks.ts';
import { readSpilled } from '../stores/payload-store.ts';
import { failEachIfUnreachable, failIfUnreachable } from '../temporal/server-calls.ts';
import { CALL_RETRY, requireSdk, resolveServer, type ServerAddress, type ServerConnectOptions } from '../temporal/server-connection.ts';
import type { ApprovalFilter, RunApproval } from './approvals.ts';
import { type AwaitOptions, awaitOptions, CLIENT_OPTIONS, type LonghaulClientOptions, type RequestedBy } from './client-options.ts';
import { exportedUser, type ExportUserOptions } from './export-user-options.ts';
import type { UserExportLine } from './export-user.ts';
import type { FeedItem, FeedOptions } from './feed-item.ts';
import { type ForgetOptions, type Forgotten, forgottenUser } from './forget-options.ts';
import {
  type CountFilter,
  type ListFilter,
  listRuns,
  listSessions,
  type RunListEntry,
  runsPage,
  type SessionFilter,
  type SessionListEntry,
  sessionsPage,
} from './list.ts';
import { watchForWorker } from './missing-workers.ts';
import { type KnownRun, RunAccess } from './run-access.ts';
import { type HandleOf, type ProgramHandle, RunHandle } from './run-handle.ts';
import { principalOf, SessionHandle, type SessionOf, type SessionOptions } from './session-handle.ts';
import {
  type ClientSettings,
  type ProgramOptions,
  type StartedInputOf,
  type StartedOutputOf,
  type StartedProgram,
  type StartOptions,
  startProgram,
  startRun,
} from './start-workflow.ts';
import type { RunCounts } from './ranked-runs.ts';
import { RunFeeds } from './stream/run-feeds.ts';
import { type ListPage, type PageOptions, principalConditions, type PrincipalFilter } from './visibility.ts';

/** Starts runs and finds them again. Made by `connect()`, or from an existing Temporal Client: `new LonghaulClient(client)`. */
export class LonghaulClient {
  /** The underlying Temporal Client. */
  readonly temporal: Client;
  readonly #options: LonghaulClientOptions;
  readonly #principal: Principal | undefined;
  readonly #access: RunAccess;
  #feeds: RunFeeds;
  /** True for a client made by `as`: it shares the connection of the client that made it. */
  #isShared = false;

  /** Throws a UsageError for unknown options, and for incompatible versions of Temporal's packages. */
  constructor(client: Client, options: LonghaulClientOptions = {}) {
    requireSdk();
    requireKnown('the client', options, CLIENT_OPTIONS);
    requireDefined('the client', options, ['principal'], 'for a client that reaches all runs');
    if (options.taskQueue !== undefined) nonEmpty('the client: "taskQueue"', options.taskQueue);
    if (options.userKey !== undefined) nonEmpty('the client: "userKey"', options.userKey);
    this.temporal = client;
    this.#options = options;
    this.#principal = options.principal === undefined ? undefined : checkPrincipal(options.principal);
    this.#feeds = new RunFeeds(client, { sink: options.streams, log: options.onNotice ?? warn });
    this.#access = new RunAccess(client, this.#principal === undefined ? undefined : identityOf(this.#principal));
  }

  /** The identity on whose behalf the client acts. Undefined: it can access all runs of its namespace. */
  get principal(): Principal | undefined {
    return this.#principal;
  }

  /**
   * Returns a client that acts for a principal: it starts runs and sessions for it, and can access only runs and sessions of the same
   * tenant and user. For any other id, every method throws `run_not_found`. It uses this client's connection. Throws a UsageError for a
   * principal without tenant and user, and on a client that acts for another principal.
   */
  as(principal: Principal): LonghaulClient {
    const checked = checkPrincipal(principal);
    if (this.#principal !== undefined && !isSameIdentity(this.#principal, checked)) {
      throw new UsageError('the client acts for a principal already: call "as" on the client that reaches all runs');
    }
    const client = new LonghaulClient(this.temporal, { ...this.#options, principal: checked });
    client.#isShared = true;
    client.#feeds = this.#feeds;
    return client;
  }

  /**
   * Starts a run and returns at once. Throws `invalid_input`, `unknown_agent`, `payload_too_large`, `run_exists`, and a UsageError
   * for messages that end with an answer and have no input after them; for `previousRunId` also `run_not_found` and `run_open`.
   */
  async start<Agent extends AnyAgent | string>(agent: Agent, options: StartOptions<GivenDepsOf<Agent>>): Promise<HandleOf<Agent>> {
    this.#checkAgent(agent, options);
    const runId = await failIfUnreachable(this.temporal, () => startRun(this.temporal, agent, this.#forPrincipal(options), this.#settings));
    return this.#handle<Agent>(runId, { isRun: (options.ifExists ?? 'fail') === 'fail' });
  }

  /** Starts a run and waits for its result, whatever its status. Sends a notice within 5 s if no worker takes the run. */
  async run<Agent extends AnyAgent | string, Steps extends boolean = false, Trace extends boolean = false>(
    agent: Agent,
    options: StartOptions<GivenDepsOf<Agent>> & AwaitOptions<Steps, Trace>,
  ): Promise<ResultOf<Agent> & RequestedBy<Steps, Trace>> {
    return (await this.#wait(await this.start(agent, options), options)) as ResultOf<Agent> & RequestedBy<Steps, Trace>;
  }

  /** Waits for the result of a run that was just started. */
  async #wait(handle: RunHandle<unknown>, options: AwaitOptions): Promise<unknown> {
    const over = new AbortController();
    void watchForWorker(this.temporal, handle.runId, over.signal, this.#options.onNotice ?? warn);
    try {
      return await handle.result(awaitOptions(options));
    } finally {
      over.abort();
    }
  }

  /**
   * Starts a program and returns at once. The program is a definition or a name that a worker has, or a document. Throws
   * `invalid_program` with all its problems, `invalid_input`, `payload_too_large`, `run_exists`.
   */
  async startProgram<Program extends StartedProgram>(
    program: Program,
    options: ProgramOptions<StartedInputOf<Program>> = {},
  ): Promise<ProgramHandle<StartedOutputOf<Program>>> {
    requireStartable('program', program);
    const start = options as ProgramOptions;
    const runId = await failIfUnreachable(this.temporal, () =>
      startProgram(this.temporal, program, this.#forPrincipal(start), this.#settings),
    );
    const handle: unknown = this.#handle(runId, { isRun: (options.ifExists ?? 'fail') === 'fail' });
    return handle as ProgramHandle<StartedOutputOf<Program>>;
  }

  /** Starts a program and waits for its result, whatever its status. Sends a notice within 5 s if no worker takes the run. */
  async runProgram<Program extends StartedProgram, Trace extends boolean = false>(
    program: Program,
    options: ProgramOptions<StartedInputOf<Program>> & Omit<AwaitOptions<never, Trace>, 'steps'> = {},
  ): Promise<ProgramResult<StartedOutputOf<Program>> & RequestedBy<false, Trace>> {
    const { runId } = await this.startProgram(program, options);
    const result: unknown = await this.#wait(this.#handle(runId, { isRun: true }), options);
    return result as ProgramResult<StartedOutputOf<Program>> & RequestedBy<false, Trace>;
  }

  /**
   * Returns the handle of the run with that id; the run need not exist. Name its agent's type for a typed output,
   * `handle<typeof clerk>(id)`, or the type of the output. Throws `invalid_input` for an empty id.
   */
  handle<AgentOrOutput = DefaultOutput>(runId: string): HandleOf<AgentOrOutput> {
    return this.#handle<AgentOrOutput>(runId);
  }

  /**
   * Returns the handle of a session. The session need not exist: its first message starts it, with these options. If the options or the
   * client name a principal, only a session of that principal can be accessed. Throws `invalid_input`, `unknown_agent`, and a UsageError
   * for options with which no session can start.
   */
  session<Agent extends AnyAgent | string>(agent: Agent, options: SessionOptions<GivenDepsOf<Agent>>): SessionOf<Agent> {
    this.#checkAgent(agent, options);
    if (this.#principal === undefined)
      requireDefined('the session', options, ['user', 'principal'], 'for a session of nobody in particular');
    const given = principalOf(options);
    const whole = this.#forPrincipal({ ...options, ...defined({ principal: given }) });
    const access = this.#access.narrowedTo(whole.principal);
    const run = this.#handle<unknown>(options.id, { access });
    const parts = { client: this.temporal, agent, run, ...this.#settings, access };
    const session: unknown = new SessionHandle(parts, whole);
    return session as SessionOf<Agent>;
  }

  /**
   * Starts a session from a saved context, as `save` returned it, and returns its handle. The session has the conversation and the deps
   * of the document; deps in the options override them. Throws as `session`, `invalid_input` for a document that cannot be read, and
   * `run_exists` if the id is taken.
   */
  async loadSession<Agent extends AnyAgent | string>(
    agent: Agent,
    saved: SavedContext,
    options: SessionOptions<GivenDepsOf<Agent>>,
  ): Promise<SessionOf<Agent>> {
    const session = this.session(agent, { ...options, saved });
    await session.open();
    return session;
  }

  /** Yields the runs of the namespace: open runs first, newest first, then closed runs, latest end first. */
  list(filter: ListFilter = {}): AsyncGenerator<RunListEntry> {
    const conditioned = this.#ofPrincipal(filter);
    return failEachIfUnreachable(this.temporal, async () => {
      if (!isRanked(filter)) return listRuns(this.temporal, conditioned);
      const { rankedRuns } = await import('./ranked-runs.ts');
      return rankedRuns(this.temporal, conditioned);
    });
  }

  /** Returns a page of the runs that `list` yields. A page may be empty although there is a next one. */
  async listPage(filter: ListFilter, page: PageOptions): Promise<ListPage<RunListEntry>> {
    return failIfUnreachable(this.temporal, async () => {
      if (!isRanked(filter)) return runsPage(this.temporal, this.#ofPrincipal(filter), page);
      const { rankedPage } = await import('./ranked-runs.ts');
      return rankedPage(this.temporal, this.#ofPrincipal(filter), page);
    });
  }

  /**
   * Counts the runs that `list` yields by status or agent, using the server's count. `agents` names agents to count in addition
   * to the agents of the first 1,000 runs of the list. Needs the search attributes of the namespace.
   */
  async counts(by: RunCounts['by'], filter: CountFilter = {}, { agents = [] }: { agents?: readonly string[] } = {}): Promise<RunCounts> {
    return failIfUnreachable(this.temporal, async () => {
      const { countRuns } = await import('./ranked-runs.ts');
      return countRuns(this.temporal, this.#ofPrincipal(filter), { by, agents });
    });
  }

  /**
   * Yields the sessions of the namespace in the order of `list`, each with its title. Needs the search attributes: a session
   * that was started without them is not listed.
   */
  sessions(filter: SessionFilter = {}): AsyncGenerator<SessionListEntry> {
    const conditioned = this.#ofPrincipal(filter);
    return failEachIfUnreachable(this.temporal, () => listSessions(this.temporal, conditioned));
  }

  /** Returns a page of the sessions that `sessions` yields. */
  async sessionsPage(filter: SessionFilter, page: PageOptions): Promise<ListPage<SessionListEntry>> {
    return failIfUnreachable(this.temporal, () => sessionsPage(this.temporal, this.#ofPrincipal(filter), page));
  }

  /**
   * Yields the pending approvals of all runs of the namespace; with `follow`, also new ones as they arrive, until the
   * signal is aborted. Needs the search attributes of the namespace.
   */
  approvals(filter: ApprovalFilter = {}): AsyncGenerator<RunApproval> {
    const conditioned = this.#ofPrincipal(filter);
    return failEachIfUnreachable(this.temporal, async () => {
      const { listApprovals } = await import('./approvals.ts');
      return listApprovals(this.temporal, conditioned);
    });
  }

  /**
   * Yields what happens in all runs of the namespace: which ones start, wait for a decision, stop waiting, and end. It begins with the
   * waiting runs. All listeners of a process share one reader of the server's lists, which polls every 2 seconds, and soon after a
   * worker has announced a wait through the sink `streams`. The `cursor` of an item continues after it, or with a `gap` in another process.
   * Needs the search attributes of the namespace. Throws `invalid_cursor`, or the reason of the signal.
   */
  feed(options: FeedOptions = {}): AsyncGenerator<FeedItem> {
    const conditioned = this.#ofPrincipal<PrincipalFilter>({});
    return failEachIfUnreachable(this.temporal, async () => {
      const { runFeed } = await import('./run-news.ts');
      return runFeed(this.temporal, { ...conditioned, waits: this.#feeds.waits() }, options);
    });
  }

  /** Returns the pending approvals of a page of the runs that wait: the size of the page is a number of runs. */
  async approvalsPage(filter: Omit<ApprovalFilter, 'limit' | 'follow'>, page: PageOptions): Promise<ListPage<RunApproval>> {
    return failIfUnreachable(this.temporal, async () => {
      const { approvalsPage } = await import('./approvals.ts');
      return approvalsPage(this.temporal, this.#ofPrincipal(filter), page);
    });
  }

  /**
   * Returns the whole content of a spilled tool result: `event.content[…].spilled`, `step.toolCalls[…].spilled`.
   * Needs no worker. Every caller who has this value, which contains the SHA-256 of the content, may read the content.
   * Throws `spilled_unavailable` if the store does not have it, `payload_store_failed` if the store fails, and a UsageError without a
   * `payloadStore`.
   */
  async readSpilled(spilled: SpilledContent): Promise<JsonValue[]> {
    const { payloadStore } = this.#options;
    const { loadedDataConverter } = this.temporal.options;
    if (payloadStore === undefined)
      throw new UsageError(`the client has no "payloadStore": give it the store "${spilled.store}" of the workers`);
    const { inStore } = await import('../stores/store-failures.ts');
    return inStore('payloadStore', 'The spilled content was not read', () => readSpilled(payloadStore, loadedDataConverter, spilled));
  }

  /**
   * Removes everything of a user: ends its runs and sessions with their descendants, and removes its memory entries, the spilled
   * results, archives and live output of its runs, and finally their executions. Runs that the server has already removed are found
   * through the archive. Resolves when the server has removed its part, which takes a minute or so. May be repeated: a call after an
   * interrupted one finishes its work. Do not start runs for the user meanwhile. Throws `wait_timeout`, `invalid_input` in a namespace
   * without search attributes, and a UsageError if there is no user, or if the client lacks a store that `without` does not name.
   */
  async forget(options: ForgetOptions = {}): Promise<Forgotten> {
    const user = forgottenUser(this.#access.identity, options);
    const { payloadStore, archive, memory, userKey } = this.#options;
    const streams = this.#options.streams === undefined ? undefined : this.#feeds;
    const work = { user, userKey, stores: { payloadStore, archive, memory, streams }, onNotice: this.#options.onNotice ?? warn };
    return failIfUnreachable(this.temporal, async () => {
      const { forget } = await import('./forget.ts');
      return forget(this.temporal, work, options);
    });
  }

  /**
   * Yields everything of a user, line by line: what `forget` would remove, without changing anything. Each run, session and program, with
   * its descendants and its earlier executions, as `handle.export()` yields it; the large results that were spilled; what each was started
   * with; and the entries of the memory. Runs that the server has removed are read from the archive. What cannot be read is an `unread`
   * line, and the export continues. Throws `invalid_input` in a namespace without search attributes, `server_unreachable`, and a UsageError
   * if there is no user, or if the client lacks a store that `without` does not name.
   */
  exportUser(options: ExportUserOptions = {}): AsyncGenerator<UserExportLine> {
    const user = exportedUser(this.#access.identity, options);
    const { payloadStore, archive, memory, userKey } = this.#options;
    const work = { user, userKey, stores: { payloadStore, archive, memory }, onNotice: this.#options.onNotice ?? warn };
    return failEachIfUnreachable(this.temporal, async () => {
      const { exportUser } = await import('./export-user.ts');
      return exportUser(this.temporal, work, options);
    });
  }

  /** Resolves if the client's sink can carry live output at this moment, or if it has no sink. Otherwise rejects with the reason. */
  async checkStreams(): Promise<void> {
    await this.#feeds.health();
  }

  /** Closes the connection to the server. Does nothing on a client made by `as`, which shares the connection. */
  async close(): Promise<void> {
    if (this.#isShared) return;
    await this.#feeds.close();
    const { connection } = this.temporal;
    if (connection instanceof Connection) await connection.close();
  }

  #handle<AgentOrOutput>(runId: string, known: KnownRun = {}): HandleOf<AgentOrOutput> {
    const { payloadStore, archive } = this.#options;
    return new RunHandle(this.temporal, runId, {
      payloadStore,
      archive,
      access: this.#access,
      feeds: this.#feeds,
      ...known,
    }) as HandleOf<AgentOrOutput>;
  }

  /** Returns the options of a start with the principal of the client. */
  #forPrincipal<Options extends { principal?: Principal }>(options: Options): Options {
    if (this.#principal === undefined) requireDefined('the start', options, ['principal'], 'for a run of nobody in particular');
    const principal = principalOfStart(this.#principal, options.principal);
    return principal === undefined ? options : { ...options, principal };
  }

  /** Returns the filter of a list with the conditions on the principal of the client. */
  #ofPrincipal<Filter extends PrincipalFilter & { query?: string }>(filter: Filter): Filter & { principalConditions: string[] } {
    if (this.#principal === undefined) requireDefined('the filter', filter, ['tenant', 'user'], 'to list the runs of all');
    const listed = { identity: this.#access.identity, userKey: this.#options.userKey };
    return { ...filter, principalConditions: principalConditions(listed, filter) };
  }

  get #settings(): ClientSettings {
    const { taskQueue, userKey, onNotice = warn } = this.#options;
    return { taskQueue, userKey, access: this.#access, onNotice };
  }

  #checkAgent(agent: { name: string } | string, options: object): void {
    requireStartable('agent', agent);
    requireOptions(options, agent);
    const { agents } = this.#options;
    const name = typeof agent === 'string' ? agent : agent.name;
    if (agents === undefined || agents.some((one) => one.name === name)) return;
    throw new LonghaulError(
      'unknown_agent',
      `No agent "${name}" is known to this client. It knows: ${agents.map((one) => `"${one.name}"`).join(', ') || 'none'}.`,
    );
  }
}

/** Throws a UsageError for anything but a name or a definition: an import of a name that a module lacks may be undefined. */
function requireStartable(kind: 'agent' | 'program', given: unknown): void {
  if (typeof given === 'string' && given !== '') return;
  if (isJsonObject(given) && typeof given['name'] === 'string') return;
  const got = given === undefined || given === null || given === '' ? (JSON.stringify(given) ?? 'undefined') : `a ${typeof given}`;
  const define = kind === 'agent' ? 'defineAgent' : 'defineProgram';
  throw new UsageError(`the ${kind} is ${got}: give the ${kind} that "${define}" returned, or its name`);
}

/** Throws a UsageError for a start without options. */
function requireOptions(options: unknown, agent: { name: string } | string): void {
  if (isJsonObject(options)) return;
  const name = typeof agent === 'string' ? agent : agent.name;
  throw new UsageError(
    `the options for agent "${name}" are missing: give an object, such as { input: 'Hello' } for a run, or { id: 'chat-1' } for a session`,
  );
}

/** True for a list that the server cannot provide by itself: with amounts, or in another order. */
function isRanked({ amounts = false, sort = 'started' }: ListFilter): boolean {
  return amounts || sort !== 'started';
}

function warn(line: string): void {
  process.emitWarning(line, 'LonghaulWarning');
}

/** Returns the principal of a client if it is valid. Throws a UsageError for one without tenant and user, or of another form. */
function checkPrincipal(value: unknown): Principal {
  if (value === undefined || value === null)
    throw new UsageError('the client: "principal" is missing: give "tenant", "user" or both. A client without one reaches all runs');
  const problem = principalProblem(value);
  if (problem !== undefined) throw new UsageError(`the client: ${problem}`);
  const principal = JSON.parse(JSON.stringify(value)) as Principal;
  if (principal.tenant !== undefined || principal.user !== undefined) return principal;
  throw new UsageError('the client: "principal" has no tenant and no user: give "tenant", "user" or both');
}

/** Returns the principal of a start: the client's, with the claims of the start. Throws a UsageError if the start names another one. */
function principalOfStart(own: Principal | undefined, given: Principal | undefined): Principal | undefined {
  if (own === undefined || given === undefined) return own ?? given;
  const { tenant = own.tenant, user = own.user, claims = own.claims } = given;
  if (isSameIdentity(own, { tenant, user })) {
    return { ...own, ...defined({ claims }) };
  }
  throw new UsageError('the start has another "principal" than the client: leave it out, or start the run with another client');
}

/** The options of `connect`. Options that are left out come from `TEMPORAL_*` variables and the Temporal CLI's TOML profile. */
export interface ConnectOptions extends ServerAddress, LonghaulClientOptions {
  /** Options of the Temporal Client: data converter, interceptors, plugins. */
  client?: Omit<ClientOptions, 'connection' | 'namespace'>;
  /** Compression and encryption of the data that is sent; the workers need the same. Encoded data can always be read. */
  codec?: CodecOptions;
}

/** All options by name: the compiler reports one that is added to the type and missing here. */
const OPTIONS: OptionTable<ConnectOptions> = { address: true, namespace: true, client: true, codec: true, ...CLIENT_OPTIONS };

/** The time limit of connecting: a running server answers within milliseconds, and a missing one should be reported within 5 s. */
const CONNECT_TIMEOUT_MS = 4_000;

/** The largest gRPC message: a page of history can exceed the default of 4 MB. */
const MAX_MESSAGE_BYTES = 128 * 1024 * 1024;

/**
 * Connects to a Temporal server. Throws `server_unreachable` with the address if none answers within 5 s, and a
 * UsageError for unknown options and a codec that cannot be used.
 */
export async function connect(options: ConnectOptions = {}): Promise<LonghaulClient> {
  requireKnown('connect', options, OPTIONS);
  for (const name of ['address', 'namespace'] as const) {
    if (options[name] !== undefined) nonEmpty(`connect: "${name}"`, options[name]);
  }
  return await connectTo(resolveServer(options), options);
}

/** Connects to this server, without the environment and the profile. The options are already checked. Throws like `connect`. */
export async function connectTo(
  { connection: server, namespace }: { connection: ServerConnectOptions; namespace: string },
  options: Omit<ConnectOptions, 'address' | 'namespace'>,
): Promise<LonghaulClient> {
  const dataConverter = withCodec(options.client?.dataConverter, options.codec);
  let connection: Connection;
  try {
    connection = await Connection.connect({
      ...server,
      connectTimeout: CONNECT_TIMEOUT_MS,
      channelArgs: { 'grpc.max_receive_message_length': MAX_MESSAGE_BYTES },
      interceptors: CALL_RETRY,
    });
  } catch (error) {
    throw new LonghaulError('server_unreachable', unreachable(server.address, error), { cause: error });
  }
  return new LonghaulClient(new Client({ ...options.client, dataConverter, connection, namespace }), clientOptions(options));
}

/** Returns the options of the client itself. */
function clientOptions(options: Omit<ConnectOptions, 'address' | 'namespace'>): LonghaulClientOptions {
  return Object.fromEntries(Object.entries(options).filter(([name]) => Object.hasOwn(CLIENT_OPTIONS, name)));
}

/** Returns the message for a server that does not answer. */
export function unreachable(address: string, error: unknown): string {
  return `No Temporal server answers at "${address}" (${connectionReason(error)}): start one with "npx longhaul dev", or set TEMPORAL_ADDRESS`;
}
