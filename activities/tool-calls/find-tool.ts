import type { AnyTool } from '../../src/define/tools/tool-definition.ts';
import type { RunToolInput } from '../../src/core/protocol.ts';
import { mcpToolDefinition } from '../mcp/mcp-tool.ts';
import { skillToolDefinition } from '../skills/skill-tool.ts';
import { memoryTool } from './memory-tool.ts';
import type { ActivityRuntime } from '../runtime.ts';

/** The agent, the programs, the MCP server or the memory that a call's tool belongs to, and the position of the call. */
type CallOwner = Pick<RunToolInput, 'agentName' | 'ofProgram' | 'mcp' | 'skill' | 'memory'> & Partial<Pick<RunToolInput, 'at'>>;

/** Returns the tool of a call by its name, or undefined if this worker no longer has the tool, its agent, its MCP server or a memory. */
export function findTool(
  runtime: Pick<ActivityRuntime, 'registry' | 'mcp' | 'skills' | 'payloadStore' | 'memory' | 'secrets'>,
  { mcp, skill, memory, at, ...owner }: CallOwner,
  name: string,
): AnyTool | undefined {
  if (skill !== undefined) return skillToolDefinition(runtime, owner.agentName, name, skill);
  if (memory !== undefined) return memoryTool(runtime, name, { agent: memory.name ?? owner.agentName, offset: at?.[0] });
  if (mcp === undefined) return runtime.registry.tool(owner, name);
  const server = runtime.registry.mcpServer(owner.agentName, mcp.server);
  if (server === undefined) return undefined;
  return mcpToolDefinition(runtime.mcp, server, { name, tool: mcp.tool, once: mcp.once === true });
}
