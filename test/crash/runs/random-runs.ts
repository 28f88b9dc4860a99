import { onLanes } from '../processes/ground.ts';
import { judgedRun } from './judged-run.ts';
import type { Ground, Lane } from '../processes/lane.ts';
import type { Outcome } from './outcome.ts';
import type { Pass } from '../pass.ts';
import { killAsPlanned, planKills, seeded } from './random-kills.ts';
import { randomProblems } from '../checks/run-problems.ts';
import { playUndisturbed } from './undisturbed.ts';
import { workOff } from './work-off.ts';

/** The options of random runs. */
export interface RandomOptions {
  seed: number;
  /** New runs are started for so many milliseconds. */
  ms: number;
  parallel: number;
  /** Called with every outcome as it comes. */
  report: (outcome: Outcome) => void;
}

/**
 * Does runs that are hit at random times, until the time is over. The kills of a run depend on the seed and the number of the
 * run alone.
 */
export async function playRandom(ground: Ground, pass: Pass, { seed, ms, parallel, report }: RandomOptions): Promise<Outcome[]> {
  const { folder } = ground;
  return onLanes(ground, pass, async (open) => {
    const { outcome, undisturbed } = await playUndisturbed(open, ground);
    report(outcome);
    if (undisturbed === undefined) return [outcome];
    const outcomes = [outcome];
    const next = async (lane: Lane, number: number): Promise<Outcome> => {
      const kills = planKills(seeded(seed * 10_000 + number), pass === 'server');
      const plan = kills.map(({ afterMs, victim }) => `${victim} after ${afterMs} ms`).join(', ');
      const played = await judgedRun(lane, {
        name: `random ${seed}/${number}: ${plan}`,
        folder,
        disturbance: { type: 'meanwhile', work: (ended) => killAsPlanned(lane, kills, ended) },
        judge: (record) => randomProblems(undisturbed.record, record),
      });
      outcomes.push(played);
      report(played);
      return played;
    };
    const numbers = countUntil(Date.now() + ms);
    await Promise.all(Array.from({ length: parallel }, () => workOff(open, numbers, next)));
    return outcomes;
  });
}

function* countUntil(deadline: number): Generator<number> {
  for (let number = 1; Date.now() < deadline; number += 1) yield number;
}
