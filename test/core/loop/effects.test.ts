import { describe, expect, it } from 'vitest';
import type { AgentSnapshot } from '../../../src/core/domain/agent.ts';
import { INTERRUPTED_CALL, notHappened, RUNNING_CALL, unknownOutcome } from '../../../src/core/domain/tool-calls.ts';
import { approvalViews } from '../../../src/core/queries/run-views.ts';
import type { RunPorts, ToolOutcome } from '../../../src/core/kernel/ports.ts';
import { call, called, type FakeScript, type FakeTool, resultsOf, returned, runFake, said } from './fakes/fake-ports.ts';
import { about, approves, refusal, rejects, responds, sends, together } from './fakes/callers.ts';
import { testSnapshot, testTool } from './fakes/snapshot.ts';
import { eventSummaries } from './fakes/event-summaries.ts';

const LOST: ToolOutcome = { type: 'lost', reason: 'its worker was lost' };
const pay = testTool('pay', { effect: 'once' });
const UNKNOWN = unknownOutcome('pay', 'its worker was lost');

function paying(changes: Partial<FakeScript> = {}): FakeScript {
  return {
    snapshot: testSnapshot({ tools: [pay, testTool('look')] }),
    model: [called(call('c1', 'pay')), said('done')],
    tools: { pay: () => LOST },
    ...changes,
  };
}

describe('a call with effect `once` whose answer is lost', () => {
  it('is not started again, and the model reads that its outcome is unknown', async () => {
    const run = await runFake(paying());
    expect(run.invocations).toHaveLength(1);
    expect(run.steps[0]?.toolCalls).toMatchObject([{ callId: 'c1', result: UNKNOWN, isError: true, durationMs: null }]);
    expect(run.result.status).toBe('completed');
  });

  it('is told to operators once, unless its tool knows the outcome', async () => {
    const told: string[] = [];
    const outcomeUnknown: RunPorts['outcomeUnknown'] = ({ call: { toolCallId } }, reason) => void told.push(`${toolCallId}: ${reason}`);
    const verifying = testSnapshot({ tools: [{ ...pay, verify: true }] });
    await runFake(paying({ snapshot: verifying, ports: { outcomeUnknown, verify: async () => returned('paid') } }));
    expect(told).toEqual([]);
    await runFake(paying({ ports: { outcomeUnknown } }));
    await runFake(paying({ snapshot: verifying, ports: { outcomeUnknown, verify: async () => LOST } }));
    expect(told).toEqual(['c1: its worker was lost', 'c1: its worker was lost']);
  });

  it('has the result that its tool verifies', async () => {
    const asked: string[] = [];
    const run = await runFake(
      paying({
        snapshot: testSnapshot({ tools: [{ ...pay, verify: true }] }),
        ports: {
          verify: async ({ call: { toolCallId } }) => {
            asked.push(toolCallId);
            return returned('paid');
          },
        },
      }),
    );
    expect(resultsOf(run, 1)).toEqual(['paid']);
    expect(asked).toEqual(['c1']);
  });

  it('is marked as verified, with the reason, in whichever execution its step is recorded', async () => {
    const reasons: string[] = [];
    const run = await runFake(
      paying({
        snapshot: testSnapshot({ parallel: false, tools: [{ ...pay, verify: true }, testTool('look')] }),
        model: [called(call('c1', 'pay'), call('c2', 'look')), said('done')],
        continueDue: ({ invocations, positions }) => invocations.length === 1 && positions.length === 0,
        ports: {
          verify: async (_, reason) => {
            reasons.push(reason);
            return { ...(returned('paid') as ToolOutcome & { type: 'result' }), verified: { happened: true, reason } };
          },
        },
      }),
    );
    expect(reasons).toEqual(['its worker was lost']);
    expect(run.positions).toHaveLength(1);
    expect(run.steps[0]?.toolCalls.map(({ callId, verified }) => [callId, verified])).toEqual([
      ['c1', { happened: true, reason: 'its worker was lost' }],
      ['c2', undefined],
    ]);
  });

  it('may be started again if its tool verifies that it had no effect', async () => {
    const gone: ToolOutcome = { type: 'result', status: 'error', content: [notHappened('pay')], durationMs: null };
    const snapshot = testSnapshot({ tools: [{ ...pay, verify: true }] });
    const run = await runFake(paying({ snapshot, ports: { verify: async () => gone } }));
    expect(resultsOf(run, 1)).toEqual([notHappened('pay')]);
  });

  it('has an unknown outcome if its tool cannot verify it', async () => {
    const snapshot = testSnapshot({ tools: [{ ...pay, verify: true }] });
    const run = await runFake(paying({ snapshot, ports: { verify: async () => LOST } }));
    expect(resultsOf(run, 1)).toEqual([UNKNOWN]);
  });
});

describe('a person who is asked about the outcome of a call', () => {
  const snapshot = testSnapshot({ tools: [pay, testTool('look')], onUnknownOutcome: 'ask' });

  it('can give its result', async () => {
    const run = await runFake(
      paying({
        snapshot,
        model: [called(call('c1', 'pay'), call('c2', 'look')), said('done')],
        callers: [responds('c1', 'paid on Monday')],
      }),
    );
    expect(resultsOf(run, 1)).toEqual(['paid on Monday', 'look ran']);
    expect(run.invocations.map(({ call: { toolCallId } }) => toolCallId)).toEqual(['c1', 'c2']);
    expect(eventSummaries(run)).toContain('so far: c2 gave "look ran"');
  });

  it('can answer that the outcome is unknown', async () => {
    const run = await runFake(paying({ snapshot, callers: [rejects('c1', { reason: 'The bank is closed.' })] }));
    expect(resultsOf(run, 1)).toEqual([`${UNKNOWN} The bank is closed.`]);
  });

  it('reads how the answer was lost', async () => {
    const run = await runFake(
      paying({
        snapshot,
        callers: [
          ({ state }) =>
            expect(approvalViews(state)).toEqual([
              expect.objectContaining({
                reason:
                  'The call was started and its answer was lost (its worker was lost). Find out whether it took effect, and respond with its result, or reject.',
              }),
            ]),
          responds('c1', 'paid'),
        ],
      }),
    );
    expect(run.result.status).toBe('completed');
  });

  it('cannot let it start again', async () => {
    await runFake(
      paying({
        snapshot,
        callers: [
          (run) =>
            expect(refusal(run, 'approve', about(run, 'c1'))).toMatchObject({ message: expect.stringContaining('never started again') }),
          responds('c1', 'paid'),
        ],
      }),
    );
  });

  it('is asked in the next execution too, and the call does not start there', async () => {
    const run = await runFake(
      paying({
        snapshot,
        continueDue: ({ state, positions }) => state.approvals.pending.length > 0 && positions.length === 0,
        callers: [responds('c1', 'paid')],
      }),
    );
    expect(run.positions).toHaveLength(1);
    expect(run.invocations).toHaveLength(1);
    expect(run.steps.at(0)?.toolCalls).toMatchObject([{ result: 'paid', isError: false }]);
  });

  describe('in the next execution', () => {
    const continueDue: FakeScript['continueDue'] = ({ state, positions }) => state.approvals.pending.length > 0 && positions.length === 0;

    it('a call has an unknown outcome if the run is cancelled before anything else', async () => {
      const run = await runFake(
        paying({
          snapshot,
          continueDue: (fake) => {
            const isDue = continueDue(fake);
            if (isDue) fake.cancel();
            return isDue;
          },
        }),
      );
      expect(run.result.status).toBe('cancelled');
      expect(resultsOf(run, 1)).toEqual([UNKNOWN]);
    });

    it.each([{}, { onLimit: 'ask' as const }])('a call that used up the limits is verified: %j', async (atLimit) => {
      const limits = { steps: 10, finalAttempt: false, toolCalls: 1, ...atLimit };
      const run = await runFake(paying({ snapshot: { ...snapshot, limits }, continueDue, callers: [responds('c1', 'paid')] }));
      expect(run.positions).toHaveLength(1);
      expect(run.invocations).toHaveLength(1);
      expect(resultsOf(run, 1)).toEqual(['paid']);
      expect(run.result.status).toBe('completed');
    });
  });

  it('a call that was approved before is verified', async () => {
    const approved = testSnapshot({ tools: [{ ...pay, approval: { when: 'always' } }], onUnknownOutcome: 'ask' });
    const run = await runFake(paying({ snapshot: approved, callers: [approves('c1'), responds('c1', 'paid', { id: 'second' })] }));
    expect(resultsOf(run, 1)).toEqual(['paid']);
    expect(run.invocations).toHaveLength(1);
  });

  it('the verification gets the arguments that the call was started with', async () => {
    const approved = testSnapshot({ tools: [{ ...pay, approval: { when: 'always' } }], onUnknownOutcome: 'ask' });
    await runFake(
      paying({
        snapshot: approved,
        model: [called(call('c1', 'pay', { amount: 1_000 })), said('done')],
        callers: [
          approves('c1', { arguments: { amount: 10 } }),
          ({ state }) => expect(approvalViews(state)).toMatchObject([{ kind: 'outcome', arguments: { amount: 10 } }]),
          responds('c1', 'paid', { id: 'second' }),
        ],
      }),
    );
  });

  it('the person is not waited for after a message that steers', async () => {
    const run = await runFake(paying({ snapshot, model: [called(call('c1', 'pay')), said('done')], callers: [sends('Stop', 'steer')] }));
    expect(resultsOf(run, 1)).toEqual([UNKNOWN]);
  });

  it('the person has until the deadline of the agent, which approves nothing', async () => {
    const run = await runFake(paying({ snapshot: { ...snapshot, approvals: { deadlineMs: 60_000, onDeadline: 'approve' } }, callers: [] }));
    expect(resultsOf(run, 1)).toEqual([`${UNKNOWN} nobody decided before the deadline`]);
  });

  it('the person is asked about each call of a response separately', async () => {
    const run = await runFake(
      paying({
        snapshot,
        model: [called(call('c1', 'pay'), call('c2', 'pay')), said('done')],
        callers: [together(responds('c2', 'second'), responds('c1', 'first'))],
      }),
    );
    expect(resultsOf(run, 1)).toEqual(['first', 'second']);
  });
});

describe('a call that was running when its run was cancelled', () => {
  const cancels: FakeTool = (_, { cancel }) => {
    cancel();
    return { type: 'cancelled' };
  };
  const decided = testTool('pay', { approval: { when: 'always' } });

  it.each<[string, Partial<AgentSnapshot>, FakeScript['callers']]>([
    ['happens once', { tools: [pay] }, []],
    ['happens once and can be looked up', { tools: [{ ...pay, verify: true }] }, []],
    ['is idempotent', { tools: [testTool('pay')] }, []],
    ['was approved', { tools: [decided] }, [approves('c1')]],
    ['is one whose outcome a person may be asked about', { tools: [pay], onUnknownOutcome: 'ask' }, []],
  ])('is never reported as not executed: it %s', async (_, changes, callers = []) => {
    const run = await runFake({
      snapshot: testSnapshot({ parallel: false, ...changes }),
      model: [called(call('c1', 'pay'), call('c2', 'pay'))],
      tools: { pay: cancels },
      callers,
    });
    expect(run.result.status).toBe('cancelled');
    expect(resultsOf(run, 1)).toEqual([RUNNING_CALL, INTERRUPTED_CALL]);
    expect(run.steps[0]?.toolCalls[0]).toMatchObject({ isError: true, durationMs: null });
  });

  it('keeps the result that it still gave', async () => {
    const gives: FakeTool = (_, { cancel }) => {
      cancel();
      return returned('paid');
    };
    const run = await runFake(paying({ tools: { pay: gives } }));
    expect(resultsOf(run, 1)).toEqual(['paid']);
  });

  it('is unknown for another reason if its answer had been lost before', async () => {
    const snapshot = testSnapshot({ tools: [{ ...pay, verify: true }] });
    let cancel = (): void => undefined;
    const run = await runFake(
      paying({
        snapshot,
        tools: {
          pay: (_, fake) => {
            ({ cancel } = fake);
            return LOST;
          },
        },
        ports: {
          verify: async () => {
            cancel();
            return { type: 'cancelled' };
          },
        },
      }),
    );
    expect(resultsOf(run, 1)).toEqual([UNKNOWN]);
  });
});
