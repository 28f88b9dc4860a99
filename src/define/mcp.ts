import type { ToolCaller, ToolPolicy } from '../core/domain/agent.ts';
import { isSecretReference } from '../core/domain/deps.ts';
import { UsageError } from '../core/domain/errors.ts';
import { defined, type JsonObject } from '../core/domain/json.ts';
import { type Duration, timerMilliseconds } from '../core/domain/time.ts';
import { type ApprovalOption, toolApproval } from './approvals.ts';
import { nonEmpty, type OptionTable, requireKnown, requireList } from './option-checks.ts';
import {
  type McpCallInfo,
  type McpEffect,
  type McpServerDefinition,
  type McpTransport,
  type McpValue,
  type Overflow,
  resultBudget,
  toolCallers,
  toolPolicy,
  type ToolPolicyOptions,
} from './tool-definition.ts';

/** The tools of a server that an agent gets, and the policy of their calls, which all of them share. */
export interface McpOptions extends Pick<ToolPolicyOptions<JsonObject>, 'maxAttempts' | 'backoff' | 'concurrency' | 'taskQueue'> {
  /** The name of the server in events and errors: letters, digits, `_` and `-`, at most 32. Unique among the agent's servers. */
  name: string;
  /** The tools, by the server's own names. If the server lacks one of them, the run does not start. Default: all tools. */
  tools?: { include?: readonly string[]; exclude?: readonly string[] };
  /** The calls that wait for a decision, as for a tool: a predicate gets `{tool, args}`. Default `never`. */
  approval?: ApprovalOption<McpCallInfo, JsonObject>;
  /**
   * The effect of a call, which decides whether it may run again after its completion was lost. Default: from the server's
   * annotations of the tool. A tool that only reads (`readOnlyHint`) or may be repeated (`idempotentHint`) is `idempotent`,
   * any other is `once`.
   */
  effect?: McpEffect | ((tool: string) => McpEffect | undefined);
  /** The callers of its tools, for agents with `code`: a list for all of them, or a function of a tool's name. Default: the model and code. */
  callers?: readonly ToolCaller[] | ((tool: string) => readonly ToolCaller[] | undefined);
  /** The time limit of one attempt of a call. Default 60 seconds. */
  timeout?: Duration;
  /** Bytes of JSON that one result may have in the conversation. Default 64,000, at most 400,000. */
  maxResultBytes?: number;
  /** The form of a result over `maxResultBytes`. Default `cut`. */
  overflow?: Overflow;
  /** The prefix of its tools' names, followed by `_`. `true`: the server's name. Default: that name, only if tools of the agent would clash. */
  prefix?: true | string;
  /** The time after which an unused connection is closed. Default 5 minutes. */
  idleTimeout?: Duration;
}

/** The options of `mcpServer`: for a program that speaks over its standard input and output, or for an address. */
export type McpServerOptions = McpOptions & McpTransportOptions;

const MCP_OPTIONS: OptionTable<McpServerOptions> = {
  name: true,
  command: true,
  args: true,
  env: true,
  cwd: true,
  url: true,
  headers: true,
  transport: true,
  tools: true,
  approval: true,
  effect: true,
  callers: true,
  timeout: true,
  maxAttempts: true,
  backoff: true,
  concurrency: true,
  taskQueue: true,
  maxResultBytes: true,
  overflow: true,
  prefix: true,
  idleTimeout: true,
};

/** The pattern of a name. It may be prepended to the names of tools, which providers limit to 64 characters. */
const MCP_SERVER_NAME = /^[a-zA-Z0-9_-]{1,32}$/;

/**
 * Defines a server of the Model Context Protocol, whose tools become tools of the agents that list it under `mcp`. The
 * worker connects to it. Throws a `UsageError` that names the server and the option if one cannot work.
 *
 * @example
 * const files = mcpServer({ name: 'files', command: 'mcp-server-filesystem', args: ['/srv/reports'], tools: { exclude: ['write_file'] } });
 * const crm = mcpServer({ name: 'crm', url: 'https://crm.example.com/mcp', headers: { authorization: secret('crm-token', { prefix: 'Bearer ' }) } });
 */
export function mcpServer(options: McpServerOptions): McpServerDefinition {
  const name = checkName(options.name);
  const owner = `MCP server "${name}"`;
  requireKnown(owner, options, MCP_OPTIONS);
  const { include, exclude } = checkTools(owner, options.tools);
  const approval = toolApproval(owner, options.approval);
  const prefix = checkPrefix(owner, name, options.prefix);
  return {
    kind: 'longhaul.mcp_server',
    name,
    transport: checkMcpTransport(owner, options),
    ...defined({ include }),
    exclude,
    ...defined({ approval }),
    policies: { idempotent: mcpPolicy(owner, options, 'idempotent'), once: mcpPolicy(owner, options, 'once') },
    effectOf: checkEffect(owner, options.effect),
    callersOf: checkCallers(owner, options.callers),
    ...resultBudget(owner, options),
    ...defined({ prefix }),
    idleTimeoutMs: timerMilliseconds(options.idleTimeout ?? '5m', `${owner}: "idleTimeout"`),
  };
}

/** Returns the servers of an agent. Throws a UsageError for a value that is not a server and for two with the same name. */
export function checkMcpServers(owner: string, servers: readonly McpServerDefinition[]): readonly McpServerDefinition[] {
  const names = new Set<string>();
  for (const server of requireList(`${owner}: "mcp"`, servers, 'mcp: [crm], of what mcpServer returned')) {
    if (!isMcpServer(server)) throw new UsageError(`${owner}: "mcp" has a value that is not an MCP server: make it with mcpServer`);
    if (names.has(server.name)) throw new UsageError(`${owner} has two MCP servers named "${server.name}": give each its own name`);
    names.add(server.name);
  }
  return servers;
}

/** True for a value that `mcpServer` returned, of any copy of this package. */
function isMcpServer(value: unknown): value is McpServerDefinition {
  return typeof value === 'object' && value !== null && 'kind' in value && value.kind === 'longhaul.mcp_server';
}

function checkName(name: unknown): string {
  const text = nonEmpty('the "name" of an MCP server', name);
  if (MCP_SERVER_NAME.test(text)) return text;
  throw new UsageError(
    `MCP server ${JSON.stringify(text.slice(0, 100))}: a name is 1 to 32 letters, digits, "_" or "-": it may become part of the names of tools`,
  );
}

function mcpPolicy(owner: string, options: McpOptions, effect: McpEffect): ToolPolicy {
  const { timeout, maxAttempts, backoff, concurrency, taskQueue } = options;
  return toolPolicy(owner, {
    effect,
    ...defined({ timeout }),
    // A call that must not run twice has one attempt, even if the other tools of the server have more.
    ...(maxAttempts === undefined || effect === 'once' ? {} : { maxAttempts }),
    ...defined({ backoff, concurrency, taskQueue }),
  });
}

function checkTools(owner: string, tools: McpOptions['tools']): { include?: readonly string[]; exclude: readonly string[] } {
  if (tools === undefined) return { exclude: [] };
  requireKnown(`${owner}: "tools"`, tools, { include: true, exclude: true });
  const { include, exclude = [] } = tools;
  if (include?.length === 0)
    throw new UsageError(`${owner}: "tools.include" is empty: name the tools that the agent is to have, or leave it out for all`);
  for (const [option, names] of [
    ['include', include ?? []],
    ['exclude', exclude],
  ] as const) {
    if (Array.isArray(names) && names.every((one) => typeof one === 'string' && one !== '')) continue;
    throw new UsageError(`${owner}: "tools.${option}" is ${JSON.stringify(names)}: write a list of names`);
  }
  const both = include?.find((one) => exclude.includes(one));
  if (both !== undefined) throw new UsageError(`${owner}: "tools" includes and excludes "${both}": take it out of one of the lists`);
  return { ...(include === undefined ? {} : { include: [...include] }), exclude: [...exclude] };
}

function checkEffect(owner: string, effect: McpOptions['effect']): McpServerDefinition['effectOf'] {
  const option = `${owner}: "effect"`;
  if (typeof effect === 'function') {
    return (tool) => {
      const answer = effect(tool);
      return answer === undefined ? undefined : requireEffect(`${option} of "${tool}"`, answer);
    };
  }
  const fixed = effect === undefined ? undefined : requireEffect(option, effect);
  return () => fixed;
}

function checkCallers(owner: string, callers: McpOptions['callers']): McpServerDefinition['callersOf'] {
  if (typeof callers === 'function') return (tool) => toolCallers(`${owner}, tool "${tool}"`, callers(tool)).callers;
  const { callers: fixed } = toolCallers(owner, callers);
  return () => fixed;
}

function requireEffect(option: string, effect: unknown): McpEffect {
  if (effect === 'idempotent' || effect === 'once') return effect;
  throw new UsageError(`${option} is ${JSON.stringify(effect)}: write "idempotent", "once", or a function of the tool's name`);
}

function checkPrefix(owner: string, name: string, prefix: unknown): string | undefined {
  if (prefix === undefined) return undefined;
  if (prefix === true) return name;
  if (typeof prefix === 'string' && MCP_SERVER_NAME.test(prefix)) return prefix;
  throw new UsageError(`${owner}: "prefix" is ${JSON.stringify(prefix)}: write true, or 1 to 32 letters, digits, "_" or "-"`);
}

/** A server that the worker starts as a separate process. */
export interface McpStdioOptions {
  /** The program: a path, or a name that is found on the worker's `PATH`. It is not run by a shell. */
  command: string;
  /** The arguments of the program. */
  args?: readonly string[];
  /** The variables of the process. It also gets `PATH`, `HOME`, `USER`, `LOGNAME`, `SHELL` and `TERM` of the worker (on Windows those that programs need there), and no others. */
  env?: Readonly<Record<string, McpValue>>;
  /** The working directory. Default: the worker's. */
  cwd?: string;
}

/** A server at an address, over streamable HTTP or its predecessor, HTTP with server-sent events. */
export interface McpHttpOptions {
  /** The address of the server. */
  url: string | URL;
  /** Sent with every request. */
  headers?: Readonly<Record<string, McpValue>>;
  /**
   * `http`: only streamable HTTP. `sse`: only HTTP with server-sent events. Default: streamable HTTP, and server-sent events
   * if the server refuses that.
   */
  transport?: 'http' | 'sse';
}

/** The transport of a server: exactly one of the two. */
export type McpTransportOptions = McpStdioOptions | McpHttpOptions;

/** Headers that the protocol sets. */
const OWN_HEADERS = ['accept', 'content-type', 'content-length', 'host', 'connection', 'last-event-id'];

/** The characters of a header's name (a token of HTTP). */
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/** Returns the checked transport. Throws a UsageError that names an invalid option, without the value of a header or variable. */
function checkMcpTransport(owner: string, options: McpTransportOptions): McpTransport {
  const { command, args, env, cwd, url, headers, transport } = options as Partial<McpStdioOptions & McpHttpOptions>;
  if ((command === undefined) === (url === undefined)) {
    throw new UsageError(
      `${owner} has ${command === undefined ? 'neither' : 'both'} "command" ${command === undefined ? 'nor' : 'and'} "url": write one of them`,
    );
  }
  if (url !== undefined) {
    refuseOptions(owner, 'url', { args, env, cwd });
    const protocol = checkProtocol(owner, transport);
    return {
      type: 'http',
      url: checkUrl(owner, url),
      headers: checkHeaders(owner, headers ?? {}),
      ...defined({ protocol }),
    };
  }
  refuseOptions(owner, 'command', { headers, transport });
  return {
    type: 'stdio',
    command: nonEmpty(`${owner}: "command"`, command),
    args: checkArgs(owner, args ?? []),
    env: checkValues(`${owner}: "env`, env ?? {}, /^[^=\0]+$/),
    ...(cwd === undefined ? {} : { cwd: nonEmpty(`${owner}: "cwd"`, cwd) }),
  };
}

function refuseOptions(owner: string, reached: string, others: Record<string, unknown>): void {
  for (const [option, value] of Object.entries(others)) {
    if (value !== undefined) throw new UsageError(`${owner} has "${reached}" and "${option}", which do not go together: leave one out`);
  }
}

function checkProtocol(owner: string, transport: unknown): 'http' | 'sse' | undefined {
  if (transport === undefined || transport === 'http' || transport === 'sse') return transport;
  throw new UsageError(`${owner}: "transport" is ${JSON.stringify(transport)}: write "http" or "sse", or leave it out to find out`);
}

/** Checks a URL. Errors do not repeat it: it may contain a secret, which belongs in a header. */
function checkUrl(owner: string, url: string | URL): string {
  const text = String(url);
  if (!URL.canParse(text)) throw new UsageError(`${owner}: "url" is not an address: write "https://…"`);
  const { protocol, username, password } = new URL(text);
  if (protocol !== 'https:' && protocol !== 'http:') throw new UsageError(`${owner}: "url" begins with "${protocol}": write "https://…"`);
  if (username !== '' || password !== '') throw new UsageError(`${owner}: "url" holds a password: write it as a header, by secret('name')`);
  return text;
}

function checkArgs(owner: string, args: readonly string[]): readonly string[] {
  if (Array.isArray(args) && args.every((one) => typeof one === 'string' && !one.includes('\0'))) return [...args];
  throw new UsageError(`${owner}: "args" must be a list of texts`);
}

function checkHeaders(owner: string, headers: Readonly<Record<string, McpValue>>): Readonly<Record<string, McpValue>> {
  for (const name of Object.keys(headers)) {
    const own = name.toLowerCase();
    if (OWN_HEADERS.includes(own) || own.startsWith('mcp-'))
      throw new UsageError(`${owner}: "headers.${name}" is set by the protocol: leave it out`);
  }
  return checkValues(`${owner}: "headers`, headers, HEADER_NAME);
}

/** `option` is the start of the message, opening quotation mark included. Values never appear in the message. */
function checkValues(option: string, values: Readonly<Record<string, McpValue>>, pattern: RegExp): Readonly<Record<string, McpValue>> {
  if (typeof values !== 'object' || values === null) throw new UsageError(`${option}" must be an object of names and values`);
  for (const [name, value] of Object.entries(values)) {
    if (!pattern.test(name)) throw new UsageError(`${option}" has the name ${JSON.stringify(name)}, which is not valid`);
    if (isSecretReference(value)) continue;
    if (typeof value !== 'string' || /[\0\r\n]/.test(value))
      throw new UsageError(`${option}.${name}" must be one line of text, or secret('name')`);
  }
  return { ...values };
}
