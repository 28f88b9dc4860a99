import { seeded } from '../crash/runs/random-kills.ts';
import { atOnce } from '../processes/at-once.ts';
import type { Check } from '../processes/command.ts';
import { secondsSince } from '../processes/timings.ts';
import { type StormFigures, stormChecks } from './checks/storm-checks.ts';
import { type StormPlace, withStorm } from './processes/storm-testbed.ts';
import { approveWaiting } from './runs/approve-waiting.ts';
import { killAtRandom } from './runs/kill-at-random.ts';
import { type StreamedRun, streamedRun } from './runs/streamed-run.ts';
import type { StreamItem } from '../../src/client/index.ts';

/** The number of runs at the same time. */
const AT_ONCE = 12;

/** The time after which a storm with this many runs is stuck, in milliseconds. */
const PATIENCE_MS = { storm: 90_000, run: 10_000 };

/** The most kills. */
const KILLS = { least: 10, ofARun: 1 };

/** The options of a storm. */
export interface StreamStormOptions {
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
