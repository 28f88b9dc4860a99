import type { Tool } from '@modelcontextprotocol/client';
import type { McpEffect, McpServerDefinition } from '../../src/define/mcp/mcp-definition.ts';
import type { ToolSnapshot } from '../../src/core/domain/agent/agent-snapshot.ts';
import { LonghaulError } from '../../src/core/domain/errors/error.ts';
import type { McpPool } from './mcp-pool.ts';
import { pinSchema } from './pin-schema.ts';
import { nameTools } from './tool-names.ts';

/** What the tools of an agent's servers are listed with. */
export interface Listing {
  pool: Pick<McpPool, 'tools'>;
  servers: readonly McpServerDefinition[];
  /** Names that the tools must not get. */
  taken: ReadonlySet<string>;
  stop: AbortSignal;
}

/** A tool and where it is from. */
interface Listed {
  server: McpServerDefinition;
  tool: Tool;
}

/**
 * The tools of an agent's servers as they are pinned for a run, by name. Throws `mcp_unreachable` for a server that
 * cannot be asked, and `invalid_agent` for one without a tool that the agent names.
 */
export async function listMcpTools({ pool, servers, taken, stop }: Listing): Promise<ToolSnapshot[]> {
  const lists = await Promise.all(
    servers.map(async (server) => chosenTools(server, await pool.tools(server, stop)).map((tool): Listed => ({ server, tool }))),
  );
  const listed = lists.flat();
  const names = nameTools(
    listed.map(({ server, tool }) => ({ server: server.name, tool: tool.name, prefix: server.prefix })),
    taken,
  );
  const snapshots = listed.map((one, index) => toolSnapshot(one, names[index] ?? one.tool.name));
  return snapshots.filter((one) => one !== undefined).toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

/** The tools that the agent wants, each once. */
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

/** Undefined for a tool that takes no object: the protocol has none such. */
function toolSnapshot({ server, tool }: Listed, name: string): ToolSnapshot | undefined {
  const schemas = pinSchema(tool.inputSchema);
  if (schemas === undefined) return undefined;
  const { approval } = server;
  return {
    name,
    description: (tool.description || tool.title || tool.name).toWellFormed(),
    ...schemas,
    parallel: true,
    ...server.policies[effectOf(server, tool)],
    maxResultBytes: server.maxResultBytes,
    ...(approval === undefined ? {} : { approval: { ...approval, when: approval.when === 'always' ? 'always' : 'predicate' } }),
    mcp: { server: server.name, tool: tool.name },
  };
}

/** What nobody vouches for may have happened when its completion is lost, and must not happen twice: that is what the protocol assumes, too. */
function effectOf(server: McpServerDefinition, { name, annotations }: Tool): McpEffect {
  const repeatable = annotations?.readOnlyHint === true || annotations?.idempotentHint === true;
  return server.effectOf(name) ?? (repeatable ? 'idempotent' : 'once');
}
