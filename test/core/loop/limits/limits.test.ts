import { describe, expect, it } from 'vitest';
import type { AgentSnapshot } from '../../../../src/core/domain/agent.ts';
import type { RunLimits } from '../../../../src/core/domain/limits.ts';
import { statusView } from '../../../../src/core/queries/run-views.ts';
import {
  call,
  called,
  delivery,
  type FakeScript,
  message,
  responded,
  resultsOf,
  returned,
  runFake,
  said,
  tokens,
} from '../fakes/fake-ports.ts';
import { about, approves, pauses, raises, refusal, rejects, resumes, update } from '../fakes/callers.ts';
import { testSnapshot, testTool } from '../fakes/snapshot.ts';
import { eventSummaries } from '../fakes/event-summaries.ts';
import { agent, letters, watched } from '../fakes/watched-run.ts';

const tools = [testTool('t'), testTool('u'), testTool('paid', { approval: { when: 'always' } })];
const OVER_LIMIT = 'Tool call was not executed: the limit of tool calls of this run is reached.';

function limited(limits: Partial<RunLimits>, more: Partial<AgentSnapshot> = {}): AgentSnapshot {
  return testSnapshot({ tools, limits: { steps: 10, finalAttempt: false, ...limits }, ...more });
}

/** A step with a text, a tool call, and this many tokens. */
function thinks(text: string, prompt: number, completion: number): FakeScript['model'][number] {
  return responded([message(text), call(`call of ${text}`, 't')], { usage: tokens(prompt, completion) });
}

describe('a limit', () => {
  const prices = { 'scripted/model': { input: 1_000_000, output: 2_000_000 } };

  it.each<[string, Partial<RunLimits>, string]>([
    ['of steps', { steps: 2 }, 'step_limit'],
    ['of input tokens', { inputTokens: 100 }, 'token_budget'],
    ['of output tokens', { outputTokens: 20 }, 'token_budget'],
    ['of tokens', { totalTokens: 120 }, 'token_budget'],
    ['of dollars', { costUsd: 130 }, 'cost_budget'],
    ['of tool calls', { toolCalls: 1 }, 'tool_call_limit'],
    ['of calls of one tool', { toolCallsByName: { t: 1 } }, 'tool_call_limit'],
  ])('%s ends the run, which is not a success and keeps its record', async (_, limits, stopReason) => {
    const status = stopReason === 'step_limit' ? 'max_iterations_reached' : 'limit_reached';
    const run = await runFake({
      snapshot: limited(limits, { prices }),
      model: [thinks('one', 50, 10), thinks('two', 50, 10), thinks('three', 50, 10)],
    });
    expect(run.result).toMatchObject({ status, stopReason, output: 'two', stepsUsed: 2, error: null });
    expect(run.modelCalls).toHaveLength(2);
  });

  it('of time ends the run before the next model call', async () => {
    const run = await runFake({
      snapshot: limited({ deadlineMs: 10_000 }),
      model: [thinks('one', 50, 10)],
      tools: {
        t: (_, { scheduler }) => {
          scheduler.now += 10_000;
          return returned();
        },
      },
    });
    expect(run.result).toMatchObject({ status: 'limit_reached', stopReason: 'deadline', output: 'one', stepsUsed: 1 });
  });

  it('that was not set does not apply, and a limit of zero allows nothing', async () => {
    expect((await runFake({ snapshot: limited({}), model: [thinks('one', 1e9, 1e9), said('done')] })).result.status).toBe('completed');
    const none = await runFake({ snapshot: limited({ totalTokens: 0 }), model: [] });
    expect(none.result).toMatchObject({ stopReason: 'token_budget', output: '', stepsUsed: 0 });
  });

  it('counts estimates, failed attempts and interrupted answers', async () => {
    const estimated = await runFake({
      snapshot: limited({ outputTokens: 100 }),
      model: [responded([message('x'.repeat(1_000)), call('c1', 't')])],
    });
    expect(estimated.result).toMatchObject({ stopReason: 'token_budget', usage: { completionTokens: 0, llmCalls: 1 } });
    expect(estimated.result.usage.estimated?.completionTokens).toBeGreaterThan(250);

    const failedAttempts = { reported: tokens(60, 0), estimated: tokens(0, 60) };
    const failing = await runFake({
      snapshot: limited({ totalTokens: 130 }),
      model: [responded([call('c1', 't')], { usage: tokens(5, 5), failedAttempts })],
    });
    expect(failing.result).toMatchObject({
      stopReason: 'token_budget',
      usage: { totalTokens: 70, estimated: { totalTokens: 60 }, llmCalls: 1 },
    });
  });

  it('allows a final attempt after the last step, but not after the last token', async () => {
    const model = [thinks('one', 50, 10), said('the best I have')];
    const steps = await runFake({ snapshot: limited({ steps: 1, finalAttempt: true }), model });
    expect(steps.result).toMatchObject({ stopReason: 'step_limit', output: 'the best I have', stepsUsed: 2 });
    const budget = await runFake({ snapshot: limited({ totalTokens: 60, finalAttempt: true }), model });
    expect(budget.result).toMatchObject({ stopReason: 'token_budget', output: 'one', stepsUsed: 1 });
  });
});

describe('tool calls of one response', () => {
  it('are counted before any of them starts: those that fit are executed, in the order of the model', async () => {
    const run = await runFake({
      snapshot: limited({ toolCalls: 2 }),
      model: [called(call('c1', 't'), call('c2', 'nope'), call('c3', 't'), call('c4', 't'))],
    });
    expect(resultsOf(run, 1)).toEqual(['t ran', "Tool 'nope' not found in agent's tool list", 't ran', OVER_LIMIT]);
    expect(run.result).toMatchObject({ stopReason: 'tool_call_limit', stepsUsed: 1, toolCallsTotal: 2 });
    expect(run.result.toolCallsNotRun).toEqual({ unknown: { nope: 1 }, not_started: { t: 1 } });
  });

  it('are counted by the name of their tool too', async () => {
    const run = await runFake({
      snapshot: limited({ toolCallsByName: { t: 2 } }),
      model: [called(call('c1', 't'), call('c2', 'u'), call('c3', 't'), call('c4', 't'), call('c5', 'u'))],
    });
    expect(resultsOf(run, 1)).toEqual(['t ran', 'u ran', 't ran', OVER_LIMIT, 'u ran']);
    expect(run.steps[0]?.toolCalls[3]).toMatchObject({ isError: true, durationMs: null });
  });

  it('count once they have started, for any outcome, and do not count if they were rejected', async () => {
    const run = await runFake({
      snapshot: limited({ toolCalls: 2 }),
      model: [called(call('c1', 'paid'), call('c2', 't')), called(call('c3', 't')), called(call('c4', 't'))],
      tools: { t: () => ({ type: 'result', status: 'error', content: ['no'], durationMs: 1 }) },
      callers: [rejects('c1')],
    });
    expect(run.invocations.map(({ call: { toolCallId } }) => toolCallId)).toEqual(['c2', 'c3']);
    expect([...run.state.toolCallsStarted]).toEqual([['t', 2]]);
    expect(run.result).toMatchObject({ stopReason: 'tool_call_limit', stepsUsed: 3 });
  });

  it('over the limit need no approval', async () => {
    const run = await runFake({ snapshot: limited({ toolCalls: 0 }), model: [called(call('c1', 'paid'))] });
    expect(resultsOf(run, 1)).toEqual([OVER_LIMIT]);
  });
});

describe('the deadline of a run', () => {
  it('ends the wait for a decision: the call is given up', async () => {
    const run = await runFake({ snapshot: limited({ deadlineMs: 60_000 }), model: [responded([message('so far'), call('c1', 'paid')])] });
    expect(run.result).toMatchObject({ stopReason: 'deadline', output: 'so far', durationSeconds: 60, stepsUsed: 1 });
    expect(run.state.approvals.pending).toEqual([]);
  });

  it('lets running calls end', async () => {
    const slow = delivery();
    const run = await runFake({
      snapshot: limited({ deadlineMs: 60_000 }),
      model: [called(call('c1', 'paid'), call('c2', 't'))],
      tools: {
        t: (_, { scheduler }) => {
          setImmediate(() => {
            scheduler.now += 60_000;
            scheduler.notify();
            setImmediate(() => slow.deliver(returned('late')));
          });
          return slow.outcome;
        },
      },
    });
    expect(run.steps[0]?.toolCalls.map(({ result }) => result)).toEqual([expect.stringContaining('interrupted'), 'late']);
    expect(run.result.stopReason).toBe('deadline');
  });

  it('ends a pause', async () => {
    const run = await runFake({
      snapshot: limited({ deadlineMs: 60_000 }),
      model: [thinks('one', 1, 1)],
      tools: {
        t: (_, one) => {
          pauses(one);
          return returned();
        },
      },
    });
    expect(run.result).toMatchObject({ stopReason: 'deadline', durationSeconds: 60, output: 'one' });
  });

  it('can be raised while the run waits', async () => {
    const run = await runFake({
      snapshot: limited({ deadlineMs: 60_000 }),
      model: [called(call('c1', 'paid')), said('done')],
      callers: [raises({ deadlineMs: 120_000 }), ({ scheduler }) => (scheduler.now += 90_000), approves('c1')],
    });
    expect(run.result).toMatchObject({ status: 'completed', durationSeconds: 91.5 });
  });
});

describe('a paused run with a full window', () => {
  const script: Omit<FakeScript, 'snapshot'> = {
    model: [called(call('c1', 't')), responded([message('so far'), call('c2', 't')], { usage: tokens(90, 10) }), said('done')],
    tools: {
      t: (_, one) => {
        if (one.invocations.length === 2) pauses(one);
        return returned(letters(2_000));
      },
    },
    callers: [resumes],
    continueDue: ({ state, positions }) => state.status === 'paused' && positions.length === 0,
  };

  it.each([
    [undefined, 1, 'final_answer'],
    [100, 0, 'token_budget'],
  ])('is summarized for its next execution, but not if it has used up its tokens: of %s', async (totalTokens, summaries, stopReason) => {
    const limits = { steps: 9, finalAttempt: false, ...(totalTokens === undefined ? {} : { totalTokens }) };
    const run = await watched({ ...script, snapshot: agent({ maxBytes: 3_000, keepResults: 9 }, { limits }) });
    expect(run.summaries).toHaveLength(summaries);
    expect(run.positions).toHaveLength(1);
    expect(run.result.stopReason).toBe(stopReason);
  });
});

describe('raised limits', () => {
  it('apply from then on, and are recorded with their author', async () => {
    const run = await runFake({
      snapshot: limited({ totalTokens: 100, steps: 1 }),
      model: [thinks('one', 100, 10), thinks('two', 100, 10)],
      tools: {
        t: (_, one) => {
          if (one.invocations.length === 1) raises({ totalTokens: 200, steps: 5 })(one);
          return returned();
        },
      },
    });
    expect(eventSummaries(run).filter((line) => line.startsWith('raised'))).toEqual(['raised {"totalTokens":200,"steps":5}']);
    expect(run.events.find(({ raised }) => raised)).toMatchObject({ author: 'ann', raised: { id: 'raise 1', by: 'ann' } });
    expect(run.result).toMatchObject({ stopReason: 'token_budget', stepsUsed: 2, limits: { steps: 5 } });
  });

  it('are applied once for each id, and never go down', async () => {
    const seen: unknown[] = [];
    const run = await runFake({
      snapshot: limited({ totalTokens: 1_000 }),
      model: [called(call('c1', 'paid')), said('done')],
      callers: [
        (one) => {
          seen.push(update(one, 'raise', { id: 'r1', limits: { totalTokens: 3_000 } }));
          seen.push(update(one, 'raise', { id: 'r1', limits: { totalTokens: 3_000 }, by: 'bob' }));
          seen.push(refusal(one, 'raise', { id: 'r2', limits: { totalTokens: 2_000 } }).message);
          seen.push(refusal(one, 'raise', { id: 'r3', limits: { costUsd: 9 } }).message);
          seen.push(refusal(one, 'raise', { id: 'r3', limits: {} }).code);
          update(one, 'approve', about(one, 'c1'));
        },
      ],
    });
    expect(seen).toEqual([
      { version: 1, id: 'r1', status: 'raised', limits: expect.objectContaining({ totalTokens: 3_000 }) },
      { version: 1, id: 'r1', status: 'duplicate', limits: expect.objectContaining({ totalTokens: 3_000 }) },
      expect.stringContaining('limit "totalTokens" is 3000, and 2000 would lower it'),
      expect.stringContaining('the run has no limit "costUsd" to raise'),
      'invalid_input',
    ]);
    expect(run.state.limits.totalTokens).toBe(3_000);
  });

  it('are in the receipts and in the status from their acceptance on, before the loop applies them', async () => {
    const seen: unknown[] = [];
    const run = await runFake({
      snapshot: limited({ steps: 10, totalTokens: 1_000 }),
      model: [called(call('c1', 'paid')), said('done')],
      callers: [
        (one) => {
          const { state, inbox } = one;
          const asked = { runId: 'run-1', agentName: 'a', deps: {}, startedAt: 0, executions: 1, inbox, authorizing: new Map(), state };
          seen.push(update(one, 'raise', { id: 'r1', limits: { steps: 20 } }));
          seen.push(update(one, 'raise', { id: 'r2', limits: { totalTokens: 2_000 } }));
          seen.push(statusView(asked), state.limits);
          update(one, 'approve', about(one, 'c1'));
        },
      ],
    });
    expect(seen).toMatchObject([
      { limits: { steps: 20, totalTokens: 1_000 } },
      { limits: { steps: 20, totalTokens: 2_000 } },
      { limits: { steps: 20, totalTokens: 2_000 } },
      { steps: 10, totalTokens: 1_000 },
    ]);
    expect(run.result).toMatchObject({ limits: { steps: 20, totalTokens: 2_000 } });
  });

  it('of single tools do not change the others', async () => {
    const run = await runFake({
      snapshot: limited({ toolCallsByName: { t: 1, u: 1 } }),
      model: [called(call('c1', 'paid')), said('done')],
      callers: [raises({ toolCallsByName: { t: 3 } }), approves('c1')],
    });
    expect(run.state.limits.toolCallsByName).toEqual({ t: 3, u: 1 });
  });
});
