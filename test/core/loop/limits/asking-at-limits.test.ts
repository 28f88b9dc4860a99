import { describe, expect, it } from 'vitest';
import type { PendingApproval } from '../../../../src/core/domain/approvals.ts';
import type { RunLimits } from '../../../../src/core/domain/limits.ts';
import {
  call,
  called,
  type FakeRun,
  type FakeScript,
  message,
  responded,
  resultsOf,
  returned,
  runFake,
  said,
  tokens,
} from '../fakes/fake-ports.ts';
import { about, approves, pauses, raises, refusal, rejects, resumes, sends, update } from '../fakes/callers.ts';
import { testSnapshot, testTool } from '../fakes/snapshot.ts';
import { eventSummaries } from '../fakes/event-summaries.ts';

const tools = [testTool('t'), testTool('u')];

function asking(limits: Partial<RunLimits>, more: Parameters<typeof testSnapshot>[0] = {}): ReturnType<typeof testSnapshot> {
  return testSnapshot({ tools, limits: { steps: 10, finalAttempt: false, onLimit: 'ask', ...limits }, ...more });
}

/** A step that costs a hundred tokens. */
function thinks(text: string): FakeScript['model'][number] {
  return responded([message(text), call(`call of ${text}`, 't')], { usage: tokens(90, 10) });
}

/** The pending approval of the run. */
function question({ state }: FakeRun): PendingApproval {
  const [waiting, ...others] = state.approvals.pending;
  expect(others).toEqual([]);
  if (waiting === undefined) throw new Error('The run asks nothing');
  return waiting;
}

/** The call id of the pending approval, which follows from the record so far. */
function asked(run: FakeRun): string {
  return question(run).callId;
}

describe('a run that asks at its limits', () => {
  const script: FakeScript = { snapshot: asking({ totalTokens: 100 }), model: [thinks('one'), said('done')] };

  it('waits there, names the limit that it has reached, and proposes to double it', async () => {
    await runFake({
      ...script,
      callers: [
        (run) => {
          expect(run.state.status).toBe('pending_confirmation');
          expect(question(run)).toMatchObject({
            kind: 'limit',
            toolName: 'raise_limits',
            step: 2,
            reason: '100 of 100 tokens are used',
            proposal: { totalTokens: 200 },
          });
          approves(asked(run))(run);
        },
      ],
    });
  });

  it('continues with the proposed limits after an approval, and records the new limits', async () => {
    const run = await runFake({ ...script, callers: [(one) => approves(asked(one))(one)] });
    expect(run.result).toMatchObject({ status: 'completed', stepsUsed: 2 });
    expect(run.state.limits.totalTokens).toBe(200);
    expect(run.events.find(({ decision }) => decision)?.decision).toMatchObject({
      type: 'approve',
      arguments: { totalTokens: 200 },
      by: 'ann',
    });
  });

  it('continues with the limits of the approval if it has any', async () => {
    const run = await runFake({ ...script, callers: [(one) => approves(asked(one), { arguments: { totalTokens: 150 } })(one)] });
    expect(run.state.limits.totalTokens).toBe(150);
    expect(run.events.find(({ decision }) => decision)?.decision?.arguments).toEqual({ totalTokens: 150 });
  });

  it('refuses an approval that lowers a limit, is invalid, or is to be remembered', async () => {
    await runFake({
      ...script,
      callers: [
        (run) => {
          const decision = about(run, asked(run));
          expect(refusal(run, 'approve', { ...decision, arguments: { totalTokens: 50 } }).message).toContain('would lower it');
          expect(refusal(run, 'approve', { ...decision, arguments: { tokens: 50 } })).toMatchObject({ code: 'invalid_input' });
          expect(refusal(run, 'approve', { ...decision, remember: 'tool' })).toMatchObject({ code: 'invalid_input' });
          expect(refusal(run, 'respond', { ...decision, content: 'yes' })).toMatchObject({ code: 'invalid_input' });
          update(run, 'approve', decision);
        },
      ],
    });
  });

  it('asks again if it is still at a limit', async () => {
    const run = await runFake({
      snapshot: asking({ totalTokens: 100, steps: 1 }),
      model: [thinks('one'), said('done')],
      callers: [(one) => approves(asked(one))(one), (one) => approves(asked(one))(one)],
    });
    expect(run.events.flatMap(({ decision }) => decision?.arguments ?? [])).toEqual([{ steps: 2 }, { totalTokens: 200 }]);
    expect(run.result.status).toBe('completed');
  });

  it('ends there after a rejection', async () => {
    const run = await runFake({ ...script, callers: [(one) => rejects(asked(one), { reason: 'enough' })(one)] });
    expect(run.result).toMatchObject({ status: 'limit_reached', stopReason: 'token_budget', output: 'one', stepsUsed: 1 });
    expect(eventSummaries(run).at(-1)).toMatch(/^reject limit-\d+ by ann$/);
    expect(run.state.approvals.pending).toEqual([]);
  });

  it('has its final attempt after more steps are rejected', async () => {
    const run = await runFake({
      snapshot: asking({ steps: 1, finalAttempt: true }),
      model: [thinks('one'), said('the best I have')],
      callers: [(one) => rejects(asked(one))(one)],
    });
    expect(run.result).toMatchObject({ stopReason: 'step_limit', output: 'the best I have', stepsUsed: 2 });
  });

  it('continues without a decision if the limit is raised, and then reads the messages that came meanwhile', async () => {
    const run = await runFake({ ...script, callers: [sends('and hurry'), raises({ totalTokens: 500 })] });
    expect(eventSummaries(run).slice(3)).toEqual(['raised {"totalTokens":500}', 'user: and hurry', 'assistant: done']);
    expect(run.state.approvals).toMatchObject({ pending: [], decided: [] });
  });

  it('ends as cancelled if it is cancelled', async () => {
    const run = await runFake({ ...script, callers: [(one) => one.cancel()] });
    expect(run.result).toMatchObject({ status: 'cancelled', stepsUsed: 1 });
  });

  it.each(['reject', 'approve'] as const)('rejects at the deadline, even if calls have the default %s', async (onDeadline) => {
    const snapshot = asking({ totalTokens: 100 }, { approvals: { deadlineMs: 60_000, onDeadline } });
    const run = await runFake({ ...script, snapshot });
    expect(run.result).toMatchObject({ stopReason: 'token_budget', durationSeconds: 61.5 });
    expect(run.events.at(-1)?.decision).toMatchObject({ type: 'reject', source: 'deadline', reason: 'nobody decided before the deadline' });
  });

  it('asks about its time limit too: neither a pause nor its own deadline ends it before', async () => {
    const run = await runFake({
      snapshot: asking({ deadlineMs: 60_000 }),
      model: [thinks('one'), said('done')],
      tools: {
        t: (_, one) => {
          pauses(one);
          return returned();
        },
      },
      callers: [({ scheduler }) => (scheduler.now += 90_000), resumes, (one) => approves(asked(one))(one)],
    });
    expect(run.result.status).toBe('completed');
    expect(run.state.limits.deadlineMs).toBe(120_000);
  });

  it('keeps asking in its next execution: the same question, with one notification', async () => {
    const told: string[] = [];
    const questions: PendingApproval[] = [];
    const run = await runFake({
      ...script,
      snapshot: asking({ totalTokens: 100 }, { notify: true }),
      ports: {
        notify: ({ key }) => {
          told.push(key);
          return Promise.resolve({ type: 'notified' });
        },
      },
      continueDue: ({ state, positions }) => positions.length < 2 && state.status === 'pending_confirmation',
      callers: [
        (one) => {
          questions.push(question(one));
          sends('well?')(one);
        },
        (one) => {
          questions.push(question(one));
          approves(asked(one))(one);
        },
      ],
    });
    expect(run.positions).toHaveLength(2);
    expect(questions[1]).toEqual(questions[0]);
    expect(told).toHaveLength(1);
    expect(eventSummaries(run).slice(3)).toEqual([`approve ${questions[0]?.callId} by ann`, 'user: well?', 'assistant: done']);
  });
});

describe('a run that asks about tool calls', () => {
  const calls = called(call('c1', 't'), call('c2', 'u'), call('c3', 't'));
  const script: FakeScript = { snapshot: asking({ toolCalls: 2 }), model: [calls, said('done')] };

  it('starts no call before there is room for all', async () => {
    const run = await runFake({
      ...script,
      callers: [
        (one) => {
          expect(one.invocations).toEqual([]);
          expect(question(one)).toMatchObject({ step: 1, proposal: { toolCalls: 5 }, reason: expect.stringContaining('1 of 3') });
          approves(asked(one))(one);
        },
      ],
    });
    expect(resultsOf(run, 1)).toEqual(['t ran', 'u ran', 't ran']);
    expect(run.result.status).toBe('completed');
  });

  it('executes those that fit after a rejection, and then ends', async () => {
    const run = await runFake({ ...script, callers: [(one) => rejects(asked(one))(one)] });
    expect(run.invocations.map(({ call: { toolCallId } }) => toolCallId)).toEqual(['c1', 'c2']);
    expect(run.result).toMatchObject({ stopReason: 'tool_call_limit', stepsUsed: 1 });
  });

  it('asks about the calls of one tool by its name', async () => {
    const run = await runFake({
      ...script,
      snapshot: asking({ toolCallsByName: { t: 1, u: 1 } }),
      callers: [(one) => approves(asked(one))(one)],
    });
    expect(run.state.limits.toolCallsByName).toEqual({ t: 4, u: 1 });
    expect(run.result.status).toBe('completed');
  });

  it('asks about the limit first, and then about the calls', async () => {
    const paid = testTool('paid', { approval: { when: 'always' } });
    const run = await runFake({
      snapshot: asking({ toolCalls: 0 }, { tools: [paid] }),
      model: [called(call('c1', 'paid')), said('done')],
      callers: [(one) => approves(asked(one))(one), approves('c1')],
    });
    expect(eventSummaries(run).slice(2)).toEqual([
      expect.stringMatching(/^approve limit-/),
      'approve c1 by ann',
      'c1 gave "paid ran"',
      'assistant: done',
    ]);
  });

  it('gives every call a result if it is cancelled instead', async () => {
    const run = await runFake({ ...script, callers: [(one) => one.cancel()] });
    expect(run.result).toMatchObject({ status: 'cancelled', stepsUsed: 1, toolCallsTotal: 0 });
    expect(run.invocations).toEqual([]);
    expect(run.events.at(-1)?.content).toHaveLength(3);
  });
});
