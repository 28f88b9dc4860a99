import {
  Client,
  isJSONRPCRequest,
  type JSONRPCMessage,
  ProtocolError,
  SseError,
  type Tool,
  type Transport,
  type TransportSendOptions,
} from '@modelcontextprotocol/client';
import { z } from 'zod';
import { isJsonObject, type JsonObject } from '../../src/core/domain/json.ts';
import { withTimeout } from '../attempts/attempt.ts';
import { type McpOutcome, outcomeOfError } from './call-outcome.ts';
import { FURTHER_TOOLS, nameOfTool } from './read-tool.ts';

/** A link to a server, not connected yet. */
export interface Link {
  transport: Transport;
  /** Ends the session on the server, if the transport has sessions. */
  end?: () => Promise<void>;
  /** The transport belongs to the older protocol generation: the newer one is not tried. */
  isLegacy?: true;
}

/** One call of a tool. */
export interface McpRequest {
  /** The server's name of the tool. */
  tool: string;
  args: JsonObject;
  idempotencyKey: string;
  /** Ends the call, which has no other time limit. */
  signal: AbortSignal;
  onProgress: (progress: McpProgress) => void;
}

/** A call's progress as reported by the server. `message` may contain anything. */
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

/** The maximum number of pages of a tool list, and of tools: far more than an agent can have. */
const MAX_PAGES = 100;
const MAX_TOOLS = 2_000;

/** Any result: Longhaul itself reads the server's answer. */
const ANY_RESULT = z.looseObject({});

/** A server's tools as listed: each may be anything. */
type ListedTools = readonly unknown[];

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
      // The older transport's stream reconnects automatically, to another session. The answers of this session are lost.
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

  /** Reads the pages of the list. A list ends if its cursor is missing, empty or repeated, or if a page is repeated. */
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
      if (text === last) return limitTools(tools);
      last = text;
      tools.push(...listed);
      cursor = isJsonObject(answer) ? answer['nextCursor'] : undefined;
      if ((typeof cursor !== 'string' && typeof cursor !== 'number') || cursor === '' || seen.has(cursor)) return limitTools(tools);
      seen.add(cursor);
    }
    return [...tools.slice(0, MAX_TOOLS), FURTHER_TOOLS];
  }

  async #breakOff(): Promise<void> {
    this.#isBroken = true;
    await this.#link.transport.close().catch(() => undefined);
  }

  /** Pings the server after a lost call. A slow call does not end a session that others use; an unanswered ping does. */
  #ping(): void {
    if (this.#isBroken) return;
    this.#client.ping({ timeout: PING_MS }).catch((error: unknown) => {
      if (outcomeOfError(error).type !== 'refused') this.#isBroken = true;
    });
  }
}

function limitTools(tools: ListedTools): ListedTools {
  return tools.length <= MAX_TOOLS ? tools : [...tools.slice(0, MAX_TOOLS), FURTHER_TOOLS];
}

/** Returns the tools in an answer to a listing. Go writes an empty list as null. Throws for an answer without tools. */
function listIn(answer: unknown): readonly unknown[] {
  const tools = isJsonObject(answer) ? (answer['tools'] ?? []) : answer;
  if (Array.isArray(tools)) return tools;
  if (isJsonObject(tools) && Object.values(tools).every(isJsonObject)) {
    // Some servers list their tools by name.
    return Object.entries(tools).map(([name, tool]) => (isJsonObject(tool) ? { name, ...tool } : tool));
  }
  throw new TypeError('the server lists no tools');
}

/** The key of the server's original answer in a result that the client package has accepted. */
const ANSWER = 'longhaul/answer';

/** The maximum number of pending requests: a request that is never answered is forgotten. */
const MAX_AWAITED = 10_000;

/**
 * Rewrites the messages of one server for the client package, which discards a whole message for one value of the wrong type, and with it a
 * whole list of tools or the result of a call that has acted. The package gets answers that it accepts; answers about tools contain the
 * server's original (`answerIn`), for Longhaul to read.
 */
export class ServerMessages {
  readonly #methods = new Map<string | number, string>();

  /** Follows the requests of a transport, to match answers to them. */
  follow(transport: Transport): void {
    const send = transport.send.bind(transport);
    transport.send = (message: JSONRPCMessage, options?: TransportSendOptions) => {
      if (isJSONRPCRequest(message)) this.#remember(message.id, message.method);
      return send(message, options);
    };
  }

  /**
   * Returns the text of a message, or of a list of messages, in the form that the client package accepts. `id`: the request that it
   * answers, if there is only one candidate.
   */
  read(text: string, id?: string | number): string {
    let given: unknown;
    try {
      given = JSON.parse(text);
    } catch {
      return text;
    }
    return JSON.stringify(
      Array.isArray(given) ? given.map((one) => this.#accepted(one, given.length === 1 ? id : undefined)) : this.#accepted(given, id),
    );
  }

  #remember(id: string | number, method: string): void {
    this.#methods.set(id, method);
    const [oldest] = this.#methods.keys();
    if (this.#methods.size > MAX_AWAITED && oldest !== undefined) this.#methods.delete(oldest);
  }

  #accepted(message: unknown, expected: string | number | undefined): unknown {
    if (!isJsonObject(message)) return message;
    const { method, params, result, error } = message;
    if (typeof method === 'string') {
      const { params: _params, ...rest } = message;
      return withoutNulls({ ...rest, jsonrpc: '2.0', ...(isJsonObject(params) ? { params: withoutNulls(params) } : {}) });
    }
    const id = this.#idOf(message['id'], expected);
    if (id === undefined) return message;
    const isError = error !== undefined && error !== null && error !== false;
    // Some servers write both, one of them as null.
    if (isError) return { jsonrpc: '2.0', id, error: errorOf(error) };
    if (result === undefined && !('result' in message)) return message;
    const about = this.#methods.get(id);
    this.#methods.delete(id);
    return { jsonrpc: '2.0', id, result: acceptedResult(about, result ?? null) };
  }

  /** Returns the id of the request that a message answers: a text id may stand for a number. */
  #idOf(given: unknown, expected: string | number | undefined): string | number | undefined {
    if ((typeof given === 'string' || typeof given === 'number') && this.#methods.has(given)) return given;
    if (typeof given === 'string' && this.#methods.has(Number(given))) return Number(given);
    return expected ?? (typeof given === 'string' || typeof given === 'number' ? given : undefined);
  }
}

/** Returns the server's original answer in a result of the client package. */
function answerIn(result: unknown): unknown {
  return isJsonObject(result) && ANSWER in result ? result[ANSWER] : result;
}

function acceptedResult(method: string | undefined, result: unknown): JsonObject {
  const given = isJsonObject(result) ? result : undefined;
  switch (method) {
    case 'tools/list':
      return { resultType: 'complete', tools: [], ttlMs: 0, cacheScope: 'private', [ANSWER]: jsonOf(result) };
    case 'tools/call':
      // The client handles no requests from servers, and reports this itself.
      if (given?.['resultType'] === 'input_required') return given;
      return { resultType: 'complete', content: [], [ANSWER]: jsonOf(result) };
    case 'initialize':
    case 'server/discover':
      return openingAnswer(given ?? {});
    default:
      return withoutNulls(given ?? {});
  }
}

function jsonOf(value: unknown): JsonObject[string] {
  return value as JsonObject[string];
}

/** Returns the answer to the opening of a session, without nulls, and with capabilities that are objects. */
function openingAnswer(result: JsonObject): JsonObject {
  const clean = deeplyWithoutNulls(result);
  const { capabilities, serverInfo, instructions, ...rest } = clean;
  const declared = isJsonObject(capabilities) ? Object.entries(capabilities) : [];
  // PHP writes an empty object as a list.
  const known = declared.flatMap(([name, value]) =>
    isJsonObject(value)
      ? [[name, objectMembers(name, value)]]
      : value === true || (Array.isArray(value) && value.length === 0)
        ? [[name, {}]]
        : [],
  );
  const { name, version, ...about } = isJsonObject(serverInfo) ? serverInfo : {};
  const info = {
    ...about,
    name: typeof name === 'string' ? name : 'unknown',
    version: typeof version === 'string' ? version : JSON.stringify(version ?? 0),
  };
  const isNamed = serverInfo !== undefined || 'protocolVersion' in rest;
  return {
    ...rest,
    capabilities: Object.fromEntries(known),
    ...(isNamed ? { serverInfo: info } : {}),
    ...(typeof instructions === 'string' ? { instructions } : {}),
  };
}

/** The members of the capabilities that the client package reads are true or false. */
function objectMembers(capability: string, value: JsonObject): JsonObject {
  if (!['tools', 'prompts', 'resources'].includes(capability)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .map(([name, one]) => [name, one === 'true' ? true : one === 'false' ? false : one] as const)
      .filter(([name, one]) => !['listChanged', 'subscribe'].includes(name) || typeof one === 'boolean'),
  );
}

function errorOf(error: unknown): JsonObject {
  if (!isJsonObject(error)) return { code: -32_603, message: typeof error === 'string' ? error : (JSON.stringify(error) ?? 'error') };
  const { code, message, data } = error;
  const number = typeof code === 'string' ? Number(code) : code;
  return {
    code: typeof number === 'number' && Number.isSafeInteger(number) ? number : -32_603,
    message: typeof message === 'string' ? message : JSON.stringify(message ?? error),
    ...(data === undefined || data === null ? {} : { data }),
  };
}

function withoutNulls(object: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== null));
}

function deeplyWithoutNulls(object: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(withoutNulls(object)).map(([name, value]) => [name, isJsonObject(value) ? deeplyWithoutNulls(value) : value]),
  );
}
