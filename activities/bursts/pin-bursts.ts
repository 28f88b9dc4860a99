import type { WorkerPart } from '../worker-part.ts';

/** Bursts in a worker: their bounds are pinned for a run, unless its stream could not follow them. */
export const burstsInWorker: WorkerPart = {
  name: 'bursts',
  pin: ({ agent: { name, burst }, runtime }) => {
    if (burst === undefined) return {};
    // Readers of a stream would get the pieces of calls whose events the record does not have yet.
    if (runtime.streams === undefined) return { fields: { burst } };
    runtime.logOnce(
      `Agent "${name}" makes no bursts on this worker, which has a sink of streams: remove "burst" of the agent, or "streams" of the worker`,
    );
    return {};
  },
};
