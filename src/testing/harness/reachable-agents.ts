import type { AnyAgent } from '../../define/agent-definition.ts';

/** Returns agents and all those that they hand over to or have as their flow, directly or not, as far as they are given as agents and not by name. Each name once. */
export function reachableAgents(agents: readonly AnyAgent[]): AnyAgent[] {
  const found = new Map<string, AnyAgent>();
  const add = (agent: AnyAgent): void => {
    if (found.has(agent.name)) return;
    found.set(agent.name, agent);
    for (const { agent: next } of agent.handoffs ?? []) if (next !== undefined) add(next);
    for (const next of agent.flowAgents ?? []) add(next);
  };
  for (const agent of agents) add(agent);
  return [...found.values()];
}
