import type { McpServerDefinition } from '../../src/define/tool-definition.ts';
import { LonghaulError } from '../../src/core/domain/errors.ts';
import { withTimeout } from '../attempts/attempt.ts';
import type { McpOutcome } from './call-outcome.ts';
import type { McpConnection, McpRequest } from './mcp-connection.ts';
import { isTooLarge } from './message-text.ts';

/** Opens a connection, unless `stop` aborts. Rejects with an error that is safe to show in the run. */
type OpenMcp = (server: McpServerDefinition, stop: AbortSignal) => Promise<McpConnection>;

/** The result of a connection's `tools`. */
export type McpTools = Awaited<ReturnType<McpConnection['tools']>>;

/** One connection, and the number of its users. */
interface Pooled {
  readonly server: McpServerDefinition;
  readonly connection: McpConnection;
  users: number;
  /** True once it gets no new users: it is closed when its last user has finished. */
  isRetired: boolean;
  idle?: NodeJS.Timeout;
}

/** Milliseconds that a call waits for a connection that is being opened. Reading secrets and connecting have separate timeouts. */
const WAIT_MS = 60_000;

/**
 * The connections of one worker to MCP servers: one for each server, shared by all calls, opened on demand, closed when
 * idle and when the worker ends.
 */
export class McpPool {
  readonly #open: OpenMcp;
  readonly #ready = new Map<McpServerDefinition, Pooled>();
  readonly #opening = new Map<McpServerDefinition, Promise<Pooled>>();
  /** All open connections, including retired ones. */
  readonly #all = new Set<Pooled>();
  /** The number of running workers with these connections. */
  #workers = 0;
  /** Aborted when the last worker ends. */
  #end = new AbortController();

  constructor(open: OpenMcp) {
    this.#open = open;
  }

  /** Lists the tools of a server again. Throws `mcp_unreachable` if it does not answer. */
  async tools(server: McpServerDefinition, stop: AbortSignal): Promise<McpTools> {
    for (let attempt = 1; ; attempt += 1) {
      const { pooled, isNew } = await this.#lease(server, stop);
      try {
        return await pooled.connection.tools('new', stop);
      } catch (error) {
        if (stop.aborted) throw stop.reason;
        this.#retire(pooled);
        if (isNew || attempt > 1) {
          const message = isTooLarge(error)
            ? `MCP server "${server.name}" lists its tools in a message of more than 10 MB, the most that one may have. Let it list fewer tools, or list them on pages`
            : `MCP server "${server.name}" does not list its tools. Check that it is healthy and speaks the protocol`;
          throw new LonghaulError('mcp_unreachable', message, { cause: error });
        }
      } finally {
        this.#release(pooled);
      }
    }
  }

  /**
   * Calls a tool. `check` receives the server's current tools, and may refuse. A call that an old connection could not send, or whose
   * session the server no longer knows, is sent once more on a new one; a call that may have been executed is not. Throws `mcp_unreachable`
   * if there is no connection, and the reason of an aborted signal.
   */
  async call(server: McpServerDefinition, request: McpRequest, check: (tools: McpTools) => string | undefined): Promise<McpOutcome> {
    for (let attempt = 1; ; attempt += 1) {
      const { pooled, isNew } = await this.#lease(server, request.signal);
      try {
        const outcome = await callOver(pooled.connection, request, check);
        const isLost = outcome.type === 'refused' && outcome.isOfSession === true;
        if (outcome.type !== 'not_sent' && !isLost) return outcome;
        this.#retire(pooled);
        if (isNew || attempt > 1) return outcome;
      } finally {
        this.#release(pooled);
      }
    }
  }

  /** Registers a running worker: connections may be opened, and are closed when the last worker has ended. */
  start(): void {
    this.#workers += 1;
    if (this.#end.signal.aborted) this.#end = new AbortController();
  }

  /**
   * Unregisters a worker. After the last one, closes all connections and refuses to open more. Resolves when no server
   * process is left.
   */
  async close(): Promise<void> {
    this.#workers = Math.max(0, this.#workers - 1);
    if (this.#workers > 0) return;
    this.#end.abort(new Error('the worker is shutting down'));
    await Promise.allSettled(this.#opening.values());
    for (const pooled of this.#all) this.#retire(pooled);
    await Promise.all([...this.#all].map((pooled) => this.#dispose(pooled)));
  }

  async #lease(server: McpServerDefinition, stop: AbortSignal): Promise<{ pooled: Pooled; isNew: boolean }> {
    const known = this.#ready.get(server);
    if (known !== undefined) {
      if (!known.connection.isBroken) return { pooled: acquire(known), isNew: false };
      this.#retire(known);
    }
    const pooled = await withTimeout(() => this.#opened(server), { ms: WAIT_MS, stop });
    return { pooled: acquire(pooled), isNew: true };
  }

  /** Returns a new connection; concurrent calls share one. */
  #opened(server: McpServerDefinition): Promise<Pooled> {
    const running = this.#opening.get(server);
    if (running !== undefined) return running;
    const opening = this.#connect(server).finally(() => this.#opening.delete(server));
    this.#opening.set(server, opening);
    return opening;
  }

  async #connect(server: McpServerDefinition): Promise<Pooled> {
    const { signal } = this.#end;
    if (signal.aborted) throw shuttingDownError(server);
    const connection = await this.#open(server, signal);
    if (signal.aborted) {
      await connection.close();
      throw shuttingDownError(server);
    }
    const pooled: Pooled = { server, connection, users: 0, isRetired: false };
    this.#all.add(pooled);
    this.#ready.set(server, pooled);
    this.#startIdleTimer(pooled);
    return pooled;
  }

  #release(pooled: Pooled): void {
    pooled.users -= 1;
    if (pooled.users > 0) return;
    if (pooled.isRetired) void this.#dispose(pooled);
    else this.#startIdleTimer(pooled);
  }

  /** Starts the idle timer of a connection without users. */
  #startIdleTimer(pooled: Pooled): void {
    pooled.idle = setTimeout(() => this.#retire(pooled), pooled.server.idleTimeoutMs).unref();
  }

  /** Takes a connection out of use: it is closed when its last user has finished. */
  #retire(pooled: Pooled): void {
    pooled.isRetired = true;
    clearTimeout(pooled.idle);
    if (this.#ready.get(pooled.server) === pooled) this.#ready.delete(pooled.server);
    if (pooled.users === 0) void this.#dispose(pooled);
  }

  async #dispose(pooled: Pooled): Promise<void> {
    await pooled.connection.close();
    this.#all.delete(pooled);
  }
}

async function callOver(
  connection: McpConnection,
  request: McpRequest,
  check: (tools: McpTools) => string | undefined,
): Promise<McpOutcome> {
  let problem: string | undefined;
  try {
    problem = check(await connection.tools('known', request.signal));
  } catch {
    if (request.signal.aborted) throw request.signal.reason;
    return { type: 'not_sent', message: 'it does not list its tools' };
  }
  return problem === undefined ? connection.call(request) : { type: 'refused', message: problem };
}

function acquire(pooled: Pooled): Pooled {
  clearTimeout(pooled.idle);
  pooled.users += 1;
  return pooled;
}

function shuttingDownError({ name }: McpServerDefinition): LonghaulError {
  return new LonghaulError('mcp_unreachable', `MCP server "${name}" is no longer connected: this worker is shutting down`);
}
