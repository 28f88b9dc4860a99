import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import { readTraceparent } from '../../src/core/domain/run-input.ts';
import {
  idGenerator,
  isInSample,
  type RunTrace,
  spanIdOf,
  traceIdOf,
  traceOfChild,
  traceOfStart,
  traceOfTurn,
} from '../../src/telemetry/ids.ts';
import { Metrics } from '../../src/telemetry/metrics.ts';
import { prometheusMetrics } from '../../src/telemetry/prometheus.ts';
import { telemetry, Telemetry } from '../../src/telemetry/telemetry.ts';
import { plainApi, RecordingMeter, RecordingSdk } from './recording-sdk.ts';

const RUN = { namespace: 'default', runId: 'clerk-1', firstExecutionId: 'f0e1' };
const ATTRIBUTES = { 'gen_ai.agent.name': 'clerk' };

describe('ids', () => {
  test('follow from the run alone, and differ for all that is another span', () => {
    expect(traceIdOf({ ...RUN })).toBe(traceIdOf(RUN));
    expect(traceIdOf(RUN)).toMatch(/^[0-9a-f]{32}$/);
    const ids = [
      spanIdOf(RUN, 'run'),
      spanIdOf(RUN, 'tool', 'c1', 1),
      spanIdOf(RUN, 'tool', 'c1', 2),
      spanIdOf(RUN, 'chat', '1', 1, 1),
      spanIdOf(RUN, 'chat', '11', 1),
      spanIdOf(RUN, 'turn', 1),
      spanIdOf({ ...RUN, firstExecutionId: 'other' }, 'run'),
      spanIdOf({ ...RUN, namespace: 'other' }, 'run'),
    ];
    expect(new Set(ids).size).toBe(ids.length);
    for (const id of ids) expect(id).toMatch(/^[0-9a-f]{16}$/);
  });

  test('of other spans are random', () => {
    expect(idGenerator.generateTraceId()).toMatch(/^[0-9a-f]{32}$/);
    expect(idGenerator.generateSpanId()).not.toBe(idGenerator.generateSpanId());
  });

  test.each([
    ['00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01', true],
    ['00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00', false],
    ['01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more', true],
    ['ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01', undefined],
    ['00-00000000000000000000000000000000-b7ad6b7169203331-01', undefined],
    ['00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01', undefined],
    ['a trace', undefined],
  ])('of a caller come from its traceparent: %s', (text, isSampled) => {
    expect(readTraceparent(text)?.isSampled).toBe(isSampled);
    const { traceId } = traceOfStart(RUN, text);
    expect(traceId).toBe(isSampled === undefined ? traceIdOf(RUN) : '0af7651916cd43dd8448eb211c80319c');
  });

  test('decide whether a trace is recorded, more of them with a higher ratio', () => {
    fc.assert(
      fc.property(fc.uuid(), fc.double({ min: 0, max: 1, noNaN: true }), fc.double({ min: 0, max: 1, noNaN: true }), (id, one, other) => {
        const traceId = id.replaceAll('-', '');
        expect(isInSample(traceId, 1)).toBe(true);
        const [least, most] = [Math.min(one, other), Math.max(one, other)];
        expect(isInSample(traceId, least) && !isInSample(traceId, most)).toBe(false);
      }),
    );
    const ids = Array.from({ length: 2_000 }, (_, index) => traceIdOf({ ...RUN, runId: `run-${index}` }));
    const part = ids.filter((id) => isInSample(id, 0.25)).length / ids.length;
    expect(part).toBeGreaterThan(0.2);
    expect(part).toBeLessThan(0.3);
  });
});

describe('telemetry', () => {
  test('takes a provider with its generator, and refuses others before anything runs', () => {
    const own = new RecordingSdk(idGenerator);
    expect(() => new Telemetry(plainApi(own), {}).requireOwnIds()).not.toThrow();
    expect(() => new Telemetry(plainApi(own), { tracerProvider: (ids) => new RecordingSdk(ids) }).requireOwnIds()).not.toThrow();
    const random = new RecordingSdk({ generateTraceId: () => randomUUID().replaceAll('-', ''), generateSpanId: () => 'a1'.repeat(8) });
    expect(() => new Telemetry(plainApi(random), {}).requireOwnIds()).toThrow(/makes its own ids: create it with "idGenerator"/);
    const none = new RecordingSdk({ generateTraceId: () => '0'.repeat(32), generateSpanId: () => '0'.repeat(16) });
    expect(() => new Telemetry(plainApi(none), {}).requireOwnIds()).toThrow(/there is no tracer provider/);
    expect([...own.exported, ...random.exported]).toEqual([]);
  });

  test.each([
    [{ sampleRate: 1 }, /unknown option "sampleRate"/],
    [{ sampleRatio: 2 }, /"sampleRatio" is 2: write a number from 0 to 1/],
    [{ sampleRatio: Number.NaN }, /"sampleRatio"/],
  ])('refuses %j', async (options, message) => {
    await expect(telemetry(options as never)).rejects.toThrow(message);
  });

  test('records no part of a trace that is not sampled by its caller or its ratio', () => {
    const sdk = new RecordingSdk(idGenerator);
    const start = { name: 'chat m', spanId: spanIdOf(RUN, 'chat', 1, 1), attributes: ATTRIBUTES };
    const unsampled = traceOfStart(RUN, '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00');
    expect(new Telemetry(plainApi(sdk), {}).start(unsampled, start)).toBeUndefined();
    expect(new Telemetry(plainApi(sdk), { sampleRatio: 0 }).start(traceOfStart(RUN, undefined), start)).toBeUndefined();
  });

  test('records the trace of a caller who records it, at any ratio but 0, and leaves later turns of its session to the ratio', () => {
    const sdk = new RecordingSdk(idGenerator);
    const start = { name: 'chat m', spanId: spanIdOf(RUN, 'chat', 1, 1), attributes: ATTRIBUTES };
    const recorded = (trace: RunTrace, sampleRatio: number): boolean =>
      new Telemetry(plainApi(sdk), { sampleRatio }).start(trace, start) !== undefined;
    const session = (flag: string): RunTrace => ({
      ...traceOfStart(RUN, `00-0af7651916cd43dd8448eb211c000000-b7ad6b7169203331-${flag}`),
      isSession: true,
    });
    for (const [flag, isSampled] of [
      ['01', true],
      ['00', false],
    ] as const) {
      const first = traceOfTurn(session(flag), 1);
      expect([1e-9, 1].map((ratio) => recorded(first, ratio))).toEqual([isSampled, isSampled]);
      expect(recorded(traceOfChild({ ...RUN, runId: 'clerk-1/child' }, first), 1e-9)).toBe(isSampled);
      expect(recorded(first, 0)).toBe(false);
      expect([1e-9, 1].map((ratio) => recorded(traceOfTurn(session(flag), 2), ratio))).toEqual([false, true]);
    }
  });

  test('counts the spans that a throwing SDK has lost, and throws nothing itself', () => {
    const broken = {
      getTracer: () => ({
        startSpan: () => {
          throw new Error('full');
        },
      }),
    };
    const meterProvider = new RecordingMeter();
    const lossy = new Telemetry(plainApi(broken), { meterProvider });
    const start = { name: 'chat m', spanId: 'a1'.repeat(8), attributes: {} };
    expect(lossy.start(traceOfStart(RUN, undefined), start)).toBeUndefined();
    lossy.report({ isSampled: true }, { ...start, traceId: traceIdOf(RUN), startTime: 1, endTime: 2 });
    expect(lossy.dropped).toBe(2);
    expect(meterProvider.sum('longhaul.telemetry.dropped')).toBe(2);
  });
});

describe('metrics', () => {
  test('count tokens by model, and name no run', () => {
    const provider = new RecordingMeter();
    const metrics = new Metrics(provider);
    const usage = { promptTokens: 100, completionTokens: 20, totalTokens: 120, cachedTokens: 80, cacheWriteTokens: 10 };
    metrics.modelCall({ model: 'anthropic/claude-5', agent: 'clerk', seconds: 1.5, firstChunkSeconds: 0.2, usage, dollars: 0.2 });
    metrics.modelCall({ model: 'anthropic/claude-5', agent: 'clerk', seconds: 0.1, code: 'model_rate_limited' });
    metrics.fallback({ from: 'a/b', to: 'c/d', code: 'model_rate_limited' });
    metrics.runStarted('clerk');
    metrics.runEnded({ agent: 'clerk', status: 'completed', stopReason: 'completed' });
    metrics.answered({ agent: 'clerk', isWorkflow: false, seconds: 3, modelCalls: 2, toolCalls: 1, dollars: 0.25 });
    expect(provider.sum('gen_ai.client.inference.usage.input_tokens')).toBe(100);
    expect(provider.sum('gen_ai.client.inference.usage.cache_read.input_tokens')).toBe(80);
    expect(provider.sum('gen_ai.client.inference.time_to_first_chunk')).toBe(0.2);
    expect(provider.sum('longhaul.cost_usd')).toBe(0.25);
    expect(provider.measured.filter(({ name }) => name === 'longhaul.model.cost_usd')).toMatchObject([
      {
        value: 0.2,
        labels: { 'gen_ai.provider.name': 'anthropic', 'gen_ai.request.model': 'claude-5', 'gen_ai.agent.name': 'clerk' },
      },
    ]);
    expect(provider.measured.find(({ labels }) => labels['error.type'] === 'model_rate_limited')?.labels).toEqual({
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'anthropic',
      'gen_ai.request.model': 'claude-5',
      'error.type': 'model_rate_limited',
    });
    const names = new Set(provider.measured.flatMap(({ labels }) => Object.keys(labels)));
    expect([...names].filter((name) => /run\.id|tenant|user/.test(name))).toEqual([]);
  });

  test('have at most 200 values of a label, and one for all others', () => {
    const provider = new RecordingMeter();
    const metrics = new Metrics(provider);
    for (let index = 0; index < 300; index += 1) metrics.toolCall({ tool: `tool-${index}`, agent: 'clerk', seconds: 1 });
    metrics.toolCall({ tool: 'tool-7', agent: 'clerk', seconds: 1 });
    const values = provider.measured.map(({ labels }) => labels['gen_ai.tool.name']);
    expect(new Set(values).size).toBe(201);
    expect(values.filter((value) => value === 'other')).toHaveLength(100);
    expect(values.at(-1)).toBe('tool-7');
  });

  test('are a page for Prometheus without any SDK, with the buckets of durations and escaped labels', async () => {
    const provider = prometheusMetrics();
    const alone = await telemetry({ tracerProvider: 'none', meterProvider: provider });
    alone.requireOwnIds();
    alone.metrics.toolCall({ tool: 'say "hi"\\', agent: 'clerk', seconds: 0.03 });
    alone.metrics.toolCall({ tool: 'say "hi"\\', agent: 'clerk', seconds: 100 });
    alone.metrics.fallback({ from: 'a/b', to: 'c/d', code: 'model_timeout' });
    alone.metrics.fallback({ from: 'a/b', to: 'c/d', code: 'model_timeout' });
    const lines = provider.text().split('\n');
    const labels = 'gen_ai_tool_name="say \\"hi\\"\\\\",gen_ai_agent_name="clerk"';
    expect(lines).toContain('# TYPE gen_ai_execute_tool_duration_seconds histogram');
    expect(lines).toContain(`gen_ai_execute_tool_duration_seconds_bucket{${labels},le="0.02"} 0`);
    expect(lines).toContain(`gen_ai_execute_tool_duration_seconds_bucket{${labels},le="0.04"} 1`);
    expect(lines).toContain(`gen_ai_execute_tool_duration_seconds_bucket{${labels},le="+Inf"} 2`);
    expect(lines).toContain(`gen_ai_execute_tool_duration_seconds_count{${labels}} 2`);
    expect(lines).toContain('longhaul_fallbacks_total{from="a/b",to="c/d",code="model_timeout"} 2');
    expect(provider.text().endsWith('\n')).toBe(true);
    expect(alone.start(traceOfStart(RUN, undefined), { name: 'chat m', spanId: 'a1'.repeat(8), attributes: {} })).toBeUndefined();
  });
});

test('late reports wait for their own time, whatever was before them, and a flush does not wait', async () => {
  vi.useFakeTimers();
  try {
    const reporting = new Telemetry(plainApi(new RecordingSdk(idGenerator)), {});
    const reported: string[] = [];
    reporting.later(() => reported.push('first'));
    vi.advanceTimersByTime(60);
    reporting.later(() => reported.push('second'));
    vi.advanceTimersByTime(60);
    expect(reported).toEqual(['first']);
    vi.advanceTimersByTime(40);
    expect(reported).toEqual(['first', 'second']);
    reporting.later(() => reported.push('third'));
    await reporting.flush();
    expect(reported).toEqual(['first', 'second', 'third']);
  } finally {
    vi.useRealTimers();
  }
});
