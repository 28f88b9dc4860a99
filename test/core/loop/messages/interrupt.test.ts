import { describe, expect, it } from 'vitest';
import type { RecordedResponse } from '../../../../src/core/domain/model.ts';
import type { ModelCallOutcome } from '../../../../src/core/kernel/ports.ts';
import { call, called, type FakeRun, message, responded, runFake, said, tokens } from '../fakes/fake-ports.ts';
import { pauses, resumes, sends } from '../fakes/callers.ts';
import { testSnapshot, testTool } from '../fakes/snapshot.ts';
import { eventSummaries } from '../fakes/event-summaries.ts';
import { agent, letters, read, watched } from '../fakes/watched-run.ts';

const snapshot = testSnapshot({ tools: [testTool('t')] });

/** A message that interrupts the model after this output. */
function interrupted(text: string | null, more: Partial<RecordedResponse> = {}): (run: FakeRun) => ModelCallOutcome {
  return (run) => {
    sends(`stop ${run.modelCalls.length}`, 'interrupt')(run);
    if (text === null) return { type: 'interrupted' };
    const partial = { id: `partial ${run.modelCalls.length}`, content: [message(text)], finishReason: 'interrupted', usage: null, ...more };
    return { type: 'interrupted', partial };
  };
}

describe('a model call that a message interrupts', () => {
  it('is an event with its output so far, is followed by the message, and is not a step', async () => {
    const run = await runFake({ snapshot, model: [interrupted('let me exp'), said('as you like')] });
    expect(eventSummaries(run)).toEqual(['user: Q', 'interrupted: assistant: let me exp', 'user: stop 1', 'assistant: as you like']);
    expect(run.events[1]).toMatchObject({ id: 'partial 1', author: 'a', interrupted: true, usage: null });
    expect(run.modelCalls.map(({ step, through }) => [step, through])).toEqual([
      [1, 1],
      [1, 3],
    ]);
    expect(run.result).toMatchObject({ status: 'completed', stepsUsed: 1, output: 'as you like' });
    expect(run.steps).toHaveLength(1);
  });

  it('counts as a call, with an estimate for its request and its output so far', async () => {
    const run = await watched({
      snapshot: agent({}, { instructions: [letters(4_000)] }),
      model: [interrupted(letters(400)), said('ok', { usage: tokens(1, 1) })],
    });
    const { estimated } = run.events[1] ?? {};
    expect(estimated?.promptTokens).toBeGreaterThan(1_000);
    expect(estimated?.promptTokens).toBeLessThan(1_200);
    expect(estimated?.completionTokens).toBeGreaterThanOrEqual(100);
    expect(estimated?.completionTokens).toBeLessThan(150);
    expect(run.result.usage).toMatchObject({ llmCalls: 2, totalTokens: 2, estimated });
    expect(read(run.windows[1])).toEqual(['Q', letters(40), 'stop 1']);
  });

  it('counts with the usage that its provider reported, if it did, and with the attempts before', async () => {
    const failedAttempts = { reported: tokens(7, 0), estimated: tokens(0, 3) };
    const run = await runFake({
      snapshot,
      model: [interrupted('so', { usage: tokens(20, 5), failedAttempts }), said('ok', { usage: tokens(1, 1) })],
    });
    expect(run.events[1]).toMatchObject({ usage: tokens(20, 5), failedAttempts });
    expect(run.events[1]).not.toHaveProperty('estimated');
    expect(run.result.usage).toMatchObject({ llmCalls: 2, totalTokens: 34, estimated: { totalTokens: 3 } });
  });

  it('is given up even if its worker is lost with it: the run reads the message and continues', async () => {
    const lost = (run: FakeRun): ModelCallOutcome => {
      sends('rather this', 'interrupt')(run);
      return { type: 'failed', code: 'model_timeout', message: 'activity Heartbeat timeout', spent: { reported: tokens(7, 3) } };
    };
    const run = await runFake({ snapshot, model: [lost, said('as you like', { usage: tokens(1, 1) })] });
    expect(run.result).toMatchObject({ status: 'completed', output: 'as you like', usage: { totalTokens: 12 } });
    expect(eventSummaries(run).slice(-2)).toEqual(['user: rather this', 'assistant: as you like']);
  });

  it('leaves no event if its request was not sent', async () => {
    const run = await runFake({ snapshot, model: [interrupted(null), said('as you like', { usage: tokens(1, 1) })] });
    expect(eventSummaries(run)).toEqual(['user: Q', 'user: stop 1', 'assistant: as you like']);
    expect(run.result.usage).toMatchObject({ llmCalls: 1, totalTokens: 2 });
  });

  it('may be interrupted repeatedly, and each time counts towards the limits', async () => {
    const limits = { steps: 10, finalAttempt: false, totalTokens: 100 };
    const run = await runFake({
      snapshot: testSnapshot({ limits }),
      model: [
        interrupted('a', { usage: tokens(30, 10) }),
        interrupted('b', { usage: tokens(30, 10) }),
        interrupted('c', { usage: tokens(30, 10) }),
      ],
    });
    expect(run.result).toMatchObject({ stopReason: 'token_budget', stepsUsed: 0, usage: { totalTokens: 120, llmCalls: 3 } });
    // Accepted messages are in the record, even if no model reads them later.
    expect(eventSummaries(run).slice(-2)).toEqual(['interrupted: assistant: c', 'user: stop 3']);
  });

  it('is the final attempt again if it was one', async () => {
    const run = await runFake({
      snapshot: testSnapshot({ tools: [testTool('t')], limits: { steps: 1, finalAttempt: true } }),
      model: [called(call('c1', 't')), interrupted('the best I'), said('the best I have')],
    });
    expect(run.modelCalls.map(({ final }) => final)).toEqual([false, true, true]);
    expect(run.result).toMatchObject({ stopReason: 'step_limit', output: 'the best I have', stepsUsed: 2 });
  });

  it('waits if the run is paused as well', async () => {
    const run = await runFake({
      snapshot,
      model: [
        (one) => {
          pauses(one);
          return interrupted('let me')(one);
        },
        said('ok'),
      ],
      callers: [({ state }) => expect(state.status).toBe('paused'), resumes],
    });
    expect(run.result).toMatchObject({ status: 'completed', stepsUsed: 1 });
  });
});

it('a message that interrupts while a call runs is read after the call, like one that steers', async () => {
  const run = await runFake({
    snapshot: testSnapshot({ tools: [testTool('t')], parallel: false }),
    model: [called(call('c1', 't'), call('c2', 't')), said('as you like')],
    tools: {
      t: (_, one) => {
        sends('stop', 'interrupt')(one);
        return { type: 'result', status: 'success', content: ['ran'], durationMs: 1 };
      },
    },
  });
  expect(run.invocations).toHaveLength(1);
  expect(eventSummaries(run).slice(3)).toEqual(['user: stop', 'assistant: as you like']);
});

it('if an answer is complete when a message interrupts it, it is kept, and the message is read next', async () => {
  const run = await runFake({
    snapshot,
    model: [
      (one) => {
        sends('stop', 'interrupt')(one);
        return said('done');
      },
      said('what else?'),
    ],
  });
  expect(eventSummaries(run)).toEqual(['user: Q', 'assistant: done', 'user: stop', 'assistant: what else?']);
  expect(run.result).toMatchObject({ stepsUsed: 2, output: 'what else?' });
});

it('a cancelled model call keeps its output so far, with an estimate of its usage', async () => {
  const run = await runFake({
    snapshot,
    model: [
      (one) => {
        one.cancel();
        const partial = { id: 'p', content: [message('let me')], finishReason: 'interrupted', usage: null };
        return { type: 'cancelled', partial };
      },
    ],
  });
  expect(eventSummaries(run)).toEqual(['user: Q', 'interrupted: assistant: let me']);
  expect(run.result).toMatchObject({ status: 'cancelled', stepsUsed: 0, usage: { llmCalls: 1, totalTokens: 0 } });
  expect(run.result.usage.estimated?.totalTokens).toBeGreaterThan(0);
});

it('a failed model call keeps the usage of its attempts, if it is known', async () => {
  const spent = { reported: tokens(40, 2), estimated: tokens(9, 0) };
  const run = await runFake({ snapshot, model: [{ type: 'failed', code: 'model_server_error', message: 'down', spent }] });
  expect(eventSummaries(run)).toEqual(['user: Q', 'failed: model_server_error']);
  expect(run.events[1]).toMatchObject({ failedAttempts: spent, content: [] });
  expect(run.result).toMatchObject({ status: 'error', usage: { totalTokens: 42, estimated: { totalTokens: 9 }, llmCalls: 0 } });
  const silent = await runFake({ snapshot, model: [{ type: 'failed', code: 'model_server_error', message: 'down' }] });
  expect(eventSummaries(silent)).toEqual(['user: Q']);
});

it('all usage has its price, estimated or not', async () => {
  const prices = { 'scripted/model': { input: 10, output: 100, cachedInput: 1 } };
  const run = await runFake({
    snapshot: testSnapshot({ prices }),
    model: [
      interrupted('x', { failedAttempts: { reported: tokens(1_000, 100) } }),
      responded([message('ok')], { usage: { ...tokens(1_000, 100), cachedTokens: 500 } }),
    ],
  });
  expect(run.events[3]?.usage?.costUsd).toBeCloseTo(0.005 + 0.0005 + 0.01, 10);
  expect(run.events[1]?.failedAttempts?.reported?.costUsd).toBeCloseTo(0.02, 10);
  const { estimated } = run.events[1] ?? {};
  expect(estimated?.costUsd).toBeCloseTo(((estimated?.promptTokens ?? 0) * 10 + (estimated?.completionTokens ?? 0) * 100) / 1e6, 10);
  expect(run.result.usage.costUsd).toBeCloseTo(0.0355, 10);
  expect(run.result.usage.estimated?.costUsd).toBe(estimated?.costUsd);
});
