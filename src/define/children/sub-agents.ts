import type { AnyAgent } from '../agent-definition.ts';
import type { AnyTool } from '../tools/tool-definition.ts';

/** Returns the agent that a tool was made of; undefined for any other tool, and for one that names its agent. */
export function agentOfTool({ agent }: Pick<AnyTool, 'agent'>): AnyAgent | undefined {
  return agent?.definition as AnyAgent | undefined;
}

/** Returns agents with those that their tools run, and those below, each once. */
export function withSubAgents(agents: readonly AnyAgent[]): AnyAgent[] {
  const all = [...agents];
  const known = new Set<AnyAgent>(agents);
  for (const agent of all) {
    for (const tool of agent.tools) {
      const below = agentOfTool(tool);
      if (below === undefined || known.has(below)) continue;
      known.add(below);
      all.push(below);
    }
  }
  return all;
}
