import { setTimeout as pause } from 'node:timers/promises';
import type { Random } from '../../crash/runs/random-kills.ts';
import { type Kind, KINDS, type Victim } from '../processes/storm-testbed.ts';

/** Milliseconds between two kills. */
const EVERY_MS = { least: 800, most: 2_500 };

/** The part of the kills that wait until the one before has been made good: on a busy machine, a process starts slowly. */
const ALONE = 0.7;

/** The options of the kills. */
export interface KillOptions {
  random: Random;
  /** The most kills: then the runs come to their ends in peace. */
  most: number;
  /** Ends the kills. */
  signal: AbortSignal;
}

/**
 * Kills processes with SIGKILL, in rounds that have each of them once, in any order: one that is still starting is left out. Resolves once all
 * work again, with the number of kills.
 */
export async function killAtRandom(victims: readonly Victim[], { random, most, signal }: KillOptions): Promise<Record<Kind, number>> {
  const kills = Object.fromEntries(KINDS.map((kind) => [kind, 0])) as Record<Kind, number>;
  const starting = new Map<Victim, Promise<void>>();
  for (let killed = 0; killed < most && !signal.aborted;) {
    for (const victim of shuffled(victims, random)) {
      await pause(EVERY_MS.least + random() * (EVERY_MS.most - EVERY_MS.least), undefined, { signal }).catch(() => undefined);
      if (random() < ALONE) await Promise.all(starting.values());
      if (signal.aborted || killed >= most) break;
      if (starting.has(victim)) continue;
      killed += 1;
      kills[victim.kind] += 1;
      const again = victim.killAndStart(random);
      starting.set(victim, again);
      // The callers that wait for a process notice if it does not restart.
      again.then(
        () => starting.delete(victim),
        () => undefined,
      );
    }
  }
  await Promise.all(starting.values());
  return kills;
}

/** The items in an order that depends on the generator alone. */
export function shuffled<Item>(items: readonly Item[], random: Random): Item[] {
  const keyed = items.map((item) => ({ item, key: random() }));
  return keyed.toSorted((one, other) => one.key - other.key).map(({ item }) => item);
}
