import { setTimeout as pause } from 'node:timers/promises';
import { kill, type CrashTestbed, type Pass } from '../processes/crash-testbed.ts';

/** Gives numbers in [0, 1) that depend on the seed alone. */
export type Random = () => number;

/** A small generator (mulberry32), which is good enough for the times of kills. */
export function seeded(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** One kill of a plan. */
export interface PlannedKill {
  /** Milliseconds after the kill before, or after the beginning. */
  afterMs: number;
  victim: Pass;
}

const KILLS = { least: 1, most: 4 };
const SHORTEST_MS = 20;
const LONGEST_MS = 2_500;

/** Plans the kills of one run. If only workers die, the server is not killed. */
export function planKills(random: Random, mayHitServer: boolean): PlannedKill[] {
  const count = KILLS.least + Math.floor(random() * (KILLS.most - KILLS.least + 1));
  return Array.from({ length: count }, () => ({
    // Short times are as likely as long ones: between two tasks there are milliseconds.
    afterMs: Math.round(SHORTEST_MS * (LONGEST_MS / SHORTEST_MS) ** random()),
    victim: mayHitServer && random() < 0.5 ? 'server' : 'worker',
  }));
}

/** Kills as planned, until the run has ended. */
export async function killAsPlanned(testbed: CrashTestbed, kills: readonly PlannedKill[], ended: AbortSignal): Promise<void> {
  for (const { afterMs, victim } of kills) {
    // A process that is still starting cannot be killed.
    await Promise.all([testbed.server.whenReady(), testbed.worker.whenReady()]);
    await pause(afterMs, undefined, { signal: ended }).catch(() => undefined);
    if (ended.aborted) return;
    await kill(testbed, victim);
  }
}
