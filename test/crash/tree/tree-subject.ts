import type { Subject, Hit } from '../subject.ts';
import { runDelegation, type TreeRecord } from './delegation-run.ts';
import type { JsonValue } from '../../../src/core/domain/json.ts';
import { OF_ONE_RUN, asksOver, hitProblems, partsThatDiffer, randomAsks } from '../checks.ts';
import { unless } from '../../processes/command.ts';
import { EFFECTS } from './delegation.ts';

/** The timeout of these activities does not depend on the heartbeats of the testbed. */
const NOTICED_LATE = /(before|after) (resolve|notifyWaiting|authorizeDecision|readResult)/;

/** The run of an agent that delegates to other agents. */
export const treeSubject: Subject<TreeRecord, PlainTree> = {
  name: 'tree',
  eventsOfExecution: 24,
  // A call that a busy worker seems to have lost is made again, and its answer paid twice.
  heartbeatMs: 1_500,
  run: runDelegation,
  plain: plainTree,
  undisturbedProblems,
  pointProblems,
  randomProblems,
  isSlow: (point) => NOTICED_LATE.test(point) || point.endsWith('query data'),
  // Every sixth of the points for workers, and every eighteenth for servers: the tree has more than 150.
  sample: (points, pass) => points.filter((_, index) => index % (pass === 'worker' ? 12 : 24) === 1),
};

/** The parts of a record that are equal in all runs of the tree, as JSON. */
interface PlainTree {
  runs: JsonValue;
  tally: JsonValue;
  /** The effects of tools, by name. */
  effects: string[];
  /** The model calls, by the points where their answers were read. */
  asks: string[];
}

/** Further fields that differ between any two trees: the ids of the children, and the cost of lost attempts. */
const OF_ONE_TREE = new Set([...OF_ONE_RUN, 'childRunId', 'estimated']);

/** A record without the fields that differ between runs. */
export function plainTree({ runs, tally, effects, asks }: TreeRecord): PlainTree {
  return {
    runs: plain(Object.fromEntries(Object.entries(runs).toSorted(([one], [other]) => (one < other ? -1 : 1)))),
    tally: plain(tally),
    effects: effects.map(({ effect }) => effect).toSorted(),
    asks: asks.map(({ told }) => told).toSorted(),
  };
}

function plain(value: unknown): JsonValue {
  const withoutIds = (key: string, field: unknown): unknown => (OF_ONE_TREE.has(key) ? undefined : field);
  return JSON.parse(JSON.stringify(value, withoutIds)) as JsonValue;
}

/** The minimum number of points where the tree must be hit. */
const FEWEST_POINTS = 20;

/** The number of runs of the tree. */
const RUNS = 6;

/** The problems with the undisturbed run, the reference for all others. */
export function undisturbedProblems(record: TreeRecord, points: readonly string[]): string[] {
  const { runs, executions, kills, tally } = record;
  const answers = Object.values(runs).reduce((sum, { result }) => sum + result.usage.llmCalls, 0);
  return [
    ...Object.entries(runs).flatMap(([path, { result }]) =>
      unless(result.status === 'completed', `"${path}" ended with status ${result.status}: ${result.error ?? result.stopReason}`),
    ),
    ...unless(Object.keys(runs).length === RUNS, `it has these runs: ${Object.keys(runs).join(', ')}`),
    ...unless(executions > 1, 'its root did not continue as new'),
    ...unless(kills === 0, `a process was killed ${kills} times`),
    ...unless(tally.llmCalls === answers, `its tally has ${tally.llmCalls} model calls, and its results have ${answers}`),
    ...unless(points.length >= FEWEST_POINTS, `it has ${points.length} points`),
    ...asksOver(record, () => 1),
    ...waitProblems(record),
    ...effectProblems(record),
  ];
}

/**
 * The problems with a tree that was hit at a point: only a model call that was in flight at the kill may have been made again, and one
 * that the server has given up meanwhile.
 */
export function pointProblems(undisturbed: PlainTree, hit: Hit, record: TreeRecord): string[] {
  return [...hitProblems(hit, record), ...recordProblems(undisturbed, record)];
}

/** The problems with a tree that was hit at random: each kill may make one more model call necessary. */
export function randomProblems(undisturbed: PlainTree, record: TreeRecord): string[] {
  return [...recordProblems(undisturbed, record), ...randomAsks(record)];
}

function recordProblems(undisturbed: PlainTree, record: TreeRecord): string[] {
  return [...partsThatDiffer(undisturbed, plainTree(record)), ...waitProblems(record), ...effectProblems(record)];
}

/** The root says that it waits, and lists the call of its descendant. */
function waitProblems({ waiting: { status, children, pending } }: TreeRecord): string[] {
  return [
    ...unless(status === 'pending_confirmation', `while a descendant waited, it said that it is ${status}`),
    ...unless(children.join() === 'cashier.3.0', `it named these waiting runs: ${children.join(', ') || 'none'}`),
    ...unless(pending.join() === 'cashier.3.0: refund', `it listed: ${pending.join(', ') || 'nothing'}`),
  ];
}

/** Each effect must have happened once: with one idempotency key. */
function effectProblems({ effects }: TreeRecord): string[] {
  const keys = (name: string): number => effects.filter(({ effect }) => effect === name).length;
  return [
    ...EFFECTS.flatMap((effect) => unless(keys(effect) === 1, `"${effect}" was done with ${keys(effect)} idempotency keys`)),
    ...effects.flatMap(({ effect }) => unless(EFFECTS.includes(effect), `"${effect}" was done without a call`)),
  ];
}
