import { expect, inject, test } from 'vitest';
import { type BatchClient, type BatchResult, openai, prometheusMetrics, telemetry } from '../../../worker/index.ts';
import { LonghaulError } from '../../../src/index.ts';
import { callCli } from '../../cli/call-cli.ts';
import { collectorId } from '../../../src/core/protocol.ts';
import { idGenerator } from '../../../src/telemetry/ids.ts';
import { Telemetry } from '../../../src/telemetry/telemetry.ts';
import { type BatchApiOptions, completion, lastText, startBatchApi } from '../../fakes/batch-api.ts';
import { expectSameFromHistory } from '../testbed/same-from-history.ts';
import { until } from '../testbed/testbed.ts';
import { type ExportedSpan, plainApi, RecordingSdk } from '../../telemetry/recording-sdk.ts';
import { asking, begun, callsIn, guarded, hooked, lookAndTell, parent, payer, plain, tempered, posted, quick } from './batch-scene.ts';

test('a run of the tier "batch" makes no bursts: its model calls wait for batches as activities', async () => {
  await using scene = await begun({ answer: lookAndTell });
  const run = await scene.start(quick, 'Q');
  expect(await run.result()).toMatchObject({ status: 'completed', output: 'found seen Q' });
  expect(await callsIn(scene.testbed, run)).toEqual(['resolveAgent', 'callModel', 'look', 'callModel']);
  await expectSameFromHistory(scene.testbed, run);
});

test('a batch is full at "most" calls, however much of the window is left', async () => {
  await using scene = await begun({}, { window: '5s', most: 2 });
  const runs = await Promise.all(['a', 'b', 'c', 'd'].map((input) => scene.start(plain, input)));
  expect((await Promise.all(runs.map((run) => run.result()))).map(({ output }) => output)).toEqual([
    'answer to a',
    'answer to b',
    'answer to c',
    'answer to d',
  ]);
  expect(scene.api.batches.map(({ lines }) => lines.length)).toEqual([2, 2]);
});

test('a batch is full at the bytes that the provider takes, too', async () => {
  const api = await startBatchApi();
  const { batches } = openai({ baseURL: api.url, apiKey: 'key', api: 'chat' });
  if (batches === undefined) throw new TypeError('no batches');
  const client: BatchClient = {
    limits: { items: 100, bytes: 6_000 },
    submit: (batch, context) => batches.submit(batch, context),
    status: (id, context) => batches.status(id, context),
    results: (id, context) => batches.results(id, context),
    cancel: (id, context) => batches.cancel(id, context),
  };
  await using scene = await begun({}, { window: '5s', client });
  const runs = await Promise.all(['a', 'b'].map((letter) => scene.start(plain, letter.repeat(4_000))));
  const results = await Promise.all(runs.map((run) => run.result()));
  expect(results.map(({ status }) => status)).toEqual(['completed', 'completed']);
  expect(api.batches.map(({ lines }) => lines.length)).toEqual([1, 1]);
  await api.close();
});

test('children inherit the tier, a step of a program chooses it, and hooks act on requests of batches', async () => {
  const answer: BatchApiOptions['answer'] = (line) =>
    lastText(line) === 'delegate' ? completion('', [{ name: 'child', arguments: { request: 'sub' } }]) : completion(`[${lastText(line)}]`);
  await using scene = await begun({ answer });
  const { api, testbed } = scene;
  const ofParent = await testbed.client.start(parent, { input: 'delegate', taskQueue: testbed.taskQueue });
  const ofProgram = await testbed.client.startProgram(asking, { taskQueue: testbed.taskQueue });
  const ofHook = await scene.start(hooked, 'hello');
  expect(await ofParent.result()).toMatchObject({ status: 'completed', output: '[[sub]]' });
  expect(await ofProgram.result()).toMatchObject({ status: 'completed', error: null, output: 'at once: two [one]' });
  expect(await ofHook.result()).toMatchObject({ status: 'completed', output: '[hello]' });
  expect(api.paid.size).toBe(5);
  expect(api.requests.filter((one) => one === 'POST /chat/completions')).toHaveLength(1);
  const [line] = api.batches.flatMap(({ lines }) => lines).filter((one) => lastText(one) === 'hello');
  expect(JSON.stringify(line?.body)).toContain('Be polite.');
});

test('a call that waits is shown with its batch, and ends at once if its run is cancelled: its paid answer is counted', async () => {
  const page = prometheusMetrics();
  // Two calls fill a batch, however long they take to arrive.
  const batch = { window: '60s', most: 2 } as const;
  await using scene = await begun({ delayMs: 60_000 }, batch, {
    telemetry: await telemetry({ tracerProvider: 'none', meterProvider: page }),
  });
  const { api } = scene;
  const [first, second] = await Promise.all([scene.start(plain, 'kept'), scene.start(plain, 'given up')]);
  // The provider has the batch before the collector knows its id.
  await until(async () => (await first.status()).running?.[0]?.waitsForBatch?.id !== undefined, 'the batch has an id');
  const waiting = await first.status();
  expect(waiting.running).toMatchObject([{ name: 'callModel', waitsForBatch: { batch: 0, id: 'batch_1' } }]);
  await second.cancel('done');
  expect(await second.result()).toMatchObject({ status: 'cancelled' });
  // A call that is cancelled while it waits is in no batch that is submitted later.
  const fourth = await scene.start(plain, 'left out');
  await until(async () => (await fourth.status()).running?.[0]?.waitsForBatch !== undefined, 'the call is registered');
  await fourth.cancel('done');
  expect(await fourth.result()).toMatchObject({ status: 'cancelled' });
  const third = await scene.start(plain, 'late');
  await posted(scene, 2);
  expect(api.batches[1]?.lines.map(lastText)).toEqual(['late']);
  api.options.delayMs = 0;
  expect([(await first.result()).output, (await third.result()).output]).toEqual(['answer to kept', 'answer to late']);
  await until(() => page.text().includes('longhaul_batch_age_seconds_count'), 'the end of the batch is measured');
  expect(page.text()).toMatch(/longhaul_batch_waiting\{[^}]*provider_name="openai"[^}]*\} 0/);
});

test.each([
  { onExpired: 'interactive', calls: 2, result: { status: 'completed', output: 'at once: Q' } },
  { onExpired: 'retry', calls: 1, result: { status: 'completed', output: 'second try' } },
  { onExpired: 'fail', calls: 1, result: { status: 'error', errorCode: 'model_timeout' } },
] as const)('a call that its batch has not answered in time: $onExpired', async ({ onExpired, calls, result }) => {
  let isFirst = true;
  const answer = (): ReturnType<NonNullable<BatchApiOptions['answer']>> => (isFirst ? 'expired' : completion('second try'));
  await using scene = await begun({ answer }, { onExpired });
  const run = await scene.start(plain, 'Q');
  await posted(scene);
  await until(() => scene.api.requests.filter((one) => one === 'GET /files/:id/content').length >= 2, 'the results are read');
  isFirst = false;
  expect(await run.result()).toMatchObject(result);
  expect((await callsIn(scene.testbed, run)).filter((name) => name === 'callModel')).toHaveLength(calls);
});

test('a batch that is not done by its deadline is cancelled', async () => {
  await using scene = await begun({ delayMs: 3_600_000 }, { window: 200, deadline: '1s' });
  const run = await scene.start(plain, 'Q');
  expect(await run.result()).toMatchObject({ status: 'completed', error: null, output: 'at once: Q' });
  expect(scene.api.batches[0]?.isCancelled).toBe(true);
});

test('the deadline of a run ends a call that waits for its batch, and its record is read back from history', async () => {
  await using scene = await begun({ delayMs: 3_600_000 });
  const { testbed } = scene;
  const limits = { deadline: '3s' } as const;
  const run = await testbed.client.start(plain, { input: 'Q', tier: 'batch', limits, taskQueue: testbed.taskQueue });
  await posted(scene);
  expect(await run.result()).toMatchObject({ status: 'limit_reached', stopReason: 'deadline', usage: { llmCalls: 0 } });
  await expectSameFromHistory(testbed, run);
});

test('an item that failed is tried in the next batch if its error passes, and fails its call otherwise', async () => {
  let refusals = 0;
  await using scene = await begun({
    answer: (line) => {
      if (lastText(line) === 'bad') return { status: 400, body: { error: { message: 'no such thing', type: 'invalid_request_error' } } };
      if (lastText(line) === 'busy' && scene.api.batches.length === 1 && (refusals += 1) > 0)
        return { status: 429, body: { error: { message: 'slow down' } } };
      return completion('well');
    },
  });
  const [bad, busy] = await Promise.all([scene.start(plain, 'bad'), scene.start(plain, 'busy')]);
  expect(await bad.result()).toMatchObject({ status: 'error', errorCode: 'model_bad_request' });
  expect(await busy.result()).toMatchObject({ status: 'completed', output: 'well' });
  expect(scene.api.batches).toHaveLength(2);
  expect(refusals).toBeGreaterThan(0);
});

test('a request that the server refuses for a reason that a rule explains is adapted in the next batch, like that of a direct call', async () => {
  await using scene = await begun({
    answer: ({ body }) =>
      'temperature' in body
        ? { status: 400, body: { error: { message: "Unsupported parameter: 'temperature' is not supported with this model." } } }
        : completion('well'),
  });
  const runs = await Promise.all(['one', 'two'].map((input) => scene.start(tempered, input)));
  for (const run of runs) expect(await run.result()).toMatchObject({ status: 'completed', output: 'well' });
  expect(scene.api.batches.flatMap(({ lines }) => lines.map(({ body }) => 'temperature' in body))).toEqual([true, true, false, false]);
});

test('a call with an unusable answer is repeated in the next batch, and each attempt has a span', async () => {
  const sdk = new RecordingSdk(idGenerator);
  const reported = new Telemetry(plainApi(sdk), { tracerProvider: sdk, meterProvider: prometheusMetrics() });
  await using scene = await begun({ answer: () => completion(scene.api.batches.length === 1 ? '' : 'well') }, {}, { telemetry: reported });
  const run = await scene.start(plain, 'Q');
  expect(await run.result()).toMatchObject({ status: 'completed', output: 'well' });
  const { traceId } = await run.traceContext();
  const ofCalls = (): ExportedSpan[] => sdk.exported.filter((span) => span.traceId === traceId && span.name.startsWith('chat '));
  await until(() => ofCalls().length === 2, 'the spans of both');
  expect(ofCalls().map(({ attributes }) => attributes['error.type'])).toEqual(['model_no_answer', undefined]);
  expect(new Set(ofCalls().map(({ spanId }) => spanId)).size).toBe(2);
});

test('a call that no batch has answered has a span for each, also if the worker lacks a hook of another call in the last', async () => {
  const sdk = new RecordingSdk(idGenerator);
  const reported = new Telemetry(plainApi(sdk), { tracerProvider: sdk, meterProvider: prometheusMetrics() });
  const answer: BatchApiOptions['answer'] = (line) => completion(lastText(line) === 'unanswered' ? '' : 'well');
  const batch = { window: '5s', most: 2 } as const;
  await using scene = await begun({ answer }, batch, { telemetry: reported });
  const { testbed, api } = scene;
  const run = await scene.start(plain, 'unanswered');
  // Each batch is full with the call and one more.
  for (const count of [1, 2]) expect(await (await scene.start(plain, `call ${count}`)).result()).toMatchObject({ output: 'well' });
  api.options.delayMs = 60_000;
  const beside = await scene.start(hooked, 'call 3');
  await posted(scene, 3);
  await testbed.stopWorkers();
  const providers = { openai: openai({ baseURL: api.url, apiKey: 'key', api: 'chat' }) };
  const ofWorker = { providers, batch: { openai: batch }, telemetry: reported };
  await testbed.work({ ...ofWorker, agents: [plain] });
  api.options.delayMs = 0;
  expect(await run.result()).toMatchObject({ status: 'error', errorCode: 'model_no_answer' });
  expect(await beside.status()).toMatchObject({ status: 'running' });
  await testbed.stopWorkers();
  await testbed.work({ ...ofWorker, agents: [plain, hooked] });
  expect(await beside.result()).toMatchObject({ status: 'completed', output: 'well' });
  const { traceId } = await run.traceContext();
  const ofCalls = (): ExportedSpan[] => sdk.exported.filter((span) => span.traceId === traceId && span.name.startsWith('chat '));
  await until(() => ofCalls().length === 3, 'the spans of all three');
  expect(ofCalls().map(({ attributes }) => attributes['error.type'])).toEqual(Array(3).fill('model_no_answer'));
  expect(new Set(ofCalls().map(({ spanId }) => spanId)).size).toBe(3);
}, 120_000);

test('a message that interrupts ends a call that waits, and the next call has the message', async () => {
  await using scene = await begun({ delayMs: 60_000 });
  const run = await scene.start(plain, 'first');
  await posted(scene);
  await run.send('rather this', { mode: 'interrupt' });
  await posted(scene, 2);
  scene.api.options.delayMs = 0;
  expect(await run.result()).toMatchObject({ status: 'completed', output: 'answer to rather this' });
});

test('a call waits for a decision as in any other run, and a guardrail ends a run in its batches', async () => {
  await using scene = await begun({
    answer: (line) =>
      lastText(line) === 'pay' ? completion('', [{ name: 'pay', arguments: { amount: 5 } }]) : completion(`[${lastText(line)}]`),
  });
  const { api } = scene;
  const paying = await scene.start(payer, 'pay');
  await until(async () => (await paying.approvals()).pending.length === 1, 'the call waits for its decision');
  const [pending] = (await paying.approvals()).pending;
  if (pending !== undefined) await paying.approve(pending);
  expect(await paying.result()).toMatchObject({ status: 'completed', output: '[paid 5]' });
  expect(await (await scene.start(guarded, 'secret')).result()).toMatchObject({ status: 'error', errorCode: 'guardrail_tripped' });
  expect(api.requests).not.toContain('POST /chat/completions');
});

test('a batch whose results cannot be read because of a defect is given up after some attempts, and its calls fail with the defect', async () => {
  let reads = 0;
  const client: BatchClient = {
    limits: { items: 10, bytes: 1_000_000 },
    submit: async () => 'b-1',
    status: async () => ({ hasEnded: true }),
    results: () => {
      reads += 1;
      throw new LonghaulError('internal', 'the file of results has no lines');
    },
    cancel: async () => undefined,
  };
  await using scene = await begun({}, { window: 50, client });
  const run = await scene.start(plain, 'a');
  expect(await run.result()).toMatchObject({ status: 'error', errorCode: 'internal', error: expect.stringContaining('has no lines') });
  expect(reads).toBe(5);
});

test('a call whose collector was terminated is registered with a new one: a worker would still answer for the terminated one', async () => {
  await using scene = await begun({}, { window: '8s' });
  const { testbed } = scene;
  const run = await scene.start(plain, 'Q');
  await until(async () => (await run.status()).running?.[0]?.waitsForBatch !== undefined, 'the call is registered');
  const { workflow } = testbed.client.temporal;
  await workflow.getHandle(collectorId('openai', 0, testbed.taskQueue)).terminate();
  const { raw } = await workflow.getHandle(run.runId).describe();
  const activity = raw.pendingActivities?.[0]?.activityId ?? '';
  // Its next attempt is due in a minute, which this makes now.
  const execution = { workflowId: run.runId };
  await workflow.workflowService.resetActivity({ namespace: inject('temporalNamespace'), execution, id: activity });
  expect(await run.result()).toMatchObject({ status: 'completed', error: null, output: 'answer to Q' });
  expect(await callsIn(testbed, run)).toEqual(['resolveAgent', 'callModel']);
}, 120_000);

test('a batch is given up only for consecutive failures: a batch that fails now and then is followed to its end', async () => {
  const polls: ('fails' | 'open' | 'ended')[] = ['fails', 'fails', 'fails', 'open', 'fails', 'fails', 'fails', 'ended'];
  const submitted: string[] = [];
  const client: BatchClient = {
    limits: { items: 10, bytes: 1_000_000 },
    submit: async ({ items }) => {
      submitted.push(...(await items()).map(({ id }) => id));
      return 'b-1';
    },
    status: async () => {
      const poll = polls.shift();
      if (poll === 'fails') throw new LonghaulError('internal', 'the state of the batch has no name');
      return { hasEnded: poll !== 'open' };
    },
    results: async function* (): AsyncGenerator<BatchResult> {
      for (const id of submitted)
        yield { id, type: 'answered', answer: { content: 'well', toolCalls: [], usage: null, finishReason: 'stop' } };
    },
    cancel: async () => undefined,
  };
  await using scene = await begun({}, { window: 50, client });
  const run = await scene.start(plain, 'a');
  expect(await run.result()).toMatchObject({ status: 'completed', error: null, output: 'well' });
  expect(polls).toEqual([]);
});

test('the command line starts a run of the tier, and shows which batch its call waits for', async () => {
  await using scene = await begun({ delayMs: 60_000 });
  const { testbed, api } = scene;
  const where = ['--address', testbed.address, '--namespace', inject('temporalNamespace')];
  const began = await callCli(['start', 'plain', 'kept', '--tier', 'batch', '--json', '--task-queue', testbed.taskQueue, ...where]);
  const { runId } = JSON.parse(began.stdout) as { runId: string };
  await posted(scene);
  const shown = await callCli(['show', runId, ...where]);
  expect(shown.stdout).toMatch(/waits since \S+ for batch 0 of "longhaul-batch\/openai\/.*" \(batch_1\)/);
  api.options.delayMs = 0;
  const { usage } = await testbed.client.handle(runId).result();
  expect(usage.costUsd).toBeCloseTo((1_000 * 2 + 100 * 8) / 1_000_000 / 2, 9);
  const refused = await callCli(['start', 'plain', 'kept', '--tier', 'slow', ...where]);
  expect([refused.exitCode, refused.stderr]).toEqual([2, expect.stringContaining('interactive, batch')]);
});
