import { onLanes } from '../processes/ground.ts';
import { judgedRun } from './judged-run.ts';
import type { Ground, Lane } from '../processes/lane.ts';
import type { Outcome } from './outcome.ts';
import type { Pass } from '../pass.ts';
import { activityPoint, queryPoint } from '../points/points.ts';
import { pointProblems } from '../checks/run-problems.ts';
import { playUndisturbed } from './undisturbed.ts';
import { workOff } from './work-off.ts';

/** The options of a pass. */
export interface PassOptions {
  parallel: number;
  /** Chooses the points at which runs are hit. */
  wanted: (point: string) => boolean;
  /** Called with every outcome as it comes. */
  report: (outcome: Outcome) => void;
}

/** Does a run without a crash, and then one for every point, several at a time. */
export async function playPass(ground: Ground, pass: Pass, { parallel, wanted, report }: PassOptions): Promise<Outcome[]> {
  const { folder } = ground;
  return onLanes(ground, pass, async (open) => {
    const { outcome, undisturbed } = await playUndisturbed(open, ground);
    report(outcome);
    if (undisturbed === undefined) return [outcome];
    const { record: measure, points } = undisturbed;
    const outcomes = [outcome];
    const hit = async (lane: Lane, point: string): Promise<Outcome> => {
      const disturbance = { type: 'at', point } as const;
      const run = { name: point, folder, disturbance, judge: pointProblems.bind(undefined, measure, { pass, point }) };
      const hitOutcome = await judgedRun(lane, run);
      outcomes.push(hitOutcome);
      report(hitOutcome);
      return hitOutcome;
    };
    await Promise.all(queuesOf(points.filter(wanted), parallel).map((queue) => workOff(open, queue, hit)));
    return outcomes;
  });
}

/**
 * These activities have no heartbeats: a dead attempt is given up after up to a minute. The second queries the run for its
 * data.
 */
const WITHOUT_HEARTBEATS = ['resolveAgent', 'notifyWaiting s6', 'authorizeDecision s6'];

/** The number of testbeds that begin with the slow points. The others take the remaining points meanwhile. */
const SLOW_LANES = 2;

/** The points of each testbed: each point is taken once. */
function queuesOf(points: readonly string[], lanes: number): Iterable<string>[] {
  const slow = points.filter(isSlow).values();
  const others = points.filter((point) => !isSlow(point)).values();
  return Array.from({ length: lanes }, (_, lane) => (lane < SLOW_LANES ? inTurn(slow, others) : others));
}

function* inTurn<Item>(...queues: Iterable<Item>[]): Generator<Item> {
  for (const queue of queues) yield* queue;
}

function isSlow(point: string): boolean {
  if (point === queryPoint('data')) return true;
  return WITHOUT_HEARTBEATS.some((name) => point === activityPoint('before', name) || point === activityPoint('after', name));
}
