import { expect, test } from 'vitest';
import type { RunHandle } from '../../../src/client/index.ts';
import { openai } from '../../../worker/index.ts';
import { Testbed } from '../testbed/testbed.ts';
import { begun, callsIn, clerk, lookAndTell, plain } from './batch-scene.ts';

// What else becomes of calls that wait for batches is in `batched-runs.test.ts`, which runs with the matrices.
test('a run of the tier "batch" gets its answers from batches, with the events and the usage of any other, at half the price', async () => {
  await using scene = await begun({ answer: lookAndTell });
  const { api, testbed } = scene;
  const runs = await Promise.all(Array.from({ length: 5 }, (_, index) => scene.start(clerk, `Q${index}`)));
  const results = await Promise.all(runs.map((run) => run.result()));
  expect(results.map(({ status, output, error }) => [status, output, error])).toEqual(
    results.map((_, index) => ['completed', `found seen Q${index}`, null]),
  );
  expect(results[0]?.usage).toMatchObject({ llmCalls: 2, promptTokens: 2_000, completionTokens: 200 });
  // Half of what 2,000 and 200 tokens cost.
  expect(results[0]?.usage.costUsd).toBeCloseTo((2_000 * 2 + 200 * 8) / 1_000_000 / 2, 9);
  expect([...api.paid.values()]).toEqual(Array.from({ length: 10 }, () => 1));
  for (const id of api.paid.keys()) expect(id).toMatch(/^[0-9a-f]{32}$/);
  expect(api.batches.length).toBeLessThanOrEqual(4);
  for (const { key } of api.batches) expect(key).toMatch(/^longhaul-batch\/openai\//);
  expect((await callsIn(testbed, runs[0] as RunHandle<unknown>)).filter((name) => name === 'callModel')).toHaveLength(2);
  // Nothing is streamed, and there were no immediate requests.
  expect(api.batches.flatMap(({ lines }) => lines).filter(({ body }) => 'stream' in body)).toEqual([]);
  expect(api.requests).not.toContain('POST /chat/completions');
});

test('a start with the tier "batch" fails at once if the worker has no batches of the provider', async () => {
  await using testbed = await Testbed.open();
  await testbed.work({ agents: [plain], providers: { openai: openai({ baseURL: 'http://127.0.0.1:9', apiKey: 'key' }) } });
  const run = await testbed.client.start(plain, { input: 'Q', tier: 'batch', taskQueue: testbed.taskQueue });
  const { errorCode, error } = await run.result();
  expect([errorCode, error]).toEqual(['invalid_agent', expect.stringContaining('the worker has no batches of the provider "openai"')]);
});
