import type { McpEffect, McpServerDefinition } from '../../src/define/mcp/mcp-definition.ts';
import type { ToolSnapshot } from '../../src/core/domain/agent/agent-snapshot.ts';
import type { CodeLanguage } from '../../src/core/domain/code/code-snapshot.ts';
import { LonghaulError } from '../../src/core/domain/errors/error.ts';
import { isJsonObject, type JsonObject } from '../../src/core/domain/json/json.ts';
import type { Notice } from '../../src/core/domain/record/notice.ts';
import type { McpPool, McpTools } from './mcp-pool.ts';
import { pinSchema } from './pin-schema.ts';
import { FURTHER_TOOLS, nameOfTool, readTool, type ReadTool } from './read-tool.ts';
import { nameTools } from './tool-names.ts';

/** The input of a listing of tools. */
export interface Listing {
  pool: Pick<McpPool, 'tools'>;
  servers: readonly McpServerDefinition[];
  /** Names that the tools must not get. */
  taken: ReadonlySet<string>;
  /** The language of the agent's code, which calls the tools by their names. */
  language?: CodeLanguage | undefined;
  stop: AbortSignal;
}

/** The tools of an agent's servers. */
export interface ListedMcpTools {
  tools: ToolSnapshot[];
  /** What was left out or changed so that the others can be used, by the names that the servers give. The texts quote the servers. */
  notices: Notice[];
}

/** A tool and its server. */
interface Usable {
  server: McpServerDefinition;
  tool: ReadTool;
}

/**
 * Returns the tools of an agent's servers as they are pinned for a run, sorted by name. A tool that cannot be used is left out. Throws
 * `mcp_unreachable` for a server that does not answer, and `invalid_agent` for one without a tool that the agent names.
 */
export async function listMcpTools({ pool, servers, taken, language, stop }: Listing): Promise<ListedMcpTools> {
  const lists = await Promise.all(servers.map(async (server) => ({ server, listed: await pool.tools(server, stop) })));
  const notices: Notice[] = [];
  const usable = lists.flatMap(({ server, listed }) => usableTools(server, listed, notices));
  const names = nameTools(
    usable.map(({ server, tool }) => ({ server: server.name, tool: tool.name, prefix: server.prefix })),
    taken,
    language,
  );
  const tools = usable.map((one, index) => toolSnapshot(one, names[index] ?? one.tool.name));
  return { tools: tools.toSorted((a, b) => (a.name < b.name ? -1 : 1)), notices };
}

/** Returns the tools that the agent includes, each once, and notes what a person should know of them. Others are not looked at. */
function usableTools(server: McpServerDefinition, listed: McpTools, notices: Notice[]): Usable[] {
  const { name: owner, include, exclude } = server;
  const note = (tool: string, message: string): void => {
    notices.push({ code: 'tool_adapted', message: `MCP server ${JSON.stringify(owner)}: ${tool} ${message}` });
  };
  const byName = new Map<string, JsonObject>();
  const isChosen = (name: string): boolean => (include === undefined || include.includes(name)) && !exclude.includes(name);
  listed.forEach((one, index) => {
    if (one === FURTHER_TOOLS) {
      note('the list of tools', `is too long: those after the first ${index} are left out`);
      return;
    }
    const name = nameOfTool(one);
    if (name === undefined || !isJsonObject(one)) {
      if (include === undefined) note(`the tool at position ${index + 1}`, 'is left out: it has no name');
      return;
    }
    const first = byName.get(name);
    if (first === undefined) byName.set(name, one);
    else if (isChosen(name) && JSON.stringify(first) !== JSON.stringify(one))
      note(`tool ${quoted(name)}`, 'is listed twice, with differences: the first one is used');
  });
  requireNamed(server, byName);
  return [...byName].flatMap(([name, one]): Usable[] => {
    if (!isChosen(name)) return [];
    const tool = readTool(one, name);
    if (tool.problem === undefined) {
      for (const change of tool.changes) note(`tool ${quoted(name)}`, change);
      return [{ server, tool }];
    }
    if (include !== undefined) {
      throw new LonghaulError(
        'invalid_agent',
        `MCP server "${owner}" has the tool ${quoted(name)}, which "tools.include" of the agent names, but it cannot be used: ${tool.problem}. Take it out, or correct the server`,
      );
    }
    note(`tool ${quoted(name)}`, `is left out: ${tool.problem}`);
    return [];
  });
}

/** Returns the name of a tool for a message. */
function quoted(name: string): string {
  return JSON.stringify(name.length > 100 ? `${name.slice(0, 100).toWellFormed()}…` : name);
}

function requireNamed({ name, include, exclude }: McpServerDefinition, byName: ReadonlyMap<string, unknown>): void {
  const missing = [...(include ?? []), ...exclude].find((one) => !byName.has(one));
  if (missing === undefined) return;
  const known = [...byName.keys()].toSorted().join(', ') || 'none';
  throw new LonghaulError(
    'invalid_agent',
    `MCP server "${name}" has no tool "${missing}", which "tools" of the agent names (it has: ${known}). Correct the name, or take it out`,
  );
}

function toolSnapshot({ server, tool }: Usable, name: string): ToolSnapshot {
  const { approval } = server;
  const callers = server.callersOf(tool.name);
  return {
    name,
    description: tool.description,
    ...pinSchema(tool.input),
    parallel: true,
    ...server.policies[effectOf(server, tool)],
    maxResultBytes: server.maxResultBytes,
    ...(approval === undefined ? {} : { approval: { ...approval, when: approval.when === 'always' ? 'always' : 'predicate' } }),
    ...(callers === undefined ? {} : { callers: [...callers] }),
    mcp: { server: server.name, tool: tool.name },
  };
}

/** Returns the effect of a tool. One without a declaration must not run twice, as the protocol assumes too. */
function effectOf(server: McpServerDefinition, { name, isRepeatable }: ReadTool): McpEffect {
  return server.effectOf(name) ?? (isRepeatable ? 'idempotent' : 'once');
}
