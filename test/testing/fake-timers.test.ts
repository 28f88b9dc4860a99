import { mock } from 'node:test';
import { afterEach, expect, it, vi } from 'vitest';
import { z } from 'zod';
import * as definitions from '../../src/index.ts';
import * as testing from '../../src/testing/index.ts';

afterEach(() => {
  vi.useRealTimers();
  mock.timers.reset();
});

type Testing = typeof testing;

/** Runs an agent in memory that waits in every way: for retries, a decision, a slow answer, a day, and in bursts. */
async function tested(
  { defineAgent, defineTool }: typeof definitions,
  { approve, callTool, failWith, say, scriptedModel, testAgent }: Testing,
): Promise<string> {
  const refund = defineTool({
    name: 'refund',
    description: 'Refunds an order',
    parameters: z.object({ amount: z.number() }),
    approval: { when: 'always', deadline: '1d', onDeadline: 'reject' },
    timeout: '1m',
    execute: ({ amount }) => `paid ${amount}`,
  });
  const look = defineTool({ name: 'look', description: 'Looks', parameters: z.object({}), category: 'read', execute: () => 'seen' });
  const clerk = defineAgent({ name: 'clerk', model: 'scripted/m', tools: [refund, look], burst: true });
  const model = scriptedModel([
    failWith('model_rate_limited', 'Later', { retryAfter: '1m' }),
    callTool('look'),
    callTool('refund', { amount: 5 }),
    callTool('refund', { amount: 6 }),
    say('Paid.', { chunks: 3, every: 1 }),
  ]);
  let asked = 0;
  const decide = () => ((asked += 1) === 1 ? approve() : undefined);
  const { result } = await testAgent(clerk, { input: 'Hi', model, decide });
  return `${result.status}: ${JSON.stringify(result.output)}`;
}

const FAKES: [string, () => unknown][] = [
  ['all that Vitest fakes', () => vi.useFakeTimers()],
  ['at another time', () => vi.useFakeTimers({ now: new Date('2030-01-01') })],
  [
    'also the queue of microtasks',
    () => vi.useFakeTimers({ toFake: ['setTimeout', 'setImmediate', 'setInterval', 'Date', 'queueMicrotask'] }),
  ],
  ['a clock that stands still alone', () => vi.setSystemTime('2030-01-01')],
];

it.each([...FAKES, ['those of node:test', () => mock.timers.enable()]])(
  'a run in memory goes on while its test has fake timers: %s',
  async (_, fake) => {
    fake();
    expect(await tested(definitions, testing)).toBe('completed: "Paid."');
  },
);

it.each(FAKES)('a run in memory goes on if the timers were fake before the package was loaded: %s', async (_, fake) => {
  vi.resetModules();
  fake();
  const [loaded, tests] = await Promise.all([import('../../src/index.ts'), import('../../src/testing/index.ts')]);
  expect(await tested(loaded, tests)).toBe('completed: "Paid."');
});

it('gives a run the time that its test has chosen', async () => {
  vi.useFakeTimers({ now: new Date('2030-01-01') });
  const { defineAgent } = definitions;
  const { say, scriptedModel, testAgent } = testing;
  const { result } = await testAgent(defineAgent({ name: 'clerk', model: 'scripted/m' }), {
    input: 'Hi',
    model: scriptedModel([say('Hi')]),
  });
  expect(result.toJSON().startTime).toContain('2030-01-01T00:00');
});
