import { percentile, rounded } from '../../figures/statistics.ts';
import type { ServeBenchOptions } from './serve-options.ts';
import type { ServeSurroundings } from './serve-surroundings.ts';
import { approve, startWaiting } from './waiting-runs.ts';

/** The figures of the readers of one run. */
export interface BusyFigures {
  readers: number;
  readP50Ms: number;
  readP95Ms: number;
  deltaP95Ms: number;
  queriesPerEvent: number;
  events: number;
}

const TOKENS = 5;

/** Lets readers follow one run from a decision to its end. */
export async function measureBusy(
  { client, service, readers }: ServeSurroundings,
  { readers: number, steps, rate }: ServeBenchOptions,
): Promise<BusyFigures> {
  const run = await startWaiting(client, 'read', { steps, tokens: TOKENS, rate, phaseMs: 0 });
  await readers.ask({ type: 'open', runIds: [run.runId], readers: number }, 'opened');
  await service.ask({ type: 'count' }, 'count');
  const ends = readers.ask({ type: 'ends' }, 'ended');
  await approve(run);
  const { eventDelays, deltaDelays, events } = await ends;
  const { queries } = await service.ask({ type: 'count' }, 'count');
  const [each = 0] = events;
  if (events.some((one) => one !== each)) throw new Error('Not all readers have got the same events');
  return {
    readers: number,
    readP50Ms: rounded(percentile(eventDelays, 50), 1),
    readP95Ms: rounded(percentile(eventDelays, 95), 1),
    deltaP95Ms: deltaDelays.length === 0 ? 0 : rounded(percentile(deltaDelays, 95), 1),
    queriesPerEvent: rounded(queries / each, 3),
    events: each,
  };
}
