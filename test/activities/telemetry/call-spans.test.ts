import { msToTs } from '@temporalio/common/lib/time.js';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { modelSpans, toolSpan, type WorkerTelemetry } from '../../../activities/telemetry/call-spans.ts';
import { type AttemptInfo, attemptInfo, type InsideAttempt, withAttemptInfo } from '../../../activities/attempts/attempt-info.ts';
import { runToolActivity } from '../../../activities/tool-calls/run-tool.ts';
import { jsonBytes } from '../../../src/core/domain/byte-budgets.ts';
import { ModelCallError } from '../../../src/core/domain/errors.ts';
import type { JsonValue } from '../../../src/core/domain/json.ts';
import { NOT_SENT } from '../../../src/core/domain/model.ts';
import type { RunToolInput } from '../../../src/core/protocol.ts';
import { defineAgent, defineTool } from '../../../src/index.ts';
import { idGenerator, type RunTrace } from '../../../src/telemetry/ids.ts';
import { prometheusMetrics } from '../../../src/telemetry/prometheus.ts';
import { Telemetry } from '../../../src/telemetry/telemetry.ts';
import { plainApi, RecordingMeter, RecordingSdk } from '../../telemetry/recording-sdk.ts';
import { activityEnvironment } from '../activity-environment.ts';

const TRACE: RunTrace = {
  run: { namespace: 'default', runId: 'clerk-1', firstExecutionId: 'f0e1' },
  traceId: '0af7651916cd43dd8448eb211c80319c',
  isSampled: true,
};
const INPUT = { agentName: 'clerk', callId: 'c1', step: 1, at: [1, 0] } as RunToolInput;

function workerOf(sdk: RecordingSdk, meterProvider = new RecordingMeter()): WorkerTelemetry {
  const telemetry = new Telemetry(plainApi(sdk), { tracerProvider: sdk, meterProvider });
  return {
    telemetry,
    captureContent: 'redacted',
    redact: (value) => JSON.parse(JSON.stringify(value).replaceAll('sk-1', '[redacted]')) as JsonValue,
    traces: { ofActivity: async () => TRACE } as never,
  };
}

/** Returns the attributes of the span of a call with this text as its argument and its result. */
async function attributesOf(text: string): Promise<Record<string, unknown>> {
  const sdk = new RecordingSdk(idGenerator);
  const worker = workerOf(sdk);
  await activityEnvironment().run(async () => {
    const span = await toolSpan(worker, INPUT, { tool: 'read', args: { text } });
    span.ended({ content: [text], isError: false });
    await span.attemptOver({ isCancelled: false });
  }, null);
  // It is handed over once the server can have the outcome.
  expect(sdk.exported).toEqual([]);
  await worker.telemetry.flush();
  return sdk.exported[0]?.attributes ?? {};
}

const CONTENT = ['gen_ai.tool.call.arguments', 'gen_ai.tool.call.result'];

test.each(CONTENT)('%s is whole up to 64 kB of JSON', async (name) => {
  const attributes = await attributesOf('sk-1 and more');
  expect(attributes[name]).toContain('[redacted] and more');
});

test.each(CONTENT)('%s is cut at 64 kB of JSON, after secrets are taken out', async (name) => {
  const written = String((await attributesOf(`sk-1${'ä"'.repeat(60_000)}`))[name]);
  expect(written.length).toBeGreaterThan(10_000);
  expect(jsonBytes(written)).toBeLessThanOrEqual(64_000);
  expect(written).toContain('[redacted]ä');
});

test.each([
  { what: 'an attempt that was made is reported', details: undefined, lost: [1] },
  { what: 'an attempt that was parked is not', details: { batch: { provider: 'openai', since: 0, first: 1, collector: 0 } }, lost: [] },
])('a worker that is lost: $what', async ({ details, lost }) => {
  const sdk = new RecordingSdk(idGenerator);
  const pendingActivities = [{ activityId: 'a1', lastFailure: { timeoutFailureInfo: { timeoutType: 4 } } }];
  const info = { activityId: 'a1', attempt: 2, retryPolicy: {} };
  const environment = activityEnvironment({ heartbeatDetails: details, pendingActivities, info });
  await environment.run(async () => {
    await modelSpans(workerOf(sdk), { run: INPUT, agentName: 'clerk', through: 1 });
  }, null);
  expect(sdk.exported.map(({ attributes }) => attributes['longhaul.attempt'])).toEqual(lost);
});

/** A second attempt at the first call of the second attempt at a burst, whose first one has ended as `lastFailure` says. */
async function inBurst<Result>(inside: Partial<InsideAttempt>, lastFailure: object, work: () => Promise<Result>): Promise<Result> {
  const pendingActivities = [{ activityId: 'a1', lastStartedTime: msToTs(100_000), lastFailure }];
  const environment = activityEnvironment({ pendingActivities, info: { activityId: 'a1', attempt: 2 } });
  return environment.run(() => {
    const { attempt, isLocal, startToCloseTimeoutMs, currentAttemptScheduledTimestampMs, signal } = attemptInfo();
    const known = { name: 'callModel', attempt, isLocal, startToCloseTimeoutMs, currentAttemptScheduledTimestampMs, signal };
    const unknown = { heartbeatTimeoutMs: undefined, retryPolicy: undefined, heartbeatDetails: undefined, isCancelled: false };
    const info: AttemptInfo = {
      ...known,
      ...unknown,
      scheduledTimestampMs: 200_000,
      inside: { isRetry: false, earlier: 0, whenStored: () => undefined, ...inside },
      heartbeat: () => undefined,
    };
    return withAttemptInfo(info, work);
  }, null);
}

const LOST = { timeoutFailureInfo: { timeoutType: 4 } };

function failed(type: string): object {
  return { applicationFailureInfo: { type } };
}

test.each([
  { what: 'an attempt that its worker has lost is reported, with an end that is not before its start', isRetry: false, lost: [1] },
  { what: 'an attempt before in the same process was not lost', isRetry: true, lost: [] },
  { what: 'so is one whose outcome the server has not stored', isRetry: false, failure: failed('burst_not_stored'), lost: [1] },
  { what: 'one that failed before it made any call has lost none', isRetry: false, failure: failed('server_unreachable'), lost: [] },
])('a call in a burst is retried: $what', async ({ isRetry, failure = LOST, lost }) => {
  const sdk = new RecordingSdk(idGenerator);
  await inBurst({ isRetry }, failure, () => modelSpans(workerOf(sdk), { run: INPUT, agentName: 'clerk', through: 1 }));
  expect(sdk.exported.map(({ attributes }) => attributes['longhaul.attempt'])).toEqual(lost);
  for (const { startTime = 0, endTime = -1 } of sdk.exported) expect(startTime).toBeLessThanOrEqual(endTime);
});

/** Returns the ids of the spans of a first attempt at a tool call and a model call. */
async function idsOf(work: (spans: () => Promise<void>) => Promise<void>): Promise<string[]> {
  const sdk = new RecordingSdk(idGenerator);
  const worker = workerOf(sdk);
  await work(async () => {
    const span = await toolSpan(worker, INPUT, { tool: 'read', args: {} });
    span.ended({ content: ['x'], isError: false });
    await span.attemptOver({ isCancelled: false });
    const begin = await modelSpans(worker, { run: INPUT, agentName: 'clerk', through: 1 });
    begin('openai/gpt').failed(new Error('no'), null, { isAborted: false });
  });
  await worker.telemetry.flush();
  return sdk.exported.map(({ spanId }) => spanId);
}

test('each activity that makes a call counts its attempts from one, and so does each time that a burst or a batch makes it: no span is another one', async () => {
  const byActivity = (activityId: string): Promise<string[]> =>
    idsOf((spans) => activityEnvironment({ info: { activityId } }).run(spans, null));
  const inside = (earlier: number): Promise<string[]> =>
    idsOf((spans) => inBurst({ isRetry: true, earlier, whenStored: (report) => report() }, LOST, spans));
  const ids = await Promise.all([byActivity('5'), byActivity('8'), inside(0), inside(1), inside(2)]);
  expect(new Set(ids.flat()).size).toBe(10);
  expect(await byActivity('5')).toEqual(ids[0]);
});

test('a request that was not sent has not been refused by the provider, and does not count as a call of the model', async () => {
  const sdk = new RecordingSdk(idGenerator);
  const worker = workerOf(sdk);
  const page = prometheusMetrics();
  const telemetry = new Telemetry(plainApi(sdk), { tracerProvider: sdk, meterProvider: page });
  await activityEnvironment().run(async () => {
    const begin = await modelSpans({ ...worker, telemetry }, { run: INPUT, agentName: 'clerk', through: 1 });
    for (const message of [`${NOT_SENT}the limits are used up`, 'slow down']) {
      begin('openai/gpt').failed(new ModelCallError('model_rate_limited', message), null, { isAborted: false });
    }
  }, null);
  expect(sdk.exported.map(({ attributes }) => attributes['error.type'])).toEqual(['not_sent', 'model_rate_limited']);
  expect(page.text()).toMatch(/gen_ai_client_inference_duration_seconds_count\{[^}]*error_type="model_rate_limited"[^}]*\} 1\n/);
  expect(page.text()).not.toContain('not_sent');
});

test('a call in a burst is reported once the server has its outcome: the next attempt may repeat it under the same name', async () => {
  const sdk = new RecordingSdk(idGenerator);
  const worker = workerOf(sdk);
  const held: (() => void)[] = [];
  await inBurst({ isRetry: true, whenStored: (report) => held.push(report) }, LOST, async () => {
    const ended = await toolSpan(worker, INPUT, { tool: 'read', args: {} });
    ended.ended({ content: ['x'], isError: false });
    const begin = await modelSpans(worker, { run: INPUT, agentName: 'clerk', through: 1 });
    begin('openai/gpt').answered({ content: 'x', toolCalls: [], usage: null, finishReason: 'stop' }, null);
  });
  await worker.telemetry.flush();
  expect(sdk.exported).toEqual([]);
  for (const report of held) report();
  expect(sdk.exported.map(({ name }) => name)).toEqual(['execute_tool read', 'chat gpt']);
});

test('a tool whose time is over has failed for its run, and so has its span', async () => {
  const sdk = new RecordingSdk(idGenerator);
  const worker = workerOf(sdk);
  await activityEnvironment().run(async () => {
    const span = await toolSpan(worker, INPUT, { tool: 'read', args: {} });
    span.timedOut();
    await span.attemptOver({ isCancelled: false });
  }, null);
  await worker.telemetry.flush();
  expect(sdk.exported.map(({ attributes }) => attributes['error.type'])).toEqual(['tool_failed']);
});

test('an attempt that has failed by its time is no unhandled rejection while the server is asked about it', async () => {
  const unhandled: unknown[] = [];
  const note = (reason: unknown): number => unhandled.push(reason);
  process.on('unhandledRejection', note);
  const worker = workerOf(new RecordingSdk(idGenerator));
  worker.telemetry.later = () => undefined;
  const act = defineTool({
    name: 'act',
    description: 'Acts',
    parameters: z.object({}),
    execute: () => new Promise<never>(() => undefined),
  });
  const info = { activityId: 'a1', activityType: 'act', attempt: 1, heartbeatTimeoutMs: 1, retryPolicy: { maximumAttempts: 3 } };
  const agents = [defineAgent({ name: 'clerk', model: 'scripted/m', tools: [act] })];
  const environment = activityEnvironment({ agents, info, telemetry: worker, pendingActivities: [{ activityId: 'a1', attempt: 1 }] });
  const calling = environment.run(runToolActivity(environment.runtime), { ...INPUT, eventId: 'e1', arguments: {}, timeoutMs: 10 });
  await expect(calling).rejects.toMatchObject({ type: 'tool_timeout' });
  process.off('unhandledRejection', note);
  expect(unhandled).toEqual([]);
});

const ENDS: Readonly<Record<string, (span: Awaited<ReturnType<typeof toolSpan>>) => void>> = {
  'with a result': (span) => span.ended({ content: ['x'], isError: false }),
  'with an error': (span) => span.failed(new Error('no')),
  'when its time is over': (span) => span.timedOut(),
};

/** What the server knows of an attempt that was held up. */
interface HeldUp {
  pendingActivities: object[];
  info: object;
  isCancelled?: boolean;
}

test.each(Object.keys(ENDS))('a delayed attempt that ends %s is reported only if the server still waits for it', async (end) => {
  const HELD_UP = {
    attempt: 1,
    heartbeatTimeoutMs: 3_000,
    startToCloseTimeoutMs: 60_000,
    currentAttemptScheduledTimestampMs: Date.now() - 4_000,
  };
  const known = {
    'it waits for it': { pendingActivities: [{ activityId: 'a1', attempt: 1 }], info: HELD_UP },
    'another attempt is under way': { pendingActivities: [{ activityId: 'a1', attempt: 2 }], info: HELD_UP },
    'another attempt has ended': { pendingActivities: [], info: HELD_UP },
    'its run has cancelled it, and has ended': { pendingActivities: [], info: HELD_UP, isCancelled: true },
    // Nobody is asked.
    'it cannot have lost patience': { pendingActivities: [], info: { ...HELD_UP, currentAttemptScheduledTimestampMs: Date.now() } },
  };
  const reported: Record<string, number> = {};
  for (const [name, { pendingActivities, info, isCancelled = false }] of Object.entries<HeldUp>(known)) {
    const sdk = new RecordingSdk(idGenerator);
    const worker = workerOf(sdk);
    await activityEnvironment({ pendingActivities, info: { activityId: 'a1', ...info } }).run(async () => {
      const span = await toolSpan(worker, INPUT, { tool: 'read', args: {} });
      ENDS[end]?.(span);
      await span.attemptOver({ isCancelled });
    }, null);
    await worker.telemetry.flush();
    reported[name] = sdk.exported.length;
  }
  expect(reported).toEqual({
    'it waits for it': 1,
    'another attempt is under way': 0,
    'another attempt has ended': 0,
    'its run has cancelled it, and has ended': 1,
    'it cannot have lost patience': 1,
  });
});

test('an attempt at a model call counts what it has cost, as the usage of its run does', async () => {
  const meter = new RecordingMeter();
  const worker = workerOf(new RecordingSdk(idGenerator), meter);
  const prices = { 'openai/gpt': { input: 1, output: 2, hosted: { web_search: 10 } } };
  const usage = { promptTokens: 1_000_000, completionTokens: 0, totalTokens: 1_000_000 };
  await activityEnvironment({}).run(async () => {
    const begin = await modelSpans(worker, { run: INPUT, agentName: 'clerk', prices, through: 1 });
    const answer = { content: 'a', toolCalls: [], finishReason: 'stop', usage };
    begin('openai/gpt').answered(answer, usage);
    begin('openai/gpt', { inBatch: true }).answered(answer, usage);
    begin('openai/gpt').answered({ ...answer, hosted: [{ name: 'web_search' }] }, usage);
    begin('openai/gpt').failed(new Error('cut off'), usage, { isAborted: false });
    begin('openai/gpt').answered(answer, { ...usage, costUsd: 7 });
    // Neither its usage nor its price is known.
    begin('openai/gpt').failed(new Error('no'), null, { isAborted: false });
    begin('openai/other').answered(answer, usage);
  }, null);
  const costs = meter.measured.filter(({ name }) => name === 'longhaul.model.cost_usd');
  expect(costs.map(({ value }) => value)).toEqual([1, 0.5, 1.01, 1, 7]);
});
