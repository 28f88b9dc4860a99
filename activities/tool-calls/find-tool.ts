import type { AnyTool } from '../../src/define/tool-definition.ts';
import { WORKER_PARTS } from '../all-parts.ts';
import { mcpToolDefinition } from '../mcp/mcp-tool.ts';
import type { ActivityRuntime } from '../runtime.ts';
import type { CallOwner } from '../worker-part.ts';

/**
 * Returns the tool of a call by its name, or undefined if this worker no longer has the tool, its agent, its MCP server or the capability
 * that gives it to the agent.
 */
export function findTool(runtime: ActivityRuntime, call: CallOwner, name: string): AnyTool | undefined {
  const part = WORKER_PARTS.find((one) => one.ownsTool?.(call));
  if (part !== undefined) return part.tool?.(runtime, call, name);
  const { mcp } = call;
  if (mcp === undefined) return runtime.registry.tool(call, name);
  const server = runtime.registry.mcpServer(call.agentName, mcp.server);
  if (server === undefined) return undefined;
  return mcpToolDefinition(runtime.mcp, server, { name, tool: mcp.tool, once: mcp.once === true });
}
