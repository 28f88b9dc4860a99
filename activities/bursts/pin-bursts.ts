import { makesBursts } from '../../src/core/bursts/burst.ts';
import { defined } from '../../src/core/domain/json.ts';
import type { BurstFields } from '../../src/define/bursts.ts';
import type { TierFields } from '../../src/define/tier.ts';
import { tierOf } from '../batch/pin-tier.ts';
import type { WorkerPart } from '../worker-part.ts';

/** Bursts in a worker: their bounds are pinned for a run, unless its stream could not follow them. */
export const burstsInWorker: WorkerPart = {
  name: 'bursts',
  pin: ({ agent, runtime, input }) => {
    if (agent.burst === undefined) return {};
    // Readers of a stream would get pieces of calls whose events are not in the record yet.
    if (runtime.streams === undefined) return { fields: { burst: agent.burst } };
    const { name, burst } = agent;
    sayWithoutBursts([{ name, burst, ...defined({ tier: tierOf(input, agent) }) }], runtime.logOnce);
    return {};
  },
};

/** Logs which agents make no bursts because their worker has a stream sink. Agents of the tier `batch` never make bursts. */
export function sayWithoutBursts(agents: readonly ({ name: string } & BurstFields & TierFields)[], logOnce: (line: string) => void): void {
  for (const { name } of agents.filter(makesBursts))
    logOnce(
      `Agent "${name}" makes no bursts on this worker, which has a sink of streams: remove "streams" of the worker ("longhaul dev" and "longhaul serve" always have one, "longhaul worker" need not), or remove "burst" of the agent`,
    );
}
