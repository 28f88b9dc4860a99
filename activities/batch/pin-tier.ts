import { agentModels } from '../../src/core/domain/agent.ts';
import type { Tier } from '../../src/core/domain/batch.ts';
import { LonghaulError } from '../../src/core/domain/errors.ts';
import type { ResolveAgentInput } from '../../src/core/protocol.ts';
import type { TierFields } from '../../src/define/tier.ts';
import type { WorkerPart } from '../worker-part.ts';

/** The tier in a worker. Only runs whose calls wait for batches pin it, so that other runs record nothing about tiers. */
export const tierInWorker: WorkerPart = {
  name: 'tier',
  pin: ({ runtime, input, agent }) => {
    const tier = tierOf(input, agent);
    if (tier !== 'batch' || runtime.batches === undefined) return {};
    const [model = agent.model] = agentModels(agent);
    const problem = runtime.batches.problem(model);
    if (problem !== undefined) throw new LonghaulError('invalid_agent', `The run cannot start with the tier "batch": ${problem}`);
    return { fields: { tier } };
  },
};

/** Returns the tier of a run: the start's, otherwise the agent's, otherwise the parent's. Undefined if none of them sets it. */
export function tierOf({ tier, ofTier }: Pick<ResolveAgentInput, 'tier' | 'ofTier'>, agent: TierFields): Tier | undefined {
  return tier ?? agent.tier ?? ofTier;
}
