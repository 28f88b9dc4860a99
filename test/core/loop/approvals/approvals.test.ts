import { describe, expect, it } from 'vitest';
import { INTERRUPTED_CALL, RUNNING_CALL } from '../../../../src/core/domain/tool-calls.ts';
import type { RunState } from '../../../../src/core/kernel/run-state.ts';
import { approvalAgent as snapshot, asks } from './approval-tools.ts';
import { call, called, delivery, message, responded, resultsOf, returned, runFake, said } from '../fakes/fake-ports.ts';
import { about, approves, pauses, rejects, resumes, responds, sends, together, update } from '../fakes/callers.ts';
import { testSnapshot, testTool } from '../fakes/snapshot.ts';
import { eventSummaries } from '../fakes/event-summaries.ts';

describe('a call that needs a decision', () => {
  it('waits, while the other calls of its response run and are recorded', async () => {
    const run = await runFake({
      snapshot,
      model: [asks({ c1: {} }, call('c1', 'paid'), call('c2', 'free')), said('done')],
      callers: [
        (waiting) => {
          expect(waiting.state).toMatchObject({ status: 'pending_confirmation', context: { currentStep: 0 }, phase: 'tools' });
          expect(waiting.invocations.map(({ call: { toolCallId } }) => toolCallId)).toEqual(['c2']);
          update(waiting, 'approve', about(waiting, 'c1'));
        },
      ],
    });
    expect(eventSummaries(run)).toEqual([
      'user: Q',
      'paid(c1), free(c2)',
      'so far: c2 gave "free ran"',
      'approve c1 by ann',
      'c1 gave "paid ran"',
      'assistant: done',
    ]);
    expect(run.result).toMatchObject({ status: 'completed', stepsUsed: 2, toolCallsTotal: 2 });
    expect(resultsOf(run, 1)).toEqual(['paid ran', 'free ran']);
    expect(run.modelCalls.map(({ step }) => step)).toEqual([1, 2]);
  });

  it('is a call whose tool or recorded predicate requires one, and no other', async () => {
    const run = await runFake({
      snapshot,
      model: [asks({ c3: {} }, call('c1', 'maybe'), call('c2', 'paid'), call('c3', 'maybe')), said('done')],
      callers: [
        ({ state }) => expect(state.approvals.pending.map(({ callId }) => callId)).toEqual(['c2', 'c3']),
        together(approves('c2'), approves('c3')),
      ],
    });
    expect(run.invocations.map(({ call: { toolCallId } }) => toolCallId)).toEqual(['c1', 'c2', 'c3']);
  });

  it('shows its tool, the time since when it waits, and the reason', async () => {
    const terms = { reason: 'over the limit', deadlineMs: 60_000 };
    await runFake({
      snapshot,
      model: [asks({ c1: terms }, call('c1', 'maybe', { amount: 9 })), said('done')],
      callers: [
        ({ state }) =>
          expect(state.approvals.pending).toEqual([
            {
              kind: 'tool',
              callId: 'c1',
              toolName: 'maybe',
              digest: 'of c1',
              key: `${state.context.events[1]?.id}/0`,
              step: 1,
              requestedAt: 1_700_000_000_000,
              deadlineAt: 1_700_000_060_000,
              onDeadline: 'reject',
              reason: 'over the limit',
            },
          ]),
        approves('c1'),
      ],
    });
  });

  it('does not wait if the model made a mistake: it is answered at once', async () => {
    const problems = { c1: 'does not fit' };
    const run = await runFake({
      snapshot,
      model: [responded([call('c1', 'paid'), call('c2', 'nope')], { problems }), said('done')],
    });
    expect(resultsOf(run, 1)).toEqual(['does not fit', "Tool 'nope' not found in agent's tool list"]);
  });

  it('waits for its turn if calls must not overlap, and does not delay the calls after it', async () => {
    let running = 0;
    const alone = async (): Promise<ReturnType<typeof returned>> => {
      expect((running += 1)).toBe(1);
      await new Promise((resolve) => setImmediate(resolve));
      running -= 1;
      return returned('ran');
    };
    const run = await runFake({
      snapshot,
      model: [called(call('c1', 'paid'), call('c2', 'lonely'), call('c3', 'paid'), call('c4', 'lonely')), said('done')],
      tools: { paid: alone, lonely: alone },
      callers: [together(approves('c3'), approves('c1'))],
    });
    expect(run.invocations.map(({ call: { toolCallId } }) => toolCallId)).toEqual(['c2', 'c4', 'c1', 'c3']);
  });

  it('starts as soon as it is approved, even if other calls still run', async () => {
    const slow = delivery();
    const states: string[] = [];
    const run = await runFake({
      snapshot,
      model: [called(call('c1', 'paid'), call('c2', 'free')), said('done')],
      tools: {
        free: (_, one) => {
          setImmediate(() => {
            update(one, 'approve', about(one, 'c1'));
            one.scheduler.notify();
          });
          return slow.outcome;
        },
        paid: (_, one) => {
          states.push(one.state.status);
          slow.deliver(returned('late'));
          return returned('early');
        },
      },
    });
    expect(resultsOf(run, 1)).toEqual(['early', 'late']);
    expect(eventSummaries(run).filter((line) => line.startsWith('so far'))).toEqual([]);
  });
});

describe('a decision', () => {
  const model = [called(call('c1', 'paid', { amount: 9 })), said('done')];

  it('runs the call with edited arguments, which are in the step, and the call stays as the model wrote it', async () => {
    const run = await runFake({ snapshot, model, callers: [approves('c1', { arguments: { amount: 1 } })] });
    expect(run.invocations[0]).toMatchObject({ call: { toolCallId: 'c1', arguments: { amount: 1 } }, edited: true });
    expect(run.steps[0]?.toolCalls[0]).toMatchObject({ arguments: { amount: 1 }, isError: false });
    expect(run.events[1]?.content).toEqual([call('c1', 'paid', { amount: 9 })]);
    expect(run.events[2]?.decision).toMatchObject({ type: 'approve', arguments: { amount: 1 }, by: 'ann', source: 'update' });
  });

  it('tells the model beside the result which arguments the approver chose', async () => {
    const run = await runFake({ snapshot, model, callers: [approves('c1', { arguments: { amount: 1 } })] });
    expect(run.events[3]?.content).toEqual([
      {
        type: 'tool_result',
        toolCallId: 'c1',
        name: 'paid',
        status: 'success',
        content: ['paid ran'],
        notes: ['the approver changed its arguments before it ran: {"amount":1}'],
      },
    ]);
    expect(run.modelCalls[1]).not.toHaveProperty('resultIds');
  });

  it('tells the model nothing about arguments that the approver sent back as they were', async () => {
    const run = await runFake({ snapshot, model, callers: [approves('c1', { arguments: { amount: 9 } })] });
    expect(run.events[3]?.content[0]).not.toHaveProperty('notes');
  });

  it('tells the model nothing about arguments of a call that did not run after all', async () => {
    const denied = testSnapshot({ tools: snapshot.tools, permissions: [{ mode: 'default' }] });
    const run = await runFake({
      snapshot: denied,
      model,
      callers: [
        (waiting) => {
          update(waiting, 'approve', { ...about(waiting, 'c1'), arguments: { amount: 1 } });
          waiting.state.snapshot = { ...waiting.state.snapshot, permissions: [{ mode: 'default', deny: [{ tool: 'paid' }] }] };
        },
      ],
    });
    expect(run.steps[0]?.toolCalls[0]).toMatchObject({ notRun: 'refused' });
    expect(run.events[3]?.content[0]).not.toHaveProperty('notes');
  });

  it('shows the model the arguments of the approver, and not what a hook wrote into them', async () => {
    const run = await runFake({
      snapshot,
      model: [responded([call('c1', 'paid', { amount: 9 })], { rewrites: { c1: { amount: 9, tenant: 't7' } } }), said('done')],
      callers: [approves('c1', { arguments: { amount: 1, tenant: 't7' } })],
    });
    expect(run.invocations[0]).toMatchObject({ call: { arguments: { amount: 1, tenant: 't7' } } });
    expect(run.events[3]?.content).toMatchObject([{ notes: ['the approver changed its arguments before it ran: {"amount":1}'] }]);
  });

  it('cuts a note about large arguments', async () => {
    const run = await runFake({ snapshot, model, callers: [approves('c1', { arguments: { amount: 1, note: 'x'.repeat(20_000) } })] });
    const [result] = run.events[3]?.content ?? [];
    expect(JSON.stringify(result).length).toBeLessThan(11_000);
    expect(result).toMatchObject({ content: ['paid ran'], notes: [expect.stringMatching(/bytes are missing\]$/)] });
  });

  it('runs the call unchanged, and the tool can see the decision', async () => {
    const run = await runFake({ snapshot, model, callers: [approves('c1')] });
    expect(run.invocations[0]?.call.arguments).toEqual({ amount: 9 });
    expect(run.invocations[0]).not.toHaveProperty('edited');
  });

  it.each([
    [{}, 'User denied the tool execution.'],
    [{ reason: 'too much' }, 'User denied the tool execution. Reason: too much'],
  ])('rejects the call with %j, which the model reads', async (more, text) => {
    const run = await runFake({ snapshot, model, callers: [rejects('c1', more)] });
    expect(run.invocations).toEqual([]);
    expect(run.steps[0]?.toolCalls).toMatchObject([{ result: text, isError: true, durationMs: null }]);
    expect(run.result.status).toBe('completed');
  });

  it('answers the call in place of the tool', async () => {
    const run = await runFake({ snapshot, model, callers: [responds('c1', { paid: 3 })] });
    expect(run.invocations).toEqual([]);
    expect(run.events[3]?.content).toEqual([
      { type: 'tool_result', toolCallId: 'c1', name: 'paid', status: 'success', content: [{ paid: 3 }] },
    ]);
    expect(run.result.toolCallsByName).toEqual({});
    expect(run.result.toolCallsNotRun).toEqual({ answered: { paid: 1 } });
  });

  it('on a question is an answer that fits its schema', async () => {
    const question = testTool('ask', { approval: { when: 'always' }, answer: { type: 'string' } });
    const run = await runFake({
      snapshot: testSnapshot({ tools: [question] }),
      model: [called(call('c1', 'ask')), said('done')],
      callers: [
        (one) => {
          expect(one.state.approvals.pending).toMatchObject([{ kind: 'question', toolName: 'ask' }]);
          expect(() => responds('c1', 7)(one)).toThrow('does not fit');
          expect(() => approves('c1')(one)).toThrow('is a question');
          responds('c1', 'Tuesday')(one);
        },
      ],
    });
    expect(resultsOf(run, 1)).toEqual(['Tuesday']);
  });

  it('changes the status of the run at once', async () => {
    const states: RunState['status'][] = [];
    await runFake({
      snapshot,
      model,
      callers: [pauses, approves('c1'), resumes],
      recorded: ({ status }) => {
        if (states.at(-1) !== status) states.push(status);
      },
    });
    expect(states).toEqual(['running', 'pending_confirmation', 'running', 'paused', 'running']);
  });
});

describe('a deadline', () => {
  it.each([
    ['reject', 'reject c1 by the deadline', ['User denied the tool execution. Reason: nobody decided before the deadline']],
    ['approve', 'approve c1 by the deadline', ['maybe ran']],
  ] as const)('decides to %s', async (onDeadline, line, results) => {
    const model = [asks({ c1: { deadlineMs: 3_600_000, onDeadline } }, call('c1', 'maybe')), said('done')];
    const run = await runFake({ snapshot, model });
    expect(eventSummaries(run)[2]).toBe(line);
    expect(resultsOf(run, 1)).toEqual(results);
    expect(run.result.durationSeconds).toBe(3_601.5);
    expect(run.events[2]?.decision).toMatchObject({ source: 'deadline', by: null, at: '2023-11-14T23:13:20.000Z' });
  });

  it('comes from the call, its tool or the agent, each with its own default', async () => {
    const own = testTool('own', { approval: { when: 'always', deadlineMs: 2_000 } });
    const none = testTool('none', { approval: { when: 'always' } });
    const run = await runFake({
      snapshot: testSnapshot({ tools: [own, none], approvals: { deadlineMs: 3_000, onDeadline: 'approve' } }),
      model: [
        asks({ c1: { deadlineMs: 1_000, onDeadline: 'reject' } }, call('c1', 'own'), call('c2', 'own'), call('c3', 'none')),
        said('done'),
      ],
    });
    expect(eventSummaries(run).filter((line) => line.includes('by the deadline'))).toEqual([
      'reject c1 by the deadline',
      'approve c2 by the deadline',
      'approve c3 by the deadline',
    ]);
    expect(run.result.durationSeconds).toBe(4.5);
  });

  it('ends with a decision', async () => {
    const model = [asks({ c1: { deadlineMs: 60_000 } }, call('c1', 'maybe'), call('c2', 'paid')), said('done')];
    const run = await runFake({ snapshot, model, callers: [approves('c1'), approves('c2')] });
    expect(run.result).toMatchObject({ status: 'completed', durationSeconds: 1.5 });
  });
});

describe('pending calls are given up', () => {
  it('if a message steers the run: running calls are waited for, and the message is read next', async () => {
    const slow = delivery();
    const run = await runFake({
      snapshot,
      model: [responded([message('let me see'), call('c1', 'paid'), call('c2', 'free')]), said('as you like')],
      tools: {
        free: (_, one) => {
          setImmediate(() => {
            sends('do not pay', 'steer')(one);
            one.scheduler.notify();
            setImmediate(() => slow.deliver(returned('late')));
          });
          return slow.outcome;
        },
      },
    });
    expect(eventSummaries(run)).toEqual([
      'user: Q',
      'assistant: let me see, paid(c1), free(c2)',
      `c1 failed "${INTERRUPTED_CALL}", c2 gave "late"`,
      'user: do not pay',
      'assistant: as you like',
    ]);
    expect(run.result).toMatchObject({ status: 'completed', stepsUsed: 2 });
  });

  it('but not for a queued message: the run waits for the decision', async () => {
    const model = [called(call('c1', 'paid')), said('done')];
    const run = await runFake({ snapshot, model, callers: [sends('and hurry'), approves('c1')] });
    expect(eventSummaries(run).slice(2)).toEqual(['approve c1 by ann', 'c1 gave "paid ran"', 'user: and hurry', 'assistant: done']);
  });

  it('if the run is cancelled: every call has a result, and no call starts', async () => {
    const run = await runFake({
      snapshot,
      model: [called(call('c1', 'paid'), call('c2', 'free'), call('c3', 'paid'))],
      callers: [(one) => one.cancel()],
    });
    expect(eventSummaries(run).slice(2)).toEqual([
      'so far: c2 gave "free ran"',
      `c1 failed "${INTERRUPTED_CALL}", c3 failed "${INTERRUPTED_CALL}"`,
    ]);
    expect(run.result).toMatchObject({ status: 'cancelled', stopReason: 'cancelled', stepsUsed: 1 });
    expect(run.invocations).toHaveLength(1);
    expect(run.state.approvals.pending).toEqual([]);
  });

  it('if the run is cancelled while other calls run: those are waited for', async () => {
    const slow = delivery();
    const run = await runFake({
      snapshot,
      model: [called(call('c1', 'paid'), call('c2', 'free'))],
      tools: {
        free: (_, one) => {
          setImmediate(() => one.cancel());
          setTimeout(() => slow.deliver({ type: 'cancelled' }), 5);
          return slow.outcome;
        },
      },
    });
    expect(run.result).toMatchObject({ status: 'cancelled', stepsUsed: 1 });
    expect(resultsOf(run, 1)).toEqual([INTERRUPTED_CALL, RUNNING_CALL]);
  });
});
