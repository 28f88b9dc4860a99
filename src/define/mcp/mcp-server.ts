import { type Duration, timerMilliseconds } from '../../core/domain/run/duration.ts';
import { UsageError } from '../../core/domain/errors/error.ts';
import type { JsonObject } from '../../core/domain/json/json.ts';
import { type ApprovalOption, toolApproval } from '../options/approval-options.ts';
import type { McpCallInfo, McpEffect, McpServerDefinition } from './mcp-definition.ts';
import { checkMcpTransport, type McpTransportOptions, TRANSPORT_OPTIONS } from './mcp-transport.ts';
import { nonEmpty, requireKnown } from '../options/option-checks.ts';
import { type Overflow, resultBudget } from '../options/result-budget.ts';
import { toolPolicy, type ToolPolicyOptions } from '../options/tool-policy-options.ts';
import type { ToolPolicy } from '../../core/domain/agent/tool-policy.ts';

/** Which tools of a server an agent gets, and how their calls run: the same for all of them. */
export interface McpOptions extends Pick<ToolPolicyOptions<JsonObject>, 'maxAttempts' | 'backoff' | 'concurrency' | 'taskQueue'> {
  /** Names the server for people, in events and errors: letters, digits, `_` and `-`, at most 32. Different from the agent's other servers. */
  name: string;
  /** By the names that the server gives its tools. A name that it does not have keeps a run from starting. Default: all of them. */
  tools?: { include?: readonly string[]; exclude?: readonly string[] };
  /** Whether calls wait for a decision, as of a tool: a predicate gets `{tool, args}`. Default `never`. */
  approval?: ApprovalOption<McpCallInfo, JsonObject>;
  /**
   * Whether a call may run again where its completion was lost. Default: what the server says of each tool: one that only
   * reads (`readOnlyHint`) or may be repeated (`idempotentHint`) is `idempotent`, every other one happens `once`.
   */
  effect?: McpEffect | ((tool: string) => McpEffect | undefined);
  /** How long one attempt of a call may take. Default 60 seconds. */
  timeout?: Duration;
  /** Bytes of JSON that one result may have in the conversation. Default 64,000, at most 400,000. */
  maxResultBytes?: number;
  /** What becomes of a result over `maxResultBytes`. Default `cut`. */
  overflow?: Overflow;
  /** What stands before the names of its tools, with `_` between: `true` for the name of the server. Default: that name, where two tools of the agent would have one name. */
  prefix?: true | string;
  /** How long a connection that nobody uses stays open. Default 5 minutes. */
  idleTimeout?: Duration;
}

/** What an MCP server is made of: a program that speaks over its standard input and output, or an address. */
export type McpServerOptions = McpOptions & McpTransportOptions;

const OPTIONS = [
  'name',
  ...TRANSPORT_OPTIONS,
  'tools',
  'approval',
  'effect',
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

/** It stands before the names of tools, which providers take up to 64 characters of. */
const NAME = /^[a-zA-Z0-9_-]{1,32}$/;

/**
 * A server of the Model Context Protocol, whose tools become tools of the agents that name it under `mcp`. It is
 * connected to in the worker. Throws a `UsageError` that names the server and the option for anything that could not
 * work.
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
    ...resultBudget(owner, options),
    ...(prefix === undefined ? {} : { prefix }),
    idleTimeoutMs: timerMilliseconds(options.idleTimeout ?? '5m', `${owner}: "idleTimeout"`),
  };
}

/** The servers of an agent. Throws a UsageError for what is no server and for two of one name. */
export function checkMcpServers(owner: string, servers: readonly McpServerDefinition[]): readonly McpServerDefinition[] {
  const names = new Set<string>();
  for (const server of servers) {
    if (!isMcpServer(server)) throw new UsageError(`${owner}: "mcp" has something that is no MCP server: make it with mcpServer`);
    if (names.has(server.name)) throw new UsageError(`${owner} has two MCP servers named "${server.name}": give each its own name`);
    names.add(server.name);
  }
  return servers;
}

/** True for what `mcpServer` returned, of whatever copy of this package. */
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
    // A call that must not run twice has one attempt, whatever holds for the other tools of the server.
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
      const said = effect(tool);
      return said === undefined ? undefined : requireEffect(`${option} of "${tool}"`, said);
    };
  }
  const fixed = effect === undefined ? undefined : requireEffect(option, effect);
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
