import { withTestbeds, type OpenTestbed } from '../processes/shared-resources.ts';
import { checkedRun, runUndisturbed } from './checked-run.ts';
import type { SharedResources, CrashTestbed, Pass } from '../processes/crash-testbed.ts';
import type { Outcome, RecordOfRun, Subject } from '../subject.ts';
import { killAsPlanned, planKills, seeded } from './random-kills.ts';

/** The options of a pass. */
interface PassOptions {
  parallel: number;
  /**
   * Hits the points where a check failed again, alone: on a busy machine a run may take longer than the test waits. The second try counts.
   */
  retry: boolean;
  /** Chooses the points to hit runs at, out of the points that the undisturbed run has reached. */
  chosen: (points: readonly string[]) => readonly string[];
  /** Called with every outcome as it comes. */
  report: (outcome: Outcome) => void;
}

/** Does a run without a crash, and then one for every point, several at a time. */
export async function runPass<Recorded extends RecordOfRun, Plain>(
  resources: SharedResources,
  { pass, subject }: { pass: Pass; subject: Subject<Recorded, Plain> },
  { parallel, retry, chosen, report }: PassOptions,
): Promise<Outcome[]> {
  const { folder } = resources;
  return withTestbeds(resources, { pass, subject }, async (open) => {
    const { outcome, undisturbed } = await runUndisturbed(open, resources, subject);
    report(outcome);
    if (undisturbed === undefined) return [outcome];
    const { record: measure, points } = undisturbed;
    const outcomes = new Map<string, Outcome>();
    const hit = async (testbed: CrashTestbed, point: string): Promise<Outcome> => {
      const disturbance = { type: 'at', point } as const;
      const name = outcomes.has(point) ? `${point}, second try` : point;
      const run = { name, folder, disturbance, check: subject.pointProblems.bind(undefined, measure, { pass, point }) };
      const hitOutcome = await checkedRun(testbed, subject, run);
      outcomes.set(point, hitOutcome);
      report(hitOutcome);
      return hitOutcome;
    };
    const queues = queuesOf(chosen(points), { testbeds: parallel, isSlow: subject.isSlow });
    await Promise.all(queues.map((queue) => handleInTurn(open, queue, hit)));
    const failed = [...outcomes].flatMap(([point, { problems }]) => (problems.length > 0 ? [point] : []));
    if (retry && failed.length <= MOST_RETRIED) await handleInTurn(open, failed, hit);
    return [outcome, ...outcomes.values()];
  });
}

/** The maximum number of failed points that are hit again: more failures are not an accident. */
const MOST_RETRIED = 3;

/** The number of testbeds that begin with the slow points. The others take the remaining points meanwhile. */
const SLOW_TESTBEDS = 2;

/** The points of each testbed: each point is taken once. */
function queuesOf(
  points: readonly string[],
  { testbeds, isSlow }: { testbeds: number; isSlow: (point: string) => boolean },
): Iterable<string>[] {
  const slow = points.filter(isSlow).values();
  const others = points.filter((point) => !isSlow(point)).values();
  return Array.from({ length: testbeds }, (_, testbed) => (testbed < SLOW_TESTBEDS ? inTurn(slow, others) : others));
}

function* inTurn<Item>(...queues: Iterable<Item>[]): Generator<Item> {
  for (const queue of queues) yield* queue;
}

/** The options of random runs. */
interface RandomOptions {
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

/** Handles one item after the other on a testbed. After a problem the testbed may be damaged: another is opened. */
async function handleInTurn<Item>(
  open: OpenTestbed,
  items: Iterable<Item>,
  handle: (testbed: CrashTestbed, item: Item) => Promise<Outcome>,
): Promise<void> {
  let testbed: CrashTestbed | undefined;
  try {
    for (const item of items) {
      testbed ??= await open();
      const { problems } = await handle(testbed, item);
      if (problems.length === 0) continue;
      await testbed.close();
      testbed = undefined;
    }
  } finally {
    await testbed?.close();
  }
}
