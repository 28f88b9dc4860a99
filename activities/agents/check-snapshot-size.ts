import type { AgentSnapshot, ToolSnapshot } from '../../src/core/domain/agent/agent-snapshot.ts';
import { BYTE_BUDGETS } from '../../src/core/domain/json/byte-budget.ts';
import { LonghaulError } from '../../src/core/domain/errors/error.ts';
import { jsonBytes } from '../../src/core/domain/json/payload-limit.ts';

/** Throws `payload_too_large` for a snapshot over its budget, with the name of the agent and of the largest part of it. */
export function checkSnapshotSize(snapshot: AgentSnapshot): void {
  const bytes = jsonBytes(snapshot);
  if (bytes <= BYTE_BUDGETS.snapshot) return;
  const parts: [what: string, bytes: number][] = [
    ['instructions', jsonBytes(snapshot.instructions)],
    ['output schema', jsonBytes(snapshot.output ?? null)],
    ['settings', jsonBytes(snapshot.settings)],
    ...bytesOfTools(snapshot.tools),
  ];
  const [what, most] = parts.toSorted(([, a], [, b]) => b - a)[0] ?? ['', 0];
  throw new LonghaulError(
    'payload_too_large',
    `Agent "${snapshot.name}" is ${bytes} bytes of JSON, over ${BYTE_BUDGETS.snapshot}; most of it is its ${what} (${most} bytes): shorten that, take fewer tools of a server, or let tools look things up.`,
  );
}

/** Returns the bytes of each tool, and the sum for all tools of one MCP server. */
function bytesOfTools(tools: readonly ToolSnapshot[]): [what: string, bytes: number][] {
  const parts = new Map<string, number>();
  for (const tool of tools) {
    const what = tool.mcp === undefined ? `tool "${tool.name}"` : `tools of MCP server "${tool.mcp.server}"`;
    parts.set(what, (parts.get(what) ?? 0) + jsonBytes(tool));
  }
  return [...parts];
}
