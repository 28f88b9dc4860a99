import { expect, test } from 'vitest';
import { z } from 'zod';
import type { RunHandle } from '../../../src/client/index.ts';
import { defineAgent, defineTool } from '../../../src/index.ts';
import { SIGNALS } from '../../../src/core/protocol.ts';
import { callTool, hang, say, scriptedModel, together } from '../../../src/testing/index.ts';
import { search } from '../testbed/agents.ts';
import { askColour, mail, refund } from '../approvals/decision-agents.ts';
import { expectSameFromHistory } from '../testbed/same-from-history.ts';
import { Testbed, until } from '../testbed/testbed.ts';

/** A tool that takes `ms` milliseconds, or ends when it is cancelled. */
const slow = defineTool({
  name: 'slow',
  description: 'Takes its time',
  parameters: z.object({ ms: z.number() }),
  timeout: '1m',
  execute: ({ ms }, { signal }) =>
    new Promise<string>((resolve, reject) => {
      setTimeout(() => resolve(`after ${ms}`), ms);
      signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
    }),
});

const careful = defineAgent({ name: 'careful', model: 'scripted/m', tools: [search, refund, mail, askColour, slow] });

const pay = (amount: number, id: string): ReturnType<typeof callTool> => callTool('refund', { amount }, id);

async function pending(run: RunHandle<unknown>, ...callIds: string[]): Promise<void> {
  await until(
    async () => {
      const waiting = (await run.approvals()).pending.map(({ callId }) => callId);
      return JSON.stringify(waiting) === JSON.stringify(callIds);
    },
    `these wait: ${callIds.join(', ')}`,
  );
}

test('authorized and notified decisions are read back at every point and at the end', async () => {
  await using testbed = await Testbed.open();
  const calls = together(
    pay(1, 'c1'),
    callTool('slow', { ms: 300 }, 'c2'),
    pay(3, 'c3'),
    callTool('ask_colour', { question: '?' }, 'c4'),
    pay(5, 'c5'),
  );
  const scripted = scriptedModel([calls, pay(1, 'd1'), say('done')]);
  await testbed.work({
    agents: [careful],
    providers: { scripted },
    authorize: ({ by }) => (by === 'eve' ? { refuse: 'not she' } : { as: `${by ?? '?'}@example.org` }),
    notify: async () => new Promise((resolve) => setTimeout(resolve, 100)),
  });
  const run = await testbed.client.start(careful, { input: 'pay', taskQueue: testbed.taskQueue });
  await pending(run, 'c1', 'c3', 'c4', 'c5');
  // A notification or a result that arrives between the two readings would be in only one of them.
  await until(async () => (await run.approvals()).pending.every(({ notified }) => notified), 'the notify hook has returned');
  await until(async () => (await run.context()).total > 2, 'the result of the call that waits for no decision');
  await expectSameFromHistory(testbed, run);
  await run.approve('c3', { by: 'ann', arguments: { amount: 4 } });
  await pending(run, 'c1', 'c4', 'c5');
  await until(async () => (await run.context()).total > 3, 'the results of the others');
  await expectSameFromHistory(testbed, run);
  await expect(run.approve('c1', { by: 'eve' })).rejects.toMatchObject({ code: 'not_authorized' });
  await expectSameFromHistory(testbed, run);
  await run.respond('c4', { colour: 'red' }, { by: 'ann' });
  await run.reject('c5', { by: 'bob', reason: 'too much' });
  await expectSameFromHistory(testbed, run);
  await run.approve('c1', { by: 'bob', remember: 'arguments' });
  const result = await run.result();
  expect(result.status).toBe('completed');
  await expectSameFromHistory(testbed, run);
});

test('deadlines of a call and of a waiting run are read back', async () => {
  await using testbed = await Testbed.open();
  const hasty = defineAgent({
    name: 'hasty',
    model: 'scripted/m',
    approvals: { deadline: '300ms' },
    limits: { deadline: '3s' },
    tools: [refund, slow],
  });
  const long = defineAgent({ name: 'long', model: 'scripted/m', limits: { deadline: '1500ms' }, tools: [refund, slow] });
  const scripted = scriptedModel([
    together(pay(1, 'c1'), callTool('slow', { ms: 600 }, 'c2')),
    say('done'),
    together(pay(1, 'c1'), callTool('slow', { ms: 300 }, 'c2')),
  ]);
  await testbed.work({ agents: [hasty, long], providers: { scripted } });
  const first = await testbed.client.start(hasty, { input: 'pay', taskQueue: testbed.taskQueue });
  expect((await first.result()).status).toBe('completed');
  await expectSameFromHistory(testbed, first);
  const second = await testbed.client.start(long, { input: 'pay', taskQueue: testbed.taskQueue });
  expect(await second.result()).toMatchObject({ status: 'limit_reached', stopReason: 'deadline' });
  await expectSameFromHistory(testbed, second);
});

test('a run that continues as new while it waits, and gets its decisions there by Signal, is read back', async () => {
  await using testbed = await Testbed.open();
  const scripted = scriptedModel([
    together(pay(1, 'c1'), callTool('search', { query: 'q' }, 'c2'), pay(3, 'c3')),
    pay(7, 'c4'),
    say('done'),
  ]);
  await testbed.work({ agents: [careful], providers: { scripted }, continueAsNew: { updates: 3 } });
  const run = await testbed.client.start(careful, { input: 'pay', taskQueue: testbed.taskQueue });
  await pending(run, 'c1', 'c3');
  for (const id of ['m1', 'm2', 'm3', 'm4']) await run.send(id, { id });
  await until(async () => (await run.status()).executions > 1, 'another execution');
  await pending(run, 'c1', 'c3');
  await expectSameFromHistory(testbed, run);
  const handle = testbed.client.temporal.workflow.getHandle(run.runId);
  const [one, two] = (await run.approvals()).pending;
  await handle.signal<[object]>(SIGNALS.approve, { callId: 'c1', id: 's1', digest: one?.digest });
  await handle.signal<[object]>(SIGNALS.approve, { callId: 'c1', id: 's2', digest: one?.digest });
  await handle.signal<[object]>(SIGNALS.reject, { callId: 'c3', id: 's3', digest: 'another' });
  await handle.signal<[object]>(SIGNALS.reject, { callId: 'c3', id: 's4', digest: two?.digest, reason: 'no' });
  await pending(run, 'c4');
  await expectSameFromHistory(testbed, run);
  for (const id of ['n1', 'n2', 'n3', 'n4']) await run.send(id, { id, mode: 'queue' });
  await run.approve('c4');
  expect((await run.result()).status).toBe('completed');
  await expectSameFromHistory(testbed, run);
}, 90_000);

test('messages that steer and interrupt, pauses, and a cancellation during a call are read back', async () => {
  await using testbed = await Testbed.open();
  const script = [
    hang('half'),
    together(pay(1, 'c1'), callTool('slow', { ms: 500 }, 'c2')),
    together(pay(2, 'c3'), callTool('slow', { ms: 60_000 }, 'c4')),
  ];
  const scripted = scriptedModel(script);
  await testbed.work({ agents: [careful], providers: { scripted } });
  const run = await testbed.client.start(careful, { input: 'pay', taskQueue: testbed.taskQueue });
  await until(() => scripted.requests.length === 1, 'the model call');
  await run.send('rather this', { mode: 'interrupt' });
  await pending(run, 'c1');
  await run.pause();
  await run.send('no refund', { mode: 'steer' });
  await until(async () => (await run.status()).status === 'paused', 'the pause');
  await expectSameFromHistory(testbed, run);
  await run.resume();
  await pending(run, 'c3');
  await expectSameFromHistory(testbed, run);
  await run.cancel('enough', { by: 'ann' });
  expect(await run.result()).toMatchObject({ status: 'cancelled', cancelReason: 'enough (ann)' });
  await expectSameFromHistory(testbed, run);
});

test('limits that ask for approval, and raised and approved limits, are read back', async () => {
  await using testbed = await Testbed.open();
  const frugal = defineAgent({
    name: 'frugal',
    model: 'scripted/m',
    tools: [search, refund],
    limits: { steps: 1, toolCalls: 2 },
    onLimit: 'ask',
  });
  const three = together(callTool('search', { query: '1' }, 'c1'), callTool('search', { query: '2' }, 'c2'), pay(1, 'c3'));
  const scripted = scriptedModel([three, callTool('search', { query: '4' }, 'c4'), say('done')]);
  await testbed.work({ agents: [frugal], providers: { scripted } });
  const run = await testbed.client.start(frugal, { input: 'Q', taskQueue: testbed.taskQueue });
  await until(async () => (await run.approvals()).pending.length === 1, 'the limit of tool calls');
  await expectSameFromHistory(testbed, run);
  const [limit] = (await run.approvals()).pending;
  await run.approve(limit?.callId ?? '', { by: 'ann' });
  await pending(run, 'c3');
  await expectSameFromHistory(testbed, run);
  await run.approve('c3');
  await until(async () => (await run.approvals()).pending[0]?.kind === 'limit', 'the limit of steps');
  await expectSameFromHistory(testbed, run);
  await run.raise({ steps: 3, toolCalls: 20 }, { by: 'bob' });
  expect((await run.result()).status).toBe('completed');
  await expectSameFromHistory(testbed, run);
});
