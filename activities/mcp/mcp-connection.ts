import { Client, ProtocolError, SseError, type Tool, type Transport } from '@modelcontextprotocol/client';
import { z } from 'zod';
import { isJsonObject, type JsonObject } from '../../src/core/domain/json/json.ts';
import { withTimeout } from '../attempts/with-timeout.ts';
import { type McpOutcome, outcomeOfError } from './call-outcome.ts';
import { FURTHER_TOOLS, nameOfTool } from './read-tool.ts';
import { answerIn } from './server-messages.ts';

/** A link to a server that is not connected yet. */
export interface Link {
  transport: Transport;
  /** Tells the server that the session is over, if the transport has sessions. */
  end?: () => Promise<void>;
  /** The transport belongs to the older generation of the protocol: the newer one is not tried. */
  isLegacy?: true;
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

/** The most pages of a list of tools, and the most tools: far more than an agent can have. */
const MAX_PAGES = 100;
const MAX_TOOLS = 2_000;

/** Any result: what the server has answered is read by Longhaul. */
const ANY_RESULT = z.looseObject({});

/** The tools of a server as it lists them: each may be anything. */
export type ListedTools = readonly unknown[];

/**
 * A live connection to an MCP server. It offers the server no capabilities (no sampling, no roots, no questions to a
 * user), and ignores its log.
 */
export class McpConnection {
  readonly #client: Client;
  readonly #link: Link;
  #tools: Promise<ListedTools> | undefined;
  #isBroken = false;
  #closing: Promise<void> | undefined;

  private constructor(link: Link) {
    this.#link = link;
    this.#client = new Client(
      { name: 'longhaul', version: '1' },
      {
        capabilities: {},
        ...(link.isLegacy ? {} : { versionNegotiation: { mode: 'auto', probe: { timeoutMs: PROBE_MS } } }),
        listChanged: { tools: { autoRefresh: false, debounceMs: 0, onChanged: () => (this.#tools = undefined) } },
      },
    );
    // oxlint-disable-next-line unicorn/prefer-add-event-listener -- the client has no other way
    this.#client.onclose = () => (this.#isBroken = true);
    // oxlint-disable-next-line unicorn/prefer-add-event-listener -- the client has no other way
    this.#client.onerror = (error) => {
      // The stream of the older transport connects again by itself, to another session. The answers of this one are lost.
      if (error instanceof SseError) void this.#breakOff();
    };
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
  async tools(which: 'known' | 'new', stop: AbortSignal): Promise<ListedTools> {
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
      const toolDefinition = await this.#definition(tool);
      const result = await this.#client.callTool(params, { signal, timeout: NO_LIMIT_MS, onprogress: onProgress, toolDefinition });
      return { type: 'answered', result: answerIn(result) };
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

  /**
   * Returns the definition of a tool for the client, which sends some arguments as headers if the schema says so. Without an output
   * schema the client refuses no result.
   */
  async #definition(name: string): Promise<Tool> {
    const listed = (await this.#tools)?.find((one) => nameOfTool(one) === name);
    const schema = isJsonObject(listed) ? listed['inputSchema'] : undefined;
    return { name, inputSchema: { ...(isJsonObject(schema) ? schema : {}), type: 'object' } };
  }

  async #list(): Promise<ListedTools> {
    const isDeclared = this.#client.getServerCapabilities()?.tools !== undefined;
    try {
      return await this.#pages();
    } catch (error) {
      if (!isDeclared && ProtocolError.isInstance(error)) return [];
      throw error;
    }
  }

  /** Reads the pages of the list. A list ends without a cursor, with an empty one, and with one or a page that has been there before. */
  async #pages(): Promise<ListedTools> {
    const tools: unknown[] = [];
    const seen = new Set<unknown>();
    let cursor: unknown;
    let last = '';
    for (let page = 0; page < MAX_PAGES && tools.length < MAX_TOOLS; page += 1) {
      const params = cursor === undefined ? {} : { params: { cursor } };
      const answer = answerIn(await this.#client.request({ method: 'tools/list', ...params }, ANY_RESULT, { timeout: LIST_MS }));
      const listed = listIn(answer);
      const text = JSON.stringify(listed);
      if (text === last) return bounded(tools);
      last = text;
      tools.push(...listed);
      cursor = isJsonObject(answer) ? answer['nextCursor'] : undefined;
      if ((typeof cursor !== 'string' && typeof cursor !== 'number') || cursor === '' || seen.has(cursor)) return bounded(tools);
      seen.add(cursor);
    }
    return [...tools.slice(0, MAX_TOOLS), FURTHER_TOOLS];
  }

  async #breakOff(): Promise<void> {
    this.#isBroken = true;
    await this.#link.transport.close().catch(() => undefined);
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

function bounded(tools: ListedTools): ListedTools {
  return tools.length <= MAX_TOOLS ? tools : [...tools.slice(0, MAX_TOOLS), FURTHER_TOOLS];
}

/** Returns the tools in an answer to a listing. Go writes an empty list as null. Throws for an answer that has none. */
function listIn(answer: unknown): readonly unknown[] {
  const tools = isJsonObject(answer) ? (answer['tools'] ?? []) : answer;
  if (Array.isArray(tools)) return tools;
  if (isJsonObject(tools) && Object.values(tools).every(isJsonObject)) {
    // Some servers list their tools by name.
    return Object.entries(tools).map(([name, tool]) => (isJsonObject(tool) ? { name, ...tool } : tool));
  }
  throw new TypeError('the server lists no tools');
}
