import { setTimeout as pause } from 'node:timers/promises';
import { rounded } from '../../figures/statistics.ts';
import type { ServeBenchOptions } from './serve-options.ts';
import type { ServeSurroundings } from './serve-surroundings.ts';
import { startWaiting } from './waiting-runs.ts';

/** The figures of readers of runs that wait. */
export interface IdleFigures {
  idleReaders: number;
  idleQueriesPerRunMinute: number;
  rssMb: number;
}

/** The time after which what the opening of the streams has begun is over. */
const SETTLED_MS = 5_000;
const MIB = 1024 ** 2;

/** Lets readers follow runs that wait for a decision, and counts what they cost. */
export async function measureIdle(
  { client, service, readers }: ServeSurroundings,
  { idleRuns, idleReaders, idleSeconds }: ServeBenchOptions,
): Promise<IdleFigures> {
  const runIds: string[] = [];
  for (let index = 0; index < idleRuns; index += 1) {
    const { runId } = await startWaiting(client, `idle-${index}`, { steps: 1, tokens: 5, rate: 0, phaseMs: 0 });
    runIds.push(runId);
  }
  await readers.ask({ type: 'open', runIds, readers: idleReaders }, 'opened');
  await pause(SETTLED_MS);
  await service.ask({ type: 'count' }, 'count');
  await pause(idleSeconds * 1_000);
  const { queries, rss } = await service.ask({ type: 'count' }, 'count');
  const { readers: open } = await readers.ask({ type: 'open_ones' }, 'open_ones');
  if (open < idleReaders) throw new Error(`${idleReaders - open} of ${idleReaders} streams were cut`);
  return {
    idleReaders,
    idleQueriesPerRunMinute: rounded((queries / idleRuns / idleSeconds) * 60, 3),
    rssMb: rounded(rss / MIB, 1),
  };
}
