import { expect, test } from 'vitest';
import { ofTopRun } from '../points/points.ts';
import { EFFECTS } from './delegation.ts';
import { plainTree, pointProblems, randomProblems, undisturbedProblems } from './tree-subject.ts';
import type { RunOfTree, TreeRecord } from './delegation-run.ts';

const PATHS = ['', 'researcher.1.1', 'researcher.1.2', 'cashier.3.0', 'manager.3.1', 'manager.3.1/researcher.1.0'];

const POINTS = Array.from({ length: 20 }, (_, index) => `told callModel ${index}`);

/** A record with its own ids and times. */
function recordOf(): TreeRecord {
  const runId = `run-${(made += 1)}`;
  const usage = { promptTokens: 1, completionTokens: 1, totalTokens: 2, cachedTokens: 0, reasoningTokens: 0, llmCalls: 1 };
  const one = { result: { runId, status: 'completed', usage }, events: [{ id: runId, author: 'a' }] } as unknown as RunOfTree;
  return {
    runId,
    runs: Object.fromEntries(PATHS.map((path) => [path, one])),
    tally: { ...usage, llmCalls: PATHS.length },
    waiting: { status: 'pending_confirmation', children: ['cashier.3.0'], pending: ['cashier.3.0: refund'] },
    executions: 2,
    effects: EFFECTS.map((effect) => ({ effect, key: `${runId} ${effect}`, acts: 1 })),
    asks: [{ told: 'told callModel 1', times: 1, inFlight: true }],
    givenUp: new Map(),
    kills: 1,
  };
}

let made = 0;

const undisturbed = plainTree(recordOf());
const HIT = { pass: 'worker', point: 'begin' } as const;

test('a tree passes with any ids', () => {
  expect(undisturbedProblems({ ...recordOf(), kills: 0 }, POINTS)).toEqual([]);
  expect(pointProblems(undisturbed, HIT, recordOf())).toEqual([]);
  expect(randomProblems(undisturbed, recordOf())).toEqual([]);
});

test.each<[string, (record: TreeRecord) => Partial<TreeRecord>]>([
  ['the worker was killed 2 times, where it should die once, at this point', () => ({ kills: 2 })],
  ['"runs" differs:', ({ runs }) => ({ runs: { ...runs, other: runs[''] as RunOfTree } })],
  ['"tally" differs:', ({ tally }) => ({ tally: { ...tally, llmCalls: 7 } })],
  ['"asks" differs:', () => ({ asks: [] })],
  [
    'the answer at "told callModel 1" was asked for 3 times, in flight at the kill',
    ({ asks }) => ({ asks: asks.map((ask) => ({ ...ask, times: 3 })) }),
  ],
  ['while a descendant waited, it said that it is running', ({ waiting }) => ({ waiting: { ...waiting, status: 'running' } })],
  ['it named these waiting runs: none', ({ waiting }) => ({ waiting: { ...waiting, children: [] } })],
  ['it listed: nothing', ({ waiting }) => ({ waiting: { ...waiting, pending: [] } })],
])('"%s" is reported for a tree with this problem', (problem, broken) => {
  const record = recordOf();
  const problems = pointProblems(undisturbed, HIT, { ...record, ...broken(record) });
  expect(problems.map((text) => text.split('\n')[0])).toEqual([problem]);
});

test('an effect with two idempotency keys, and one without a call, are reported', () => {
  const record = recordOf();
  const twice = { effect: 'note n1', key: 'another', acts: 1 };
  const strange = { effect: 'note n2', key: 'strange', acts: 1 };
  expect(pointProblems(undisturbed, HIT, { ...record, effects: [...record.effects, twice, strange] })).toEqual(
    expect.arrayContaining(['"note n1" was done with 2 idempotency keys', '"note n2" was done without a call']),
  );
});

test('an undisturbed tree must have all its runs and enough points, and its root must continue as new', () => {
  const record = { ...recordOf(), kills: 0 };
  expect(undisturbedProblems({ ...record, executions: 1 }, POINTS)).toEqual(['its root did not continue as new']);
  expect(undisturbedProblems(record, POINTS.slice(1))).toEqual(['it has 19 points']);
  expect(undisturbedProblems({ ...record, tally: { ...record.tally, llmCalls: 7 } }, POINTS)).toEqual([
    'its tally has 7 model calls, and its results have 6',
  ]);
});

test('a point of a child is named by the calls that have started the child', () => {
  expect(ofTopRun('tree-1/manager.3.1.0a1b2c3d/researcher.1.0.ffffffff', 'end')).toEqual({
    runId: 'tree-1',
    path: 'manager.3.1/researcher.1.0',
    point: 'manager.3.1/researcher.1.0: end',
  });
});
