import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test, vi } from 'vitest';
import type { ModelClient, ModelResponse } from '../../../src/core/domain/model.ts';
import { ModelCallError } from '../../../src/core/domain/errors.ts';
import { defineAgent } from '../../../src/index.ts';
import { memoryGovernor } from '../../../worker/index.ts';
import { historyOf, Testbed } from '../testbed/testbed.ts';

const agent = defineAgent({ name: 'clerk', model: 'limited/m', modelMaxAttempts: 2 });

/** A model that records when it was called. */
function askedModel(answer: () => Promise<Partial<ModelResponse>> = () => Promise.resolve({})): { client: ModelClient; at: number[] } {
  const at: number[] = [];
  const client: ModelClient = {
    capabilities: { structuredOutput: true },
    call: async () => {
      at.push(performance.now());
      const given = await answer();
      return { content: 'done', toolCalls: [], usage: null, finishReason: 'stop', ...given };
    },
  };
  return { client, at };
}

test('calls over the limit are parked: they hold no slot, write no event, and use no attempt', async () => {
  await using testbed = await Testbed.open();
  const { client, at } = askedModel();
  const once = defineAgent({ name: 'clerk', model: 'limited/m', modelMaxAttempts: 1 });
  const limits = { limited: { requestsPerMinute: 20, holdSlotFor: 0 } };
  await testbed.work({ agents: [once], providers: { limited: client }, limits });
  const runs = await Promise.all(['a', 'b', 'c'].map((input) => testbed.client.start(once, { input, taskQueue: testbed.taskQueue })));
  const results = await Promise.all(runs.map((run) => run.result()));
  expect(results).toMatchObject(runs.map(() => ({ status: 'completed', output: 'done' })));
  expect(at).toHaveLength(3);
  const histories = await Promise.all(runs.map((run) => historyOf(testbed, run)));
  const attempts = histories.map((history) => {
    const scheduled = history.find(({ activityTaskScheduledEventAttributes: one }) => one?.activityType?.name === 'callModel');
    expect(scheduled?.activityTaskScheduledEventAttributes?.retryPolicy?.maximumAttempts ?? 0).toBe(0);
    const started = history.find(
      ({ activityTaskStartedEventAttributes: one }) => String(one?.scheduledEventId) === String(scheduled?.eventId),
    );
    return started?.activityTaskStartedEventAttributes?.attempt ?? 0;
  });
  // More attempts than the single one that a call may have: it would have failed if they counted.
  expect(Math.max(...attempts)).toBeGreaterThan(1);
  expect(new Set(histories.map((history) => history.length)).size).toBe(1);
});

test('a parked call still has all its attempts, and a call that is cancelled while it is parked ends at once', async () => {
  await using testbed = await Testbed.open();
  let calls = 0;
  const { client, at } = askedModel(() => {
    calls += 1;
    return calls === 2 ? Promise.reject(new ModelCallError('model_unreachable', 'cut')) : Promise.resolve({});
  });
  await testbed.work({ agents: [agent], providers: { limited: client }, limits: { limited: { requestsPerMinute: 30, holdSlotFor: 0 } } });
  const first = await testbed.client.start(agent, { input: 'first', taskQueue: testbed.taskQueue });
  await first.result();
  // This one is parked, fails once, is parked again, and succeeds.
  const second = await testbed.client.start(agent, { input: 'second', taskQueue: testbed.taskQueue });
  await sleep(300);
  const third = await testbed.client.start(agent, { input: 'third', taskQueue: testbed.taskQueue });
  await vi.waitUntil(async () => (await third.status()).status === 'running', { timeout: 10_000 });
  await sleep(300);
  await third.cancel('enough');
  expect(await third.result()).toMatchObject({ status: 'cancelled' });
  expect(await second.result()).toMatchObject({ status: 'completed' });
  expect(at).toHaveLength(3);
});

test('a list moves on to a model whose limits have room, if the wait is longer than "maxWait"', async () => {
  await using testbed = await Testbed.open();
  const listed = defineAgent({ name: 'clerk', model: ['limited/m', 'free/m'], fallback: { maxWait: '2s' } });
  const limited = askedModel();
  const free = askedModel();
  const providers = { limited: limited.client, free: free.client };
  await testbed.work({ agents: [listed], providers, limits: { limited: { requestsPerMinute: 1 } }, governor: memoryGovernor() });
  const first = await testbed.client.start(listed, { input: 'first', taskQueue: testbed.taskQueue });
  await first.result();
  const second = await testbed.client.start(listed, { input: 'second', taskQueue: testbed.taskQueue });
  expect(await second.result()).toMatchObject({ status: 'completed' });
  expect(await second.steps()).toMatchObject([{ answeredBy: 'free/m', skipped: [{ model: 'limited/m', reason: 'long_wait' }] }]);
  expect([limited.at.length, free.at.length]).toEqual([1, 1]);
});
