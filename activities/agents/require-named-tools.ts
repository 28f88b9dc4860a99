import type { AnyAgent } from '../../src/define/agent-definition.ts';
import type { ToolSnapshot } from '../../src/core/domain/agent/agent-snapshot.ts';
import { LonghaulError } from '../../src/core/domain/errors/error.ts';
import { FINAL_ANSWER } from '../../src/core/domain/content/tool-text.ts';

/**
 * Throws `invalid_agent` if an agent names a tool that it does not have. With MCP servers this could not be checked
 * when the agent was defined.
 */
export function requireNamedTools({ name, mcp, settings, limits, output }: AnyAgent, tools: readonly ToolSnapshot[]): void {
  if (mcp === undefined) return;
  const { toolChoice } = settings;
  const chosen = typeof toolChoice === 'object' ? [toolChoice.tool] : [];
  const named: [option: string, tools: string[]][] = [
    ['settings.toolChoice', output === undefined ? chosen : chosen.filter((tool) => tool !== FINAL_ANSWER)],
    ['limits.toolCallsByName', Object.keys(limits.toolCallsByName ?? {})],
  ];
  for (const [option, names] of named) {
    const missing = names.find((one) => !tools.some((tool) => tool.name === one));
    if (missing === undefined) continue;
    throw new LonghaulError(
      'invalid_agent',
      `"${option}" of agent "${name}" names the tool "${missing}", which neither it nor an MCP server of it has (it has: ${namesOf(tools)})`,
    );
  }
}

function namesOf(tools: readonly ToolSnapshot[]): string {
  return tools.map(({ name }) => `"${name}"`).join(', ') || 'none';
}
