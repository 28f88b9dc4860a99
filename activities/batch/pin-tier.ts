import { agentModels } from '../../src/core/domain/agent.ts';
import { LonghaulError } from '../../src/core/domain/errors.ts';
import type { WorkerPart } from '../worker-part.ts';

/**
 * The tier in a worker: that of the start, else that of the agent, else that of the parent. It is pinned for a run whose calls wait for
 * batches, so that a run of the other tier records nothing of it.
 */
export const tierInWorker: WorkerPart = {
  name: 'tier',
  pin: ({ runtime, input, agent }) => {
    const tier = input.tier ?? agent.tier ?? input.ofTier;
    if (tier !== 'batch' || runtime.batches === undefined) return {};
    const [model = agent.model] = agentModels(agent);
    const problem = runtime.batches.problem(model);
    if (problem !== undefined) throw new LonghaulError('invalid_agent', `The run cannot start with the tier "batch": ${problem}`);
    return { fields: { tier } };
  },
};
