import type { AnyAgent } from '../../src/define/agent-definition.ts';
import type { TransferTarget } from '../../src/core/domain/handoffs/transfer-tool.ts';
import type { AgentRegistry } from '../agents/agent-registry.ts';

/** Returns the agents that an agent may hand over to, with their descriptions as this worker has them. */
export function transferTargets(registry: Pick<AgentRegistry, 'agent'>, { handoffs = [] }: AnyAgent): TransferTarget[] {
  return handoffs.map(({ name }) => ({ name, description: registry.agent(name).description }));
}
