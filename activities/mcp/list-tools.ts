import type { Tool } from '@modelcontextprotocol/client';
import type { McpEffect, McpServerDefinition } from '../../src/define/mcp/mcp-definition.ts';
import type { ToolSnapshot } from '../../src/core/domain/agent/agent-snapshot.ts';
import type { CodeLanguage } from '../../src/core/domain/code/code-snapshot.ts';
import { LonghaulError } from '../../src/core/domain/errors/error.ts';
import type { McpPool } from './mcp-pool.ts';
import { pinSchema } from './pin-schema.ts';
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

/** A tool and its server. */
interface Listed {
  server: McpServerDefinition;
  tool: Tool;
}

/**
 * Returns the tools of an agent's servers as they are pinned for a run, sorted by name. Throws `mcp_unreachable` for a
 * server that does not answer, and `invalid_agent` for one without a tool that the agent names.
 */
export async function listMcpTools({ pool, servers, taken, language, stop }: Listing): Promise<ToolSnapshot[]> {
  const lists = await Promise.all(
    servers.map(async (server) => chosenTools(server, await pool.tools(server, stop)).map((tool): Listed => ({ server, tool }))),
  );
  const listed = lists.flat();
  const names = nameTools(
    listed.map(({ server, tool }) => ({ server: server.name, tool: tool.name, prefix: server.prefix })),
    taken,
    language,
  );
  const snapshots = listed.map((one, index) => toolSnapshot(one, names[index] ?? one.tool.name));
  return snapshots.filter((one) => one !== undefined).toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

/** Returns the tools that the agent includes, each once. */
function chosenTools({ name, include, exclude }: McpServerDefinition, tools: readonly Tool[]): Tool[] {
  const byName = new Map(tools.toReversed().map((tool) => [tool.name, tool]));
  const missing = [...(include ?? []), ...exclude].find((one) => !byName.has(one));
  if (missing !== undefined) {
    const known = [...byName.keys()].toSorted().join(', ') || 'none';
    throw new LonghaulError(
      'invalid_agent',
      `MCP server "${name}" has no tool "${missing}", which "tools" of the agent names (it has: ${known}). Correct the name, or take it out`,
    );
  }
  return [...byName.values()].filter((tool) => (include === undefined || include.includes(tool.name)) && !exclude.includes(tool.name));
}

/** Returns the snapshot of a tool; undefined if its input is not an object, which the protocol requires. */
function toolSnapshot({ server, tool }: Listed, name: string): ToolSnapshot | undefined {
  const schemas = pinSchema(tool.inputSchema);
  if (schemas === undefined) return undefined;
  const { approval } = server;
  const callers = server.callersOf(tool.name);
  return {
    name,
    description: (tool.description || tool.title || tool.name).toWellFormed(),
    ...schemas,
    parallel: true,
    ...server.policies[effectOf(server, tool)],
    maxResultBytes: server.maxResultBytes,
    ...(approval === undefined ? {} : { approval: { ...approval, when: approval.when === 'always' ? 'always' : 'predicate' } }),
    ...(callers === undefined ? {} : { callers: [...callers] }),
    mcp: { server: server.name, tool: tool.name },
  };
}

/** Returns the effect of a tool. One without a declaration must not run twice, as the protocol assumes too. */
function effectOf(server: McpServerDefinition, { name, annotations }: Tool): McpEffect {
  const repeatable = annotations?.readOnlyHint === true || annotations?.idempotentHint === true;
  return server.effectOf(name) ?? (repeatable ? 'idempotent' : 'once');
}
