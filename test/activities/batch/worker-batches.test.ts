import { expect, test } from 'vitest';
import { type BatchOptions, WorkerBatches } from '../../../activities/batch/worker-batches.ts';
import { openai } from '../../../activities/models/openai/openai.ts';
import { defineAgent } from '../../../src/index.ts';
import { scriptedModel } from '../../../src/testing/index.ts';

const PROVIDERS = { openai: openai({ apiKey: 'key' }), scripted: scriptedModel([]) };

test.each<[what: string, options: unknown, problem: RegExp]>([
  ['no object', 5, /"batch" is 5: write \{ openai/],
  ['a provider that the worker does not have', { opnai: {} }, /"batch\.opnai": the worker has no provider "opnai".*Did you mean "openai"/],
  ['a provider without batches', { scripted: {} }, /the client of provider "scripted" has no batches: give "client"/],
  ['an unknown option', { openai: { windw: '5m' } }, /unknown option "windw"/],
  ['a window that is not a time', { openai: { window: 'soon' } }, /"window" is "soon"/],
  ['a deadline shorter than the window', { openai: { window: '2h', deadline: '1h' } }, /"deadline" is shorter than "window"/],
  ['a deadline longer than its calls wait', { openai: { deadline: '6d' } }, /"deadline" is "6d": write at most/],
  ['no calls', { openai: { most: 0 } }, /"most" is 0: write a whole number of at least 1/],
  ['more calls than the provider takes', { openai: { most: 60_000 } }, /takes at most 50000 calls/],
  ['an unknown end', { openai: { onExpired: 'wait' } }, /"onExpired" is "wait": write "interactive", "retry" or "fail"/],
  ['a client without a method', { scripted: { client: { submit: () => undefined } } }, /"client" has no "status"/],
])('%s is refused when the worker is created', (_, options, problem) => {
  expect(() => new WorkerBatches(options as Record<string, BatchOptions>, PROVIDERS)).toThrow(problem);
});

test('the defaults are five minutes, ten thousand calls and a day, and expired calls are made at once', () => {
  const { policy } = new WorkerBatches({ openai: {} }, PROVIDERS).of('openai/gpt-5');
  expect(policy).toMatchObject({ windowMs: 300_000, most: 10_000, deadlineMs: 86_400_000, onExpired: 'interactive' });
});

test('an agent of the tier "batch" is refused by a worker that has no batches of its provider', () => {
  const batches = new WorkerBatches({ openai: {} }, PROVIDERS);
  const agents = ['openai/gpt-5', 'scripted/m'].map((model, index) =>
    defineAgent({ name: `a${index}`, model: model as 'a/b', tier: 'batch' }),
  );
  expect(() => batches.requireFor(agents)).toThrow(
    /agent "a1" has the tier "batch": the worker has no batches of the provider "scripted" \(it has: "openai"\)/,
  );
  batches.requireFor(agents.slice(0, 1));
});

test('an unknown tier is refused when the agent is defined', () => {
  expect(() => defineAgent({ name: 'a', model: 'openai/gpt-5', tier: 'cheap' as 'batch' })).toThrow(
    /"tier" is "cheap": write "interactive" or "batch"/,
  );
});

test('a collector that is full is followed by the next one', () => {
  const batches = new WorkerBatches({ openai: {} }, PROVIDERS);
  expect([batches.collectorOf('openai'), batches.isFull('openai', 0), batches.isFull('openai', 0), batches.collectorOf('openai')]).toEqual([
    0, 1, 1, 1,
  ]);
});
