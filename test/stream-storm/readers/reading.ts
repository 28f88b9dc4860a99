import type { StreamItem } from '../../../src/client/index.ts';
import type { Random } from '../../crash/runs/random-kills.ts';
import { FollowedRun } from './followed-run.ts';

/** The items that a reader of a run has got, from the beginning to the end. */
export interface Reading {
  /** The reader, for messages. */
  reader: string;
  items: readonly StreamItem[];
  cuts: number;
  problem?: string | undefined;
}

/** The most items that a reader which moves on reads at one place. */
const MOST = 60;

/** A run, the service, and the signal that makes its readers give up. */
export interface Followed {
  url: string;
  runId: string;
  signal: AbortSignal;
}

/** Follows a run to its end with one reader. */
export async function stay({ url, runId, signal }: Followed): Promise<Reading> {
  const run = new FollowedRun(url, runId);
  await overWithin(run, signal);
  return { reader: 'the reader that stays', items: run.items, cuts: run.cuts, problem: run.problem };
}

/** Follows a run to its end with one reader after the other: each begins at the cursor of the last item of the one before, at any instance. */
export async function moveOn({ runId, signal }: Followed, urls: readonly string[], random: Random): Promise<Reading & { moves: number }> {
  const items: StreamItem[] = [];
  let cuts = 0;
  for (let moves = 0; ; moves += 1) {
    const most = 1 + Math.floor(random() * MOST);
    const url = urls[Math.floor(random() * urls.length)] ?? '';
    const run = new FollowedRun(url, runId, { cursor: items.at(-1)?.cursor, most });
    await overWithin(run, signal);
    items.push(...run.items);
    cuts += run.cuts;
    const { problem } = run;
    const isOver = run.items.length === 0 || items.at(-1)?.type === 'end' || problem !== undefined || signal.aborted;
    if (isOver) return { reader: 'the reader that moves on', items, cuts, problem, moves };
  }
}

/** Reads a run again from an item of a reading on, at an instance, and returns both parts as one reading. */
export async function goOn({ url, runId, signal }: Followed, { items }: Reading, index: number): Promise<Reading> {
  const run = new FollowedRun(url, runId, { cursor: items[index]?.cursor });
  await overWithin(run, signal);
  const spliced = [...items.slice(0, index + 1), ...run.items];
  return { reader: `the reader that goes on behind item ${index}`, items: spliced, cuts: run.cuts, problem: run.problem };
}

async function overWithin(run: FollowedRun, signal: AbortSignal): Promise<void> {
  const close = (): void => run.close();
  if (signal.aborted) close();
  signal.addEventListener('abort', close, { once: true });
  await run.over;
  signal.removeEventListener('abort', close);
}
