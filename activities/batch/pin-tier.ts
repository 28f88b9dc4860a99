import { agentModels } from '../../src/core/domain/agent.ts';
import type { Tier } from '../../src/core/domain/batch.ts';
import { LonghaulError } from '../../src/core/domain/errors.ts';
import type { ResolveAgentInput } from '../../src/core/protocol.ts';
import type { TierFields } from '../../src/define/tier.ts';
import type { WorkerPart } from '../worker-part.ts';

/** The tier in a worker. It is pinned for a run whose calls wait for batches, so that a run of the other tier records nothing of it. */
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

/** Returns the tier of a run: that of the start, else that of the agent, else that of the parent. Undefined: nobody has chosen one. */
export function tierOf({ tier, ofTier }: Pick<ResolveAgentInput, 'tier' | 'ofTier'>, agent: TierFields): Tier | undefined {
  return tier ?? agent.tier ?? ofTier;
}
