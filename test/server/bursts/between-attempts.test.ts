import { Context } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import type { ActivityInterceptorsFactory } from '@temporalio/worker';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { connect, type RunHandle } from '../../../src/client/index.ts';
import { defineAgent, defineTool } from '../../../src/index.ts';
import { say, scriptedModel } from '../../../src/testing/index.ts';
import { codecWith } from '../codec/codec-agents.ts';
import { expectSameFromHistory } from '../testbed/same-from-history.ts';
import { historyOf, Testbed, until } from '../testbed/testbed.ts';

const pages = defineTool({
  name: 'read_page',
  description: 'Reads a page',
  parameters: z.object({ page: z.number() }),
  execute: ({ page }) => `page ${page}`,
});

const reader = defineAgent({ name: 'reader', model: 'scripted/m', tools: [pages], burst: { steps: 16, seconds: 60 } });

/** The entries that the first attempt stores: an answer, and the result of its call. */
const STORED = [
  [
    5,
    'm1',
    {
      id: '00000000-0000-4000-8000-00000000000a',
      content: [{ type: 'tool_call', toolCallId: 'c1', name: 'read_page', arguments: { page: 1 } }],
      usage: { promptTokens: 10, completionTokens: 5 },
    },
  ],
  [6, 't1/0', ['what was stored'], 1, '0000000a'],
];

/** Loses the first attempt at the first burst, which has stored something, and has the next one wait for long. */
function losing(stored: readonly unknown[]): ActivityInterceptorsFactory {
  return ({ info: { activityType, attempt } }) => ({
    inbound: {
      execute: async (input, next) => {
        const [{ seed, through }] = input.args as [{ seed: string; through: number }];
        if (activityType !== 'runBurst' || through > 1 || attempt > 1) return next(input);
        Context.current().heartbeat({ record: { entries: stored }, attempt: 1, seed });
        // The SDK sends it with the failure at the latest.
        await sleep(300);
        throw ApplicationFailure.create({ message: 'The worker is lost', nextRetryDelay: '10m' });
      },
    },
  });
}

const WAITS = 1;

/** Begins a run whose first burst is between two attempts. */
async function runBetween(testbed: Testbed, stored: readonly unknown[]): Promise<{ run: RunHandle; requests: readonly unknown[] }> {
  const scripted = scriptedModel([say('read')]);
  await testbed.work({ agents: [reader], providers: { scripted }, worker: { interceptors: { activity: [losing(stored)] } } });
  const run = await testbed.client.start(reader, { input: 'Q', taskQueue: testbed.taskQueue });
  await betweenAttempts(testbed, run);
  return { run, requests: scripted.requests };
}

/** Waits until the first burst of a run is between two attempts. */
function betweenAttempts({ client }: Testbed, { runId }: Pick<RunHandle<unknown>, 'runId'>): Promise<void> {
  return until(async () => {
    const { raw } = await client.temporal.workflow.getHandle(runId).describe();
    return raw.pendingActivities?.[0]?.state === WAITS && raw.pendingActivities[0].attempt === 2;
  }, 'the time between two attempts');
}

test.each<[what: string, act: (run: RunHandle) => Promise<unknown>]>([
  ['a message', (run) => run.send('and this', { mode: 'queue' })],
  ['a message that steers', (run) => run.send('and this', { mode: 'steer' })],
  ['a message that interrupts', (run) => run.send('and this', { mode: 'interrupt' })],
])(
  '%s between two attempts of a burst loses nothing that the first has stored, and is in the next request',
  async (_, act) => {
    await using testbed = await Testbed.open();
    const { run, requests } = await runBetween(testbed, STORED);
    await act(run);
    expect(await run.result({ timeout: 15_000 })).toMatchObject({ status: 'completed', output: 'read', stepsUsed: 2 });
    expect(requests).toHaveLength(1);
    const request = JSON.stringify(requests[0]);
    expect(request).toContain('what was stored');
    expect(request).toContain('and this');
    const names = (await historyOf(testbed, run.runId)).flatMap(
      ({ activityTaskScheduledEventAttributes: one }) => one?.activityType?.name ?? [],
    );
    expect(names).toEqual(['resolveAgent', 'runBurst', 'runBurst']);
    await expectSameFromHistory(testbed, run);
  },
  40_000,
);

test('a cancellation between two attempts of a burst records what the first attempt has stored, with its cost', async () => {
  await using testbed = await Testbed.open();
  const { run, requests } = await runBetween(testbed, STORED);
  await run.cancel('enough');
  const result = await run.result({ timeout: 15_000 });
  expect(result).toMatchObject({ status: 'cancelled', cancelReason: 'enough', stepsUsed: 1 });
  expect(result.usage.totalTokens).toBe(15);
  expect(requests).toHaveLength(0);
  expect(JSON.stringify((await run.context()).events)).toContain('what was stored');
  await expectSameFromHistory(testbed, run);
}, 40_000);

test('a pause between two attempts of a burst stops the run after what the first attempt has stored', async () => {
  await using testbed = await Testbed.open();
  const { run, requests } = await runBetween(testbed, STORED);
  await run.pause();
  await until(async () => (await run.status()).status === 'paused', 'the pause');
  expect({ requests: requests.length, step: (await run.status()).currentStep }).toEqual({ requests: 0, step: 1 });
  await expectSameFromHistory(testbed, run);
  await run.resume();
  expect(await run.result({ timeout: 15_000 })).toMatchObject({ status: 'completed', output: 'read', stepsUsed: 2 });
}, 40_000);

test('a message between two attempts of a burst that has stored nothing is in its first request', async () => {
  await using testbed = await Testbed.open();
  const { run, requests } = await runBetween(testbed, []);
  await run.send('and this');
  expect(await run.result({ timeout: 15_000 })).toMatchObject({ status: 'completed', output: 'read', stepsUsed: 1 });
  expect(JSON.stringify(requests)).toContain('and this');
  await expectSameFromHistory(testbed, run);
}, 40_000);

test('a message between two attempts of a burst loses nothing that the first attempt has stored encrypted', async () => {
  await using testbed = await Testbed.open();
  const codec = codecWith('k1', 1);
  const scripted = scriptedModel([say('read')]);
  await testbed.work({ agents: [reader], providers: { scripted }, codec, worker: { interceptors: { activity: [losing(STORED)] } } });
  const client = await connect({ address: testbed.address, namespace: testbed.client.temporal.options.namespace, codec });
  try {
    const run = await client.start(reader, { input: 'Q', taskQueue: testbed.taskQueue });
    await betweenAttempts(testbed, run);
    await run.send('and this');
    expect(await run.result({ timeout: 15_000 })).toMatchObject({ status: 'completed', output: 'read', stepsUsed: 2 });
    expect(scripted.requests).toHaveLength(1);
    expect(JSON.stringify(scripted.requests[0])).toContain('what was stored');
  } finally {
    await client.close();
  }
}, 40_000);
