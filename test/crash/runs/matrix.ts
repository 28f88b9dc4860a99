import { withTestbeds } from '../processes/shared-resources.ts';
import { checkedRun } from './checked-run.ts';
import type { SharedResources, CrashTestbed } from '../processes/crash-testbed.ts';
import type { Outcome } from './outcome.ts';
import type { Pass } from '../pass.ts';
import { activityPoint, queryPoint } from '../points/points.ts';
import { pointProblems } from '../checks/run-problems.ts';
import { runUndisturbed } from './undisturbed-run.ts';
import { handleInTurn } from './handle-in-turn.ts';

/** The options of a pass. */
export interface PassOptions {
  parallel: number;
  /** Chooses the points at which runs are hit. */
  wanted: (point: string) => boolean;
  /** Called with every outcome as it comes. */
  report: (outcome: Outcome) => void;
}

/** Does a run without a crash, and then one for every point, several at a time. */
export async function runPass(resources: SharedResources, pass: Pass, { parallel, wanted, report }: PassOptions): Promise<Outcome[]> {
  const { folder } = resources;
  return withTestbeds(resources, pass, async (open) => {
    const { outcome, undisturbed } = await runUndisturbed(open, resources);
    report(outcome);
    if (undisturbed === undefined) return [outcome];
    const { record: measure, points } = undisturbed;
    const outcomes = [outcome];
    const hit = async (testbed: CrashTestbed, point: string): Promise<Outcome> => {
      const disturbance = { type: 'at', point } as const;
      const run = { name: point, folder, disturbance, check: pointProblems.bind(undefined, measure, { pass, point }) };
      const hitOutcome = await checkedRun(testbed, run);
      outcomes.push(hitOutcome);
      report(hitOutcome);
      return hitOutcome;
    };
    await Promise.all(queuesOf(points.filter(wanted), parallel).map((queue) => handleInTurn(open, queue, hit)));
    return outcomes;
  });
}

/**
 * These activities have no heartbeats: a dead attempt is given up after up to a minute. The second queries the run for its
 * data.
 */
const WITHOUT_HEARTBEATS = ['resolveAgent', 'notifyWaiting s6', 'authorizeDecision s6'];

/** The number of testbeds that begin with the slow points. The others take the remaining points meanwhile. */
const SLOW_TESTBEDS = 2;

/** The points of each testbed: each point is taken once. */
function queuesOf(points: readonly string[], testbeds: number): Iterable<string>[] {
  const slow = points.filter(isSlow).values();
  const others = points.filter((point) => !isSlow(point)).values();
  return Array.from({ length: testbeds }, (_, testbed) => (testbed < SLOW_TESTBEDS ? inTurn(slow, others) : others));
}

function* inTurn<Item>(...queues: Iterable<Item>[]): Generator<Item> {
  for (const queue of queues) yield* queue;
}

function isSlow(point: string): boolean {
  if (point === queryPoint('data')) return true;
  return WITHOUT_HEARTBEATS.some((name) => point === activityPoint('before', name) || point === activityPoint('after', name));
}
