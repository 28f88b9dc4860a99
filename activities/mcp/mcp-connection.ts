import { Client, type jsonSchemaValidator, type Tool, type Transport } from '@modelcontextprotocol/client';
import { isJsonObject, type JsonObject } from '../../src/core/domain/json/json.ts';
import { checkJson, problemsText } from '../../src/core/json-schema/check-json-schema.ts';
import { cleanJson } from '../../src/model/clean-json.ts';
import { withTimeout } from '../attempts/with-timeout.ts';
import { type McpOutcome, outcomeOfError } from './call-outcome.ts';
import { checkableSchema } from './checkable-schema.ts';

/** A link to a server that is not connected yet. */
export interface Link {
  transport: Transport;
  /** Tells the server that the session is over, if the transport has sessions. */
  end?: () => Promise<void>;
}

/** One call of a tool. */
export interface McpRequest {
  /** The server's name of the tool. */
  tool: string;
  args: JsonObject;
  idempotencyKey: string;
  /** Bounds the call, which has no other limit. */
  signal: AbortSignal;
  onProgress: (progress: McpProgress) => void;
}

/** The progress of a call that the server reports. `message` may contain anything. */
export interface McpProgress {
  progress: number;
  total?: number | undefined;
  message?: string | undefined;
}

/** Time limits, in milliseconds, for connecting, listing and closing. */
const CONNECT_MS = 30_000;
const PROBE_MS = 10_000;
const LIST_MS = 20_000;
const PING_MS = 10_000;
const END_MS = 2_000;

/** The longest time that a timer can be set to. */
const NO_LIMIT_MS = 2 ** 31 - 1;

/**
 * Checks structured results against the schema of their tool, by interpretation: a server's schema must not be compiled
 * to code.
 */
const outputValidation: jsonSchemaValidator = {
  getValidator<Value>(schema: unknown) {
    const plain = cleanJson(schema);
    const checked = plain !== undefined && isJsonObject(plain) ? checkableSchema(plain) : {};
    return (input: unknown) => {
      const problems = checkJson(checked, input);
      if (problems.length === 0) return { valid: true, data: input as Value, errorMessage: undefined };
      return { valid: false, data: undefined, errorMessage: problemsText(problems) };
    };
  },
};

/**
 * A live connection to an MCP server. It offers the server no capabilities (no sampling, no roots, no questions to a
 * user), and ignores its log.
 */
export class McpConnection {
  readonly #client: Client;
  readonly #link: Link;
  #tools: Promise<readonly Tool[]> | undefined;
  #isBroken = false;
  #closing: Promise<void> | undefined;

  private constructor(link: Link) {
    this.#link = link;
    this.#client = new Client(
      { name: 'longhaul', version: '1' },
      {
        capabilities: {},
        jsonSchemaValidator: outputValidation,
        versionNegotiation: { mode: 'auto', probe: { timeoutMs: PROBE_MS } },
        listChanged: { tools: { autoRefresh: false, debounceMs: 0, onChanged: () => (this.#tools = undefined) } },
      },
    );
    // oxlint-disable-next-line unicorn/prefer-add-event-listener -- the client has no other way
    this.#client.onclose = () => (this.#isBroken = true);
  }

  /** Connects, unless `stop` aborts. Rejects with the error of the connection, and leaves nothing open. */
  static async open(link: Link, stop: AbortSignal): Promise<McpConnection> {
    const connection = new McpConnection(link);
    try {
      await withTimeout((signal) => connection.#client.connect(link.transport, { timeout: CONNECT_MS, signal }), { ms: CONNECT_MS, stop });
      return connection;
    } catch (error) {
      await link.transport.close().catch(() => undefined);
      throw error;
    }
  }

  /** True if the connection can no longer be used. */
  get isBroken(): boolean {
    return this.#isBroken;
  }

  /** Returns the tools of the server, of all pages. With 'known', a cached list is used until the server reports a change. */
  async tools(which: 'known' | 'new', stop: AbortSignal): Promise<readonly Tool[]> {
    if (which === 'new') this.#tools = undefined;
    const listing = (this.#tools ??= this.#list());
    try {
      return await withTimeout(() => listing, { ms: LIST_MS, stop });
    } catch (error) {
      if (this.#tools === listing) this.#tools = undefined;
      throw error;
    }
  }

  /** Calls a tool. Rejects only with the reason of an aborted signal, which is reported to the server. */
  async call({ tool, args, idempotencyKey, signal, onProgress }: McpRequest): Promise<McpOutcome> {
    const params = { name: tool, arguments: args, _meta: { 'longhaul/idempotencyKey': idempotencyKey } };
    try {
      const result = await this.#client.callTool(params, { signal, timeout: NO_LIMIT_MS, onprogress: onProgress });
      return { type: 'answered', result };
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      const outcome = outcomeOfError(error);
      if (outcome.type === 'lost') this.#ping();
      return outcome;
    }
  }

  /** Closes the connection, and the process of the server. Never rejects. */
  close(): Promise<void> {
    return (this.#closing ??= this.#close());
  }

  async #close(): Promise<void> {
    const { end } = this.#link;
    if (end !== undefined && !this.#isBroken) await withTimeout(end, { ms: END_MS }).catch(() => undefined);
    this.#isBroken = true;
    await this.#client.close().catch(() => undefined);
  }

  async #list(): Promise<readonly Tool[]> {
    if (this.#client.getServerCapabilities()?.tools === undefined) return [];
    const { tools } = await this.#client.listTools(undefined, { timeout: LIST_MS, cacheMode: 'refresh' });
    return tools;
  }

  /**
   * Pings the server after a lost call. A slow call does not end a session that others use; a missing answer to the
   * ping does.
   */
  #ping(): void {
    if (this.#isBroken) return;
    this.#client.ping({ timeout: PING_MS }).catch((error: unknown) => {
      if (outcomeOfError(error).type !== 'refused') this.#isBroken = true;
    });
  }
}
