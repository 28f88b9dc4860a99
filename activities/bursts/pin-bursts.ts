import type { BurstFields } from '../../src/define/bursts.ts';
import type { WorkerPart } from '../worker-part.ts';

/** Bursts in a worker: their bounds are pinned for a run, unless its stream could not follow them. */
export const burstsInWorker: WorkerPart = {
  name: 'bursts',
  pin: ({ agent, runtime }) => {
    if (agent.burst === undefined) return {};
    // Readers of a stream would get the pieces of calls whose events the record does not have yet.
    if (runtime.streams === undefined) return { fields: { burst: agent.burst } };
    sayWithoutBursts([agent], runtime.logOnce);
    return {};
  },
};

/** Says which agents make no bursts on a worker that has a sink of streams. */
export function sayWithoutBursts(agents: readonly ({ name: string } & BurstFields)[], logOnce: (line: string) => void): void {
  for (const { name } of agents.filter(({ burst }) => burst !== undefined))
    logOnce(
      `Agent "${name}" makes no bursts on this worker, which has a sink of streams: remove "burst" of the agent, or "streams" of the worker`,
    );
}
