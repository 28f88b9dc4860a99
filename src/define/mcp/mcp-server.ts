import { type Duration, timerMilliseconds } from '../../core/domain/time.ts';
import { UsageError } from '../../core/domain/errors.ts';
import type { JsonObject } from '../../core/domain/json.ts';
import { type ApprovalOption, toolApproval } from '../options/approval-options.ts';
import type { ToolCaller, ToolPolicy } from '../../core/domain/agent.ts';
import { toolCallers } from '../code/tool-callers.ts';
import type { McpCallInfo, McpEffect, McpServerDefinition } from './mcp-definition.ts';
import { checkMcpTransport, type McpTransportOptions, TRANSPORT_OPTIONS } from './mcp-transport.ts';
import { nonEmpty, requireKnown } from '../options/option-checks.ts';
import { type Overflow, resultBudget } from '../options/result-budget.ts';
import { toolPolicy, type ToolPolicyOptions } from '../options/tool-policy-options.ts';

/** The tools of a server that an agent gets, and the policy of their calls, which is the same for all of them. */
export interface McpOptions extends Pick<ToolPolicyOptions<JsonObject>, 'maxAttempts' | 'backoff' | 'concurrency' | 'taskQueue'> {
  /** The name of the server in events and errors: letters, digits, `_` and `-`, at most 32. Different from the agent's other servers. */
  name: string;
  /** The tools by the names that the server uses. If it has no tool with such a name, the run does not start. Default: all tools. */
  tools?: { include?: readonly string[]; exclude?: readonly string[] };
  /** The calls that wait for a decision, as for a tool: a predicate gets `{tool, args}`. Default `never`. */
  approval?: ApprovalOption<McpCallInfo, JsonObject>;
  /**
   * The effect of a call, which decides if it may run again after its completion was lost. Default: by the server's
   * annotations of each tool: one that only reads (`readOnlyHint`) or may be repeated (`idempotentHint`) is `idempotent`,
   * every other one is `once`.
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
  /** The text before the names of its tools, separated by `_`: `true` for the name of the server. Default: that name, if two tools of the agent would have the same name. */
  prefix?: true | string;
  /** The time after which an unused connection is closed. Default 5 minutes. */
  idleTimeout?: Duration;
}

/** The options of `mcpServer`: for a program that speaks over its standard input and output, or for an address. */
export type McpServerOptions = McpOptions & McpTransportOptions;

const OPTIONS = [
  'name',
  ...TRANSPORT_OPTIONS,
  'tools',
  'approval',
  'effect',
  'callers',
  'timeout',
  'maxAttempts',
  'backoff',
  'concurrency',
  'taskQueue',
  'maxResultBytes',
  'overflow',
  'prefix',
  'idleTimeout',
];

/** The pattern of a name. It is prepended to the names of tools, which providers limit to 64 characters. */
const NAME = /^[a-zA-Z0-9_-]{1,32}$/;

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
  requireKnown(owner, options, OPTIONS);
  const { include, exclude } = checkTools(owner, options.tools);
  const approval = toolApproval(owner, options.approval);
  const prefix = checkPrefix(owner, name, options.prefix);
  return {
    kind: 'longhaul.mcp_server',
    name,
    transport: checkMcpTransport(owner, options),
    ...(include === undefined ? {} : { include }),
    exclude,
    ...(approval === undefined ? {} : { approval }),
    policies: { idempotent: policy(owner, options, 'idempotent'), once: policy(owner, options, 'once') },
    effectOf: checkEffect(owner, options.effect),
    callersOf: checkCallers(owner, options.callers),
    ...resultBudget(owner, options),
    ...(prefix === undefined ? {} : { prefix }),
    idleTimeoutMs: timerMilliseconds(options.idleTimeout ?? '5m', `${owner}: "idleTimeout"`),
  };
}

/** Returns the servers of an agent. Throws a UsageError for a value that is not a server and for two with the same name. */
export function checkMcpServers(owner: string, servers: readonly McpServerDefinition[]): readonly McpServerDefinition[] {
  const names = new Set<string>();
  for (const server of servers) {
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
  if (NAME.test(text)) return text;
  throw new UsageError(
    `MCP server ${JSON.stringify(text.slice(0, 100))}: a name is 1 to 32 letters, digits, "_" or "-": it may become part of the names of tools`,
  );
}

function policy(owner: string, options: McpOptions, effect: McpEffect): ToolPolicy {
  const { timeout, maxAttempts, backoff, concurrency, taskQueue } = options;
  return toolPolicy(owner, {
    effect,
    ...(timeout === undefined ? {} : { timeout }),
    // A call that must not run twice has one attempt, even if the other tools of the server have more.
    ...(maxAttempts === undefined || effect === 'once' ? {} : { maxAttempts }),
    ...(backoff === undefined ? {} : { backoff }),
    ...(concurrency === undefined ? {} : { concurrency }),
    ...(taskQueue === undefined ? {} : { taskQueue }),
  });
}

function checkTools(owner: string, tools: McpOptions['tools']): { include?: readonly string[]; exclude: readonly string[] } {
  if (tools === undefined) return { exclude: [] };
  requireKnown(`${owner}: "tools"`, tools, ['include', 'exclude']);
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
  if (typeof prefix === 'string' && NAME.test(prefix)) return prefix;
  throw new UsageError(`${owner}: "prefix" is ${JSON.stringify(prefix)}: write true, or 1 to 32 letters, digits, "_" or "-"`);
}
