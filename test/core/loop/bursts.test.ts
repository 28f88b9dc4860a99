import * as fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import type { BegunCall, BurstEntry } from '../../../src/core/bursts/burst.ts';
import { burstPorts } from '../../../src/core/bursts/burst-ports.ts';
import { BYTE_BUDGETS, MAX_PAYLOAD_BYTES } from '../../../src/core/domain/byte-budgets.ts';
import { changePermissions } from '../../../src/core/capabilities/permissions.ts';
import type { QueuedMessage } from '../../../src/core/domain/content.ts';
import { DEFAULT_THRESHOLDS } from '../../../src/core/domain/run.ts';
import { BEGINNING, runLoop } from '../../../src/core/kernel/run-loop.ts';
import type { ModelCall, ModelCallOutcome, RunPorts, ToolInvocation, ToolOutcome } from '../../../src/core/kernel/ports.ts';
import { newRunState, type RunState } from '../../../src/core/kernel/run-state.ts';
import { MAX_BYTES_IN_FLIGHT } from '../../../src/core/kernel/tool-scheduler.ts';
import { call, called, quietPorts, returned, said, tokens } from './fakes/fake-ports.ts';
import { Inbox } from '../../../src/core/kernel/inbox.ts';
import { testSnapshot, testTool } from './fakes/snapshot.ts';
import { type ChainedRun, chainedRun, type ContinueDue } from './generated-runs/chained-run.ts';
import { plannedRun } from './generated-runs/planned-run.ts';
import { propertyRuns } from '../../property-runs.ts';

const NEVER: ContinueDue = () => false;

const BOUNDED: fc.Parameters<unknown> = { timeout: 15_000, interruptAfterTimeLimit: 90_000, markInterruptAsFailure: true };

/** Something that happens at random points, over and over. */
const somewhere = fc.array(fc.boolean(), { minLength: 1, maxLength: 40 });

function at(points: boolean[]): () => boolean {
  let index = 0;
  return () => points[index++ % points.length] ?? false;
}

/** Generated runs whose model calls are cancelled only together with the run. */
const uncancelled = plannedRun.map((plan) => ({
  ...plan,
  turns: plan.turns.map((turn) => (turn.type === 'cancelled' ? { ...turn, type: 'response' as const } : turn)),
}));

/** Leaves out what names events: a run in bursts has other ids. */
function withoutIds(value: unknown): unknown {
  return JSON.parse(
    JSON.stringify(value, (key, one: unknown) => (['id', 'lastEventId', 'timestamp', 'resultIds'].includes(key) ? undefined : one)),
  );
}

function recorded({ events, steps, result: { steps: _, ...result }, actors }: ChainedRun): unknown {
  const { requests, summaries, invocations } = actors;
  return withoutIds({ events, steps, result, requests, summaries, invocations });
}

describe('a run in bursts', { timeout: 120_000 }, () => {
  it.each([1, 2, 3, 16])('of %d steps records the same, sends the same requests and makes the same calls', (steps) =>
    fc.assert(
      fc.asyncProperty(uncancelled, somewhere, somewhere, fc.boolean(), async (plan, lost, full, continues) => {
        const whole = await chainedRun(plan, NEVER);
        const bursts = await chainedRun(plan, continues ? at(full) : NEVER, { bursts: { steps, isLost: at(lost) } });
        expect(recorded(bursts)).toEqual(recorded(whole));
      }),
      { ...BOUNDED, numRuns: propertyRuns(60) },
    ),
  );
});

/** A run that has just begun, with a tool, and with a clock that stands still. */
function newRun(agent: Parameters<typeof testSnapshot>[0] = {}): { clock: Pick<RunPorts, 'now' | 'uuid'>; state: RunState } {
  let ids = 0;
  const clock = { now: () => 1_000, uuid: () => `event-${(ids += 1)}` };
  const snapshot = testSnapshot({ tools: [testTool('t', { maxAttempts: 3 })], ...agent });
  return { clock, state: newRunState({ runId: 'r', snapshot, startedAt: 0, input: 'Q' }, clock) };
}

/** A run whose burst has made these calls. */
async function runWith(entries: BurstEntry[]): Promise<{ error: unknown; state: ReturnType<typeof newRunState>; asked: string[] }> {
  const { clock, state } = newRun({ burst: { steps: 16, bytes: 32_000, seconds: 2 } });
  const asked: string[] = [];
  const plain = {
    ...quietPorts(),
    ...clock,
    callModel: async () => {
      asked.push('model');
      return said('by the run');
    },
    runTool: async () => {
      asked.push('tool');
      return returned('by the run');
    },
  };
  let isFirst = true;
  const { ports, end } = burstPorts(plain, {
    state: () => state,
    make: () => {
      if (!isFirst) return undefined;
      isFirst = false;
      return Promise.resolve({ record: { entries }, seed: '00000000-0000-4000-8000-000000000000', begunAt: 500 });
    },
    continueModelCall: plain.callModel,
    continueTool: plain.runTool,
    settled: () => new Promise((resolve) => setImmediate(resolve)),
    growth: () => 0,
  });
  const error = await runLoop(state, ports, BEGINNING).then(
    () => {
      try {
        end();
        return undefined;
      } catch (thrown) {
        return thrown;
      }
    },
    (thrown: unknown) => thrown,
  );
  return { error, state, asked };
}

test.each<[what: string, left: (through: number) => BegunCall[]]>([
  ['have made no call', () => []],
  ['have left their first call', (through) => [{ key: `m${through}`, attempts: 1 }]],
])('after bursts that %s, the next one is tried after one call, after two, four, and so on', async (_, left) => {
  const { clock, state } = newRun({ limits: { steps: 100, finalAttempt: false } });
  const made: string[] = [];
  const calls = (): number => made.filter((one) => one === 'call').length;
  const plain = {
    ...quietPorts(),
    ...clock,
    callModel: async () => {
      made.push('call');
      return calls() === 30 ? said('done') : called(call(`c${calls()}`, 't'));
    },
    runTool: async () => returned('found'),
  };
  const { ports } = burstPorts(plain, {
    state: () => state,
    make: ({ through }) => {
      made.push('burst');
      return Promise.resolve({
        record: { entries: [], left: left(through) },
        seed: `00000000-0000-4000-8000-${String(through).padStart(12, '0')}`,
        begunAt: 500,
      });
    },
    continueModelCall: plain.callModel,
    continueTool: plain.runTool,
    settled: () => new Promise((resolve) => setImmediate(resolve)),
    growth: () => 0,
  });
  await runLoop(state, ports, BEGINNING);
  const single = (count: number): string[] => Array.from({ length: count }, () => 'call');
  // The first single call is the call that the burst should have made.
  const expected = [2, 3, 5, 9, 11].flatMap((count) => ['burst', ...single(count)]);
  expect(made).toEqual(expected);
});

test.each<[what: string, left: BegunCall[] | undefined, paid: number]>([
  ['was left', [{ key: 'm1', attempts: 1 }], 0],
  ['was left and has cost something', [{ key: 'm1', attempts: 1, details: { spent: { reported: tokens(10, 5) } } }], 15],
  ['was not begun', [], 0],
  ['is lost with its burst', undefined, 0],
])('a call that %s is not made if a message has interrupted it: the next one has the message', async (_, left, paid) => {
  const { clock, state } = newRun();
  const asked: number[] = [];
  const plain = {
    ...quietPorts(),
    ...clock,
    callModel: async ({ through }: ModelCall) => {
      asked.push(through);
      return said('done');
    },
    runTool: async () => returned('found'),
  };
  let isFirst = true;
  const { ports } = burstPorts(plain, {
    state: () => state,
    make: async () => {
      if (!isFirst) return undefined;
      isFirst = false;
      plain.inbox.add({ id: 'i', content: 'rather this', mode: 'interrupt' } as QueuedMessage);
      return left && { record: { entries: [], left }, seed: '00000000-0000-4000-8000-000000000000', begunAt: 500 };
    },
    continueModelCall: plain.callModel,
    continueTool: plain.runTool,
    settled: () => new Promise((resolve) => setImmediate(resolve)),
    growth: () => 0,
  });
  await runLoop(state, ports, BEGINNING);
  expect(asked).toEqual([paid === 0 ? 2 : 3]);
  expect(state.usage.totalTokens).toBe(paid);
});

describe('a tool call that a burst has begun and left is completed, and others are not begun,', () => {
  const single = [call('c1', 't')];
  const two = [call('c1', 't'), call('c2', 't')];
  const sequence = [call('c1', 't'), call('c2', 't'), call('c3', 't')];
  const first: BurstEntry = { at: 20, key: 't1/0', tool: { ...returned('found'), resultId: 'result-1' } as ToolOutcome };

  const steers = (inbox: Inbox): void => void inbox.add({ id: 'i', content: 'rather this', mode: 'steer' } as QueuedMessage);
  const denies = (inbox: Inbox): void => {
    const permissions = { mode: 'default' as const, deny: [{ tool: 't' }] };
    changePermissions(inbox, { id: 'p', permissions, by: null, at: '2026-01-01T00:00:00.000Z' });
  };

  interface Left {
    calls: typeof single;
    ended?: BurstEntry[];
    left: string;
    completed: string[];
    parallel?: boolean;
  }

  test.each<[what: string, meanwhile: (inbox: Inbox) => void, notRun: string, left: Left]>([
    ['a message steers the run: alone', steers, 'not_started', { calls: single, left: 't1/0', completed: ['c1'] }],
    [
      'a message steers the run: in a sequence',
      steers,
      'not_started',
      { calls: sequence, ended: [first], left: 't1/1', completed: ['c2'] },
    ],
    ['permissions deny it: alone', denies, 'refused', { calls: single, left: 't1/0', completed: ['c1'] }],
    ['permissions deny it: beside another', denies, 'refused', { calls: two, left: 't1/1', completed: ['c2'], parallel: true }],
    ['permissions deny it: in a sequence', denies, 'refused', { calls: sequence, ended: [first], left: 't1/1', completed: ['c2'] }],
  ])('if meanwhile %s', async (_, meanwhile, notRun, { calls, ended = [], left, completed, parallel = false }) => {
    const { clock, state } = newRun({ parallel });
    const made: string[] = [];
    const plain = {
      ...quietPorts(),
      ...clock,
      inbox: new Inbox(),
      callModel: async () => said('done'),
      runTool: async ({ call: { toolCallId } }: ToolInvocation) => {
        made.push(`${toolCallId} anew`);
        return returned('found');
      },
    };
    let isFirst = true;
    const { ports } = burstPorts(plain, {
      state: () => state,
      make: async () => {
        if (!isFirst) return undefined;
        isFirst = false;
        meanwhile(plain.inbox);
        const { response } = called(...calls) as Extract<ModelCallOutcome, { type: 'response' }>;
        const entries: BurstEntry[] = [{ at: 10, key: 'm1', model: { type: 'response', response } }, ...ended];
        return { record: { entries, left: [{ key: left, attempts: 1 }] }, seed: '00000000-0000-4000-8000-000000000000', begunAt: 500 };
      },
      continueModelCall: plain.callModel,
      continueTool: async ({ call: { toolCallId } }) => {
        made.push(toolCallId);
        return returned('found');
      },
      settled: () => new Promise((resolve) => setImmediate(resolve)),
      growth: () => 0,
    });
    await runLoop(state, ports, BEGINNING);
    expect(made).toEqual(completed);
    const isRun = ({ callId }: { callId: string }): boolean => completed.includes(callId) || (ended.length > 0 && callId === 'c1');
    expect(state.steps[0]?.toolCalls.map((one) => [one.callId, one.notRun])).toEqual(
      calls.map(({ toolCallId: callId }) => [callId, isRun({ callId }) ? undefined : notRun]),
    );
  });
});

test('before a burst, its bytes count in addition to what counts before any call', async () => {
  const snapshot = testSnapshot();
  const clock = { now: () => 1_000, uuid: () => 'event' };
  const state = newRunState({ runId: 'r', snapshot, startedAt: 0, input: 'Q' }, clock);
  const asked: { events: number; bytes: number }[] = [];
  const plain = {
    ...quietPorts(),
    ...clock,
    callModel: async () => said('done'),
    runTool: async () => returned('found'),
    continueDue: (growth: { events: number; bytes: number }) => {
      asked.push(growth);
      return false;
    },
  };
  const { ports } = burstPorts(plain, {
    state: () => state,
    make: () => undefined,
    continueModelCall: plain.callModel,
    continueTool: plain.runTool,
    settled: () => Promise.resolve(),
    growth: () => 32_000,
  });
  await runLoop(state, ports, BEGINNING);
  expect(asked[0]).toEqual({ events: 6, bytes: 35_000 });
});

const MIB = 1024 * 1024;

test.each<[what: string, begun: { events: number; bytes: number }]>([
  ['the thresholds of a worker', DEFAULT_THRESHOLDS],
  // Larger thresholds change nothing: a suggestion always counts.
  ['the size where the server suggests continue-as-new', { events: 4_096, bytes: 4 * MIB }],
])("a burst that begins just below %s ends at less than a third of the server's limit", (_, begun) => {
  const payload = 2 * MIB;
  expect(MAX_PAYLOAD_BYTES).toBeLessThan(payload);
  // Its input, its outcomes, and the outcomes that the run has looked up because a request has come.
  const burst = { events: 3 + 1 + 6, bytes: 3 * payload };
  // An answer, and the results of its calls, this many bytes of which may be in flight: before any further call, the run checks again.
  const lastTask = {
    events: 6 * (1 + MAX_BYTES_IN_FLIGHT / BYTE_BUDGETS.toolResult),
    bytes: BYTE_BUDGETS.modelResponse + MAX_BYTES_IN_FLIGHT,
  };
  expect(begun.bytes + burst.bytes + lastTask.bytes).toBeLessThan((50 * MIB) / 3);
  expect(begun.events + burst.events + lastTask.events).toBeLessThan(51_200 / 3);
});

const first: BurstEntry = { at: 1, key: 'm1', model: called(call('c1', 't')) };
const result: BurstEntry = { at: 2, key: 't1/0', tool: returned('by the burst') };
const answer: BurstEntry = { at: 3, key: 'm3', model: said('done', { usage: tokens(10, 5) }) };

test.each<[what: string, entries: BurstEntry[], asked: string[]]>([
  ['all calls', [first, result, answer], []],
  ['the calls up to the last', [first, result], ['model']],
  ['one call', [first], ['tool', 'model']],
  ['no call', [], ['model']],
])('the run makes the calls that a burst has not made: %s', async (_, entries, expected) => {
  const { error, asked } = await runWith(entries);
  expect(error).toBeUndefined();
  expect(asked).toEqual(expected);
});

test("after a burst whose clock is ahead of the run's clock, times do not go back", async () => {
  const { state } = await runWith([{ ...first, at: 2_000 }]);
  const times = state.context.events.map(({ timestamp }) => Date.parse(timestamp));
  expect(times).toEqual([0, 2_500, 2_500, 2_500]);
});

test.each<[what: string, entries: BurstEntry[], names: string, paid: number]>([
  ['a call too much', [first, result, answer, { ...answer, key: 'm9' }], 'the model call after 9 events', 30],
  ['another tool call', [first, { ...result, key: 't1/7' }, answer], 'tool call 1/7, whose effect is unknown', 15],
  ['no first call', [result, answer], 'the model call after 3 events', 15],
  ['the same twice', [first, result, result, answer], 'tool call 1/0', 15],
])('an outcome that the run does not ask for ends it, and its cost is recorded: %s', async (_, entries, names, paid) => {
  const { error, state } = await runWith(entries);
  expect(error).toMatchObject({ code: 'internal', message: expect.stringContaining(names) as string });
  expect(state.usage.totalTokens).toBe(paid);
});

describe('attempts with the same outcomes name the events of the run the same, and attempts with others do not', () => {
  const resultOf = (text: string, resultId?: string): ToolOutcome => ({
    ...returned(text),
    ...(resultId === undefined ? {} : { resultId }),
  });
  const idsAfter = async (one: ToolOutcome, answered: ModelCallOutcome, other: ToolOutcome): Promise<(string | undefined)[]> => {
    const { events } = (
      await runWith([first, { at: 2, key: 't1/0', tool: one }, { at: 3, key: 'm3', model: answered }, { at: 4, key: 't3/0', tool: other }])
    ).state.context;
    return [events[2]?.id, events[4]?.id];
  };
  const second = called(call('c2', 't'));

  it.each<[what: string, one: ToolOutcome, further: ToolOutcome, other: ToolOutcome]>([
    ['by the content of results without an id', resultOf('found'), resultOf('the same'), resultOf('by another attempt')],
    ['by the ids of results', resultOf('found', 'x8dJ2n4a'), resultOf('the same', 'Qm3-_0zB'), resultOf('found', 'y9eK3o5b')],
  ])('%s', async (_, one, further, other) => {
    const ids = await idsAfter(one, second, further);
    expect(new Set(ids).size).toBe(2);
    expect(await idsAfter(one, second, further)).toEqual(ids);
    expect((await idsAfter(other, second, further))[0]).not.toBe(ids[0]);
    // Equal results after another answer.
    expect((await idsAfter(one, called(call('c2', 't')), further))[1]).not.toBe(ids[1]);
  });
});
