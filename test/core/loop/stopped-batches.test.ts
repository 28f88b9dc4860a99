import { describe, expect, it } from 'vitest';
import type { AgentSnapshot } from '../../../src/core/domain/agent/agent-snapshot.ts';
import { INTERRUPTED_CALL } from '../../../src/core/domain/content/tool-text.ts';
import { call, type FakeRun, type FakeScript, type FakeTool, responded, resultsOf, returned, runFake, said } from './fake-ports.ts';
import { sends } from './people.ts';
import { testSnapshot, testTool } from './snapshot.ts';

const DEADLINE_MS = 60_000;
const large = { maxResultBytes: 2_000_000 };

/** Every kind of batch, by the agent that makes one of three calls. The first call never needs a decision. */
const BATCHES: [kind: string, snapshot: AgentSnapshot][] = [
  ['calls that start together', testSnapshot({ tools: [testTool('first'), testTool('then')] })],
  ['calls in sequence', testSnapshot({ parallel: false, tools: [testTool('first'), testTool('then')] })],
  ['calls too large to start together', testSnapshot({ tools: [testTool('first', large), testTool('then', large)] })],
  [
    'calls of which some wait for a decision',
    testSnapshot({ tools: [testTool('first'), testTool('then', { approval: { when: 'always' } })] }),
  ],
  [
    'calls in sequence of which some wait for a decision',
    testSnapshot({ parallel: false, tools: [testTool('first'), testTool('then', { approval: { when: 'always' } })] }),
  ],
  [
    'calls about whose outcome a person may be asked, in sequence',
    testSnapshot({ parallel: false, tools: [testTool('first', { effect: 'once' }), testTool('then')], onUnknownOutcome: 'ask' }),
  ],
  [
    'calls about whose outcome a person may be asked, too large to start together',
    testSnapshot({ tools: [testTool('first', { effect: 'once', ...large }), testTool('then', large)], onUnknownOutcome: 'ask' }),
  ],
];

/** What ends a run or sends it elsewhere. */
const STOPS: [what: string, happens: (run: FakeRun) => unknown, status: string][] = [
  ['a cancellation', (run) => run.cancel(), 'cancelled'],
  ['a message that steers', sends('rather this', 'steer'), 'completed'],
  ['the deadline of the run', ({ world }) => (world.now += DEADLINE_MS), 'max_iterations_reached'],
];

const CASES = BATCHES.flatMap(([kind, snapshot]) => STOPS.map(([what, happens, status]) => ({ kind, snapshot, what, happens, status })));

function script(snapshot: AgentSnapshot, changes: Partial<FakeScript>): FakeScript {
  return {
    snapshot: { ...snapshot, limits: { maxIterations: 10, finalAttempt: false, deadlineMs: DEADLINE_MS } },
    model: [responded([call('c1', 'first'), call('c2', 'then'), call('c3', 'then')]), said('done')],
    ...changes,
  };
}

/** A call that goes on until the deadline of the run. */
const lasting: FakeTool = (_, { world }) => {
  world.now += DEADLINE_MS;
  return returned('ran');
};

describe('calls that have not started', () => {
  it.each(CASES)('are not started after $what that came with their answer: $kind', async ({ snapshot, happens, status }) => {
    const response = responded([call('c1', 'first'), call('c2', 'then'), call('c3', 'then')]);
    const answer: FakeScript['model'][number] = (run) => {
      happens(run);
      return response;
    };
    const run = await runFake(script(snapshot, { model: [answer, said('done')] }));
    expect(run.invocations).toEqual([]);
    expect(resultsOf(run, 1)).toEqual([INTERRUPTED_CALL, INTERRUPTED_CALL, INTERRUPTED_CALL]);
    expect(run.result.status).toBe(status);
  });

  const later = CASES.filter(({ kind }) => kind !== 'calls that start together');
  it.each(later)('are not started after $what that came while the first ran: $kind', async ({ snapshot, happens, status }) => {
    const first: FakeTool = async (_, meanwhile) => {
      await new Promise((resolve) => setImmediate(resolve));
      happens(meanwhile);
      return returned('ran');
    };
    const run = await runFake(script(snapshot, { tools: { first } }));
    expect(run.invocations.map((invocation) => invocation.call.toolCallId)).toEqual(['c1']);
    expect(resultsOf(run, 1)).toEqual(['ran', INTERRUPTED_CALL, INTERRUPTED_CALL]);
    expect(run.result.status).toBe(status);
  });

  const undecided = BATCHES.filter(([, { tools }]) => tools.every(({ approval }) => approval === undefined));
  it.each(undecided)('start after the deadline where a person is asked at limits: %s', async (_, snapshot) => {
    const asking = script(snapshot, { tools: { first: lasting }, people: [({ cancel }) => cancel()] });
    const limits = { ...asking.snapshot.limits, onLimit: 'ask' as const };
    const run = await runFake({ ...asking, snapshot: { ...asking.snapshot, limits } });
    expect(resultsOf(run, 1)).toEqual(['ran', 'then ran', 'then ran']);
  });

  it('start in a run that began before the deadline stopped them', async () => {
    const snapshot = testSnapshot({ parallel: false, tools: [testTool('first'), testTool('then')] });
    const ports: FakeScript['ports'] = { allows: (change) => change !== 'deadline-among-calls' };
    const run = await runFake(script(snapshot, { tools: { first: lasting }, ports }));
    expect(resultsOf(run, 1)).toEqual(['ran', 'then ran', 'then ran']);
    expect(run.result.stopReason).toBe('deadline');
  });
});
