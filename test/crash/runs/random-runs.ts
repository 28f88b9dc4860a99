import { withTestbeds } from '../processes/shared-resources.ts';
import { checkedRun } from './checked-run.ts';
import type { SharedResources, CrashTestbed } from '../processes/crash-testbed.ts';
import type { Outcome } from './outcome.ts';
import type { Pass } from '../pass.ts';
import { killAsPlanned, planKills, seeded } from './random-kills.ts';
import type { RecordOfRun, Subject } from '../subject.ts';
import { runUndisturbed } from './undisturbed-run.ts';
import { handleInTurn } from './handle-in-turn.ts';

/** The options of random runs. */
export interface RandomOptions {
  seed: number;
  /** New runs are started for this many milliseconds. */
  ms: number;
  parallel: number;
  /** Called with every outcome as it comes. */
  report: (outcome: Outcome) => void;
}

/**
 * Does runs that are hit at random times, until the time is over. The kills of a run depend on the seed and the number of the
 * run alone.
 */
export async function runRandomly<Recorded extends RecordOfRun, Plain>(
  resources: SharedResources,
  { pass, subject }: { pass: Pass; subject: Subject<Recorded, Plain> },
  { seed, ms, parallel, report }: RandomOptions,
): Promise<Outcome[]> {
  const { folder } = resources;
  return withTestbeds(resources, { pass, subject }, async (open) => {
    const { outcome, undisturbed } = await runUndisturbed(open, resources, subject);
    report(outcome);
    if (undisturbed === undefined) return [outcome];
    const outcomes = [outcome];
    const next = async (testbed: CrashTestbed, number: number): Promise<Outcome> => {
      const kills = planKills(seeded(seed * 10_000 + number), pass === 'server');
      const plan = kills.map(({ afterMs, victim }) => `${victim} after ${afterMs} ms`).join(', ');
      const runOutcome = await checkedRun(testbed, subject, {
        name: `random ${seed}/${number}: ${plan}`,
        folder,
        disturbance: { type: 'meanwhile', work: (ended) => killAsPlanned(testbed, kills, ended) },
        check: (record) => subject.randomProblems(undisturbed.record, record),
      });
      outcomes.push(runOutcome);
      report(runOutcome);
      return runOutcome;
    };
    const numbers = countUntil(Date.now() + ms);
    await Promise.all(Array.from({ length: parallel }, () => handleInTurn(open, numbers, next)));
    return outcomes;
  });
}

function* countUntil(deadline: number): Generator<number> {
  for (let number = 1; Date.now() < deadline; number += 1) yield number;
}
