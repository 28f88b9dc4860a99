import { seeded, type Random } from '../crash/runs/random-kills.ts';
import { atOnce } from '../processes/at-once.ts';
import { type Check, unless } from '../processes/command.ts';
import { secondsSince } from '../processes/timings.ts';
import { type StormPlace, withStorm, type Kind, KINDS, type Victim, type Waiting } from './processes/storm-testbed.ts';
import { type StreamedRun, streamedRun } from './streamed-run.ts';
import type { StreamItem, LonghaulClient } from '../../src/client/index.ts';
import { setTimeout as pause } from 'node:timers/promises';

/** The number of runs at the same time. */
const AT_ONCE = 12;

/** The time after which a storm with this many runs is stuck, in milliseconds. */
const PATIENCE_MS = { storm: 90_000, run: 10_000 };

/** The most kills. */
const KILLS = { least: 10, ofARun: 1 };

/** The options of a storm. */
interface StreamStormOptions {
  runs: number;
  seed: number;
  say: (line: string) => void;
}

/** The outcome of a storm. */
export interface StreamStormOutcome {
  checks: Check[];
  figures: StormFigures;
  /** The runs with problems, with the items that their readers have got. */
  failed: StreamedRun[];
}

/**
 * Many runs that stream, with readers, while workers, services and Redis are killed at random. At the end, each reader has the record of its
 * run, nothing missing and nothing twice.
 */
export async function streamStorm(place: StormPlace, { runs, seed, say }: StreamStormOptions): Promise<StreamStormOutcome> {
  const start = performance.now();
  return withStorm(place, async (testbed) => {
    testbed.onWaiting = (waiting) => void approveWaiting(testbed.client, waiting);
    const late = AbortSignal.timeout(PATIENCE_MS.storm + runs * PATIENCE_MS.run);
    const ended = new AbortController();
    const killing = killAtRandom(testbed.victims, { random: seeded(seed), most: KILLS.least + KILLS.ofARun * runs, signal: ended.signal });
    // Awaited below: a process that does not start again fails the storm then.
    killing.catch(() => undefined);
    let done = 0;
    const streamed = await atOnce(
      Array.from({ length: runs }, (_, number) => number),
      AT_ONCE,
      async (number) => {
        const run = await streamedRun(testbed, number, seeded(seed * 1_000 + number), late);
        done += 1;
        if (done % 10 === 0) say(`${done} of ${runs} runs have been followed to their ends after ${secondsSince(start)} s`);
        return run;
      },
    );
    ended.abort();
    const kills = await killing;
    const readings = streamed.flatMap((run) => run.readings);
    const count = (type: StreamItem['type']): number =>
      readings.reduce((total, { items }) => total + items.filter((item) => item.type === type).length, 0);
    const figures: StormFigures = {
      runs,
      seed,
      kills,
      reconnects: readings.reduce((total, { cuts }) => total + cuts, 0),
      moves: streamed.reduce((total, { moves }) => total + moves, 0),
      events: count('event'),
      deltas: count('delta'),
      gaps: count('gap'),
      resets: count('reset'),
      seconds: secondsSince(start),
    };
    return {
      checks: stormChecks(streamed, figures, testbed.failures()),
      figures,
      failed: streamed.filter(({ problems }) => problems.length > 0),
    };
  });
}

const AGAIN_MS = 500;
const TRIES = 60;

/** Approves a call that waits, however often its run has no worker just now. The same approval may be sent twice. */
async function approveWaiting(client: LonghaulClient, { runId, callId, digest }: Waiting): Promise<void> {
  for (let tries = 0; tries < TRIES; tries += 1) {
    try {
      await client.handle(runId).approve({ callId, digest }, { id: `yes-${callId}`, by: 'boss', timeout: '10s' });
      return;
    } catch {
      // A run that is never approved does not end, which the storm reports.
      await pause(AGAIN_MS);
    }
  }
}

/** Milliseconds between two kills. */
const EVERY_MS = { least: 800, most: 2_500 };

/** The part of the kills that wait until the one before has been made good: on a busy machine, a process starts slowly. */
const ALONE = 0.7;

/** The options of the kills. */
interface KillOptions {
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
async function killAtRandom(victims: readonly Victim[], { random, most, signal }: KillOptions): Promise<Record<Kind, number>> {
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

/** The measurements of a storm. */
export interface StormFigures {
  runs: number;
  seed: number;
  kills: Record<Kind, number>;
  /** The number of times that readers were cut off or found no service, and came back. */
  reconnects: number;
  /** The number of readers that continued at the cursor of another one. */
  moves: number;
  events: number;
  deltas: number;
  gaps: number;
  resets: number;
  seconds: number;
}

/** The checks of a storm: one for each run, and checks that the storm did what it should. */
export function stormChecks(runs: readonly StreamedRun[], figures: StormFigures, failures: readonly string[]): Check[] {
  const { kills, reconnects, moves, deltas, resets } = figures;
  return [
    ...runs.map(({ runId, problems }) => ({ name: `the readers of run "${runId}" have got its record, each item once`, problems })),
    { name: 'no process ends by itself', problems: [...failures] },
    {
      name: 'workers, services and Redis are killed',
      problems: KINDS.flatMap((kind) => unless(kills[kind] > 0, `${kind} were not killed`)),
    },
    { name: 'readers are cut off and come back', problems: unless(reconnects > 0, 'no stream was cut') },
    { name: 'readers go on at the cursors of others', problems: unless(moves > 0, 'no reader moved on') },
    {
      name: 'readers see answers as they are written, and what is taken back',
      problems: [...unless(deltas > 0, 'there was no delta'), ...unless(resets > 0, 'there was no reset')],
    },
  ];
}
