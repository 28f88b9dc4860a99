import { expect, test } from 'vitest';
import type { Event } from '../../../src/core/domain/record.ts';
import { allSteps, kindOf, STEP_KINDS } from '../../../src/core/domain/program-document.ts';
import type { Ask } from '../processes/ledger.ts';
import { errand } from './errand.ts';
import { pointProblems, randomProblems, undisturbedProblems, plainErrand, samplePoints, stepsWithoutPoint } from './program-subject.ts';
import type { ErrandRecord } from './errand-run.ts';

const { document } = errand(() => undefined);

/** A point of each step that is not a block. */
const POINTS = allSteps(document).map(({ unit, step }) => `before askStep ${unit.name}.${step.name}`);

const ASKS: Ask[] = [
  { told: 'told askStep check.Claim', times: 1, inFlight: false },
  { told: 'told askStep gather.Kind', times: 1, inFlight: true },
];

/** A record with its own ids and times, whose parallel steps are recorded in this order. */
function recordOf(steps: string[] = ['gather.Kind', 'check.Claim']): ErrandRecord {
  const runId = `run-${(runs += 1)}`;
  const events = steps.flatMap((at) =>
    (['start', 'end'] as const).map((type): Event => ({
      id: crypto.randomUUID(),
      executionId: runId,
      timestamp: anyTime(),
      author: at,
      content: [],
      step: { at, kind: 'ask', type, startedAt: anyTime() },
    })),
  );
  const usage = { promptTokens: 1, completionTokens: 1, totalTokens: 2, cachedTokens: 0, reasoningTokens: 0, llmCalls: 1 };
  const result = { runId, status: 'completed', units: [], usage } as unknown as ErrandRecord['result'];
  const span = { name: 'unit:gather', start_time: anyTime(), duration_ms: Math.random(), events: [] };
  return {
    runId,
    result,
    events,
    trace: { program_name: 'errand', backend_name: 'errand', start_time: anyTime(), duration_ms: 1, total_events: 0, spans: [span] },
    children: {},
    waiting: { status: 'pending_confirmation', waitingFor: ['work.Who'] },
    executions: 2,
    effects: [{ effect: 'pack work.Pack[0]', key: `${runId}/k`, acts: 2 }],
    asks: ASKS,
    givenUp: new Map(),
    memory: [{ key: `${runId}/order`, value: 'refund', metadata: {}, timestamp: Math.random(), score: 1 }],
    kills: 1,
  };
}

let runs = 0;

function anyTime(): string {
  return new Date(Date.now() * Math.random()).toISOString();
}

const undisturbed = plainErrand(recordOf());
const HIT = { pass: 'worker', point: 'begin' } as const;

test('the program has steps of every kind', () => {
  expect(new Set(allSteps(document).map(({ step }) => kindOf(step)))).toEqual(new Set(STEP_KINDS));
});

test('a run passes with any order of its parallel steps, and any ids and times', () => {
  expect(undisturbedProblems({ ...recordOf(), kills: 0 }, POINTS)).toEqual([]);
  expect(pointProblems(undisturbed, HIT, recordOf(['check.Claim', 'gather.Kind']))).toEqual([]);
});

test.each<[string, (record: ErrandRecord) => Partial<ErrandRecord>]>([
  ['the worker was killed 2 times, where it should die once, at this point', () => ({ kills: 2 })],
  ['"events" differs:', ({ events }) => ({ events: events.toReversed() })],
  ['"result" differs:', ({ result }) => ({ result: { ...result, status: 'error' } })],
  ['"trace" differs:', ({ trace }) => ({ trace: { ...trace, total_events: 1 } })],
  ['"effects" differs:', () => ({ effects: [] })],
  ['"asks" differs:', ({ asks }) => ({ asks: asks.slice(1) })],
  [
    'the answer at "told askStep check.Claim" was asked for 2 times, not in flight at the kill',
    ({ asks }) => ({ asks: asks.map((ask) => ({ ...ask, times: 2 })) }),
  ],
  [
    'the answer at "told askStep gather.Kind" was asked for 3 times, in flight at the kill',
    ({ asks }) => ({ asks: asks.map((ask) => ({ ...ask, times: ask.inFlight ? 3 : 1 })) }),
  ],
  ['the memory has these entries of the run: []', () => ({ memory: [] })],
  [
    'while it waited for the answer, it said that it is running and waits for: nothing',
    () => ({ waiting: { status: 'running', waitingFor: [] } }),
  ],
])('"%s" is reported for a run with this problem', (problem, broken) => {
  const record = recordOf();
  const problems = pointProblems(undisturbed, HIT, { ...record, ...broken(record) });
  expect(problems.map((text) => text.split('\n')[0])).toEqual([problem]);
});

test('a model call that the server has given up may have been repeated', () => {
  const asks = ASKS.map((ask) => ({ ...ask, times: 3 }));
  const givenUp = new Map(ASKS.map(({ told }) => [told, 2]));
  expect(pointProblems(undisturbed, HIT, { ...recordOf(), asks, givenUp })).toEqual([]);
});

test('an effect with two idempotency keys is reported', () => {
  const record = recordOf();
  const twice = { ...record, effects: ['a', 'b'].map((key) => ({ effect: 'pack work.Pack[0]', key, acts: 1 })) };
  expect(pointProblems(undisturbed, HIT, twice)).toContain('"pack work.Pack[0]" was done with 2 idempotency keys: a, b');
});

test('in a random run, each kill may make one more model call necessary', () => {
  const asked = (times: number): ErrandRecord => ({ ...recordOf(), kills: 2, asks: ASKS.map((ask) => ({ ...ask, times })) });
  expect(randomProblems(undisturbed, asked(3))).toEqual([]);
  expect(randomProblems(undisturbed, asked(4))).toHaveLength(2);
});

test('an undisturbed run must reach a point of each step, which continues as new', () => {
  const record = { ...recordOf(), kills: 0 };
  expect(stepsWithoutPoint(document, ['told askStep work.Part[1]', 'told askStep check.Claim #2'])).not.toContain('work.Part');
  expect(undisturbedProblems(record, POINTS.slice(1))).toEqual(['it has no point in these steps: gather.Known']);
  expect(undisturbedProblems({ ...record, executions: 1 }, POINTS)).toEqual(['it did not continue as new']);
});

test('the sample has a point of each step in the pass of the workers, and a third as many others in the pass of the servers', () => {
  const moments = ['before', 'after', 'told'];
  const points = ['gather.Kind', 'work.Part[0]', 'work.Part[1]', 'check.Claim', 'check.Claim #2', 'close.Send'].flatMap((step) =>
    moments.map((moment) => `${moment} askStep ${step}`),
  );
  const [workers, servers] = [samplePoints(points, 'worker'), samplePoints(points, 'server')];
  expect(workers).toEqual([
    'before askStep gather.Kind',
    'after askStep work.Part[0]',
    'told askStep check.Claim',
    'before askStep close.Send',
  ]);
  expect(servers).toEqual(['after askStep gather.Kind', 'told askStep close.Send']);
});
