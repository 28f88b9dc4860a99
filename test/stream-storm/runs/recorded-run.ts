import type { RunHandle } from '../../../src/client/index.ts';
import type { RecordedRun } from '../checks/reading-problems.ts';

/** Reads the record of an ended run. */
export async function recordOf(run: Pick<RunHandle<unknown>, 'result' | 'events'>): Promise<RecordedRun> {
  const json = (await run.result({ steps: true, timeout: '60s' })).toJSON();
  // A result computes these from its other members, and a stream has only those.
  const { steps = [], success: _, outputText: __, mediaTypes: ___, hasMedia: ____, maxIterations: _____, ...result } = json;
  return { events: await Array.fromAsync(run.events()), steps, result };
}
