import type { JsonObject } from '../../src/core/domain/json/json.ts';
import type { AnyAgent } from '../../src/define/agent-definition.ts';
import { parseDeps } from '../../src/define/options/parse-deps.ts';
import type { AgentRegistry } from '../agents/agent-registry.ts';

/** Returns the first agent of a flow, with the limits of the flow. Any other agent, and a parallel flow, which has no first one, as it is. */
export function firstOfFlow(registry: Pick<AgentRegistry, 'agent'>, agent: AnyAgent): AnyAgent {
  const [first] = agent.flow?.agents ?? [];
  return first === undefined || agent.flow?.kind === 'parallel' ? agent : { ...registry.agent(first), limits: agent.limits };
}

/** Throws `invalid_input` if an agent of a flow could not take its turn with these deps: none of them is paid for then. */
export function requireDeps(registry: Pick<AgentRegistry, 'agent'>, { flow }: AnyAgent, deps: JsonObject): void {
  for (const agent of flow?.agents ?? []) parseDeps(registry.agent(agent), deps);
}
