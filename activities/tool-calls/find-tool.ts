import type { AnyTool } from '../../src/define/tools/tool-definition.ts';
import type { RunToolInput } from '../../src/core/protocol.ts';
import { mcpToolDefinition } from '../mcp/mcp-tool.ts';
import type { ActivityRuntime } from '../runtime.ts';

/** The agent, the programs or the MCP server that a call's tool belongs to. */
type CallOwner = Pick<RunToolInput, 'agentName' | 'ofProgram' | 'mcp'>;

/** Returns the tool of a call by its name, or undefined if this worker no longer has the tool, its agent or its MCP server. */
export function findTool(
  runtime: Pick<ActivityRuntime, 'registry' | 'mcp'>,
  { mcp, ...owner }: CallOwner,
  name: string,
): AnyTool | undefined {
  if (mcp === undefined) return runtime.registry.tool(owner, name);
  const server = runtime.registry.mcpServer(owner.agentName, mcp.server);
  if (server === undefined) return undefined;
  return mcpToolDefinition(runtime.mcp, server, { name, tool: mcp.tool, once: mcp.once === true });
}
