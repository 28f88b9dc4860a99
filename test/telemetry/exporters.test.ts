import { afterEach, describe, expect, test, vi } from 'vitest';
import { otelEnvironment } from '../../src/telemetry/environment.ts';
import { idGenerator, spanIdOf, traceIdOf, traceOfStart } from '../../src/telemetry/ids.ts';
import { serveMetrics } from '../../src/telemetry/metrics-server.ts';
import { prometheusMetrics } from '../../src/telemetry/prometheus.ts';
import { SpanQueue } from '../../src/telemetry/span-queue.ts';
import { telemetry } from '../../src/telemetry/telemetry.ts';
import { OtlpReceiver } from './otlp-receiver.ts';
import { RecordingMeter, RecordingSdk } from './recording-sdk.ts';

const RUN = { namespace: 'default', runId: 'clerk-1', firstExecutionId: 'f0e1' };

afterEach(() => void vi.unstubAllEnvs());

describe('spans on their way', () => {
  test('are dropped and counted if the backend is slow, and whoever ends a span never waits', async () => {
    const sent: number[][] = [];
    const dropped: number[] = [];
    let release = (): void => undefined;
    const queue = new SpanQueue<number>(
      (items) => {
        sent.push(items);
        return new Promise((resolve) => (release = resolve));
      },
      (count) => dropped.push(count),
      { most: 4, batch: 2, everyMs: 1 },
    );
    for (let item = 0; item < 10; item += 1) queue.add(item);
    expect(sent).toEqual([[0, 1]]);
    // Four wait, and four are too many.
    expect(dropped).toEqual([1, 1, 1, 1]);
    const flushed = queue.flush();
    while (sent.flat().length < 6) {
      release();
      await new Promise(setImmediate);
    }
    release();
    await flushed;
    expect(sent.flat()).toEqual([0, 1, 2, 3, 4, 5]);
  });

  test.each([
    ['refuses them', () => Promise.reject(new Error('down'))],
    [
      'throws',
      () => {
        throw new Error('broken');
      },
    ],
    ['never answers', () => new Promise<void>(() => undefined)],
  ])('are counted if the backend %s', async (_, send) => {
    let dropped = 0;
    const queue = new SpanQueue<number>(send, (count) => (dropped += count), { everyMs: 1, timeoutMs: 5 });
    for (let item = 0; item < 3; item += 1) queue.add(item);
    await queue.flush();
    expect(dropped).toBe(3);
  });

  test('are flushed as far as they waited: spans that end meanwhile do not keep a process from ending', async () => {
    const sent: number[] = [];
    const queue: SpanQueue<number> = new SpanQueue<number>(
      async (items) => {
        sent.push(...items);
        if (sent.length < 100) queue.add(sent.length);
      },
      () => undefined,
      { most: 4, batch: 2, everyMs: 60_000 },
    );
    for (let item = 0; item < 3; item += 1) queue.add(item);
    await queue.flush();
    expect(sent.slice(0, 3)).toEqual([0, 1, 2]);
    expect(sent.length).toBeLessThan(6);
  });

  test('are all given up by a flush if the backend does not answer, after the time of one answer', async () => {
    const [sent, dropped]: [number[][], number[]] = [[], []];
    const hanging = (items: number[]): Promise<void> => {
      sent.push(items);
      return new Promise(() => undefined);
    };
    const queue = new SpanQueue<number>(hanging, (count) => dropped.push(count), { batch: 2, everyMs: 60_000, timeoutMs: 20 });
    for (let item = 0; item < 9; item += 1) queue.add(item);
    await queue.flush();
    expect([sent, dropped]).toEqual([[[0, 1]], [2, 7]]);
  });

  test('of an SDK pass a processor that counts those which the exporter does not take', async () => {
    const meterProvider = new RecordingMeter();
    const reported = await telemetry({ tracerProvider: 'none', meterProvider });
    const exported: unknown[] = [];
    const span = (traceFlags: number) => ({ spanContext: () => ({ traceFlags }) });
    const processor = reported.spanProcessor<ReturnType<typeof span>>({
      export: (spans, done) => {
        exported.push(...spans);
        done({ code: exported.length > 1 ? 1 : 0 });
      },
      shutdown: async () => undefined,
    });
    processor.onEnd(span(0));
    processor.onEnd(span(1));
    await processor.forceFlush();
    expect([exported.length, reported.dropped]).toEqual([1, 0]);
    processor.onEnd(span(1));
    await processor.shutdown();
    expect([exported.length, reported.dropped, meterProvider.sum('longhaul.telemetry.dropped')]).toEqual([2, 1, 1]);
  });
});

describe('telemetry from the variables of OpenTelemetry', () => {
  test.each([
    { form: 'as JSON', protocol: undefined, types: ['application/json'] },
    { form: 'as JSON until the collector refuses that', protocol: undefined, types: ['application/json', 'application/x-protobuf'] },
    { form: 'in the binary form', protocol: 'http/protobuf', types: ['application/x-protobuf'] },
  ])('sends spans to the collector $form, with ids that follow from the run, and counts those that it does not take', async (how) => {
    await using receiver = await OtlpReceiver.listen();
    receiver.refused = how.types[0] === how.types.at(-1) ? undefined : 'application/json';
    vi.stubEnv('OTEL_EXPORTER_OTLP_PROTOCOL', how.protocol);
    vi.stubEnv('OTEL_EXPORTER_OTLP_ENDPOINT', `${receiver.url}/`);
    vi.stubEnv('OTEL_EXPORTER_OTLP_HEADERS', 'authorization=Basic%20abc,x-tenant=one');
    vi.stubEnv('OTEL_RESOURCE_ATTRIBUTES', 'deployment.environment.name=test');
    vi.stubEnv('OTEL_SERVICE_NAME', 'clerks');
    const reported = await telemetry({ meterProvider: new RecordingMeter() });
    reported.requireOwnIds();
    const place = traceOfStart(RUN, undefined);
    const root = spanIdOf(RUN, 'run');
    const span = reported.start(place, {
      name: 'chat m',
      kind: 'client',
      spanId: spanIdOf(RUN, 'chat', 1),
      parentSpanId: root,
      attributes: { a: 1 },
    });
    span?.setAttributes({ b: ['x'], c: true, d: 0.5, e: -1, f: 'ä' });
    span?.end();
    const links = [{ traceId: traceIdOf({ ...RUN, runId: 'other' }), spanId: 'a1'.repeat(8) }];
    reported.report(place, {
      name: 'invoke_agent clerk',
      traceId: place.traceId,
      spanId: root,
      attributes: {},
      links,
      startTime: 1_000,
      endTime: 2_500,
      error: 'timeout',
    });
    await reported.flush();
    const [chat, run, ...rest] = receiver.spans;
    expect(rest).toEqual([]);
    expect(chat).toMatchObject({ name: 'chat m', kind: 3, traceId: place.traceId, parentSpanId: root });
    expect(chat?.values).toEqual({ a: '1', b: { values: [{ stringValue: 'x' }] }, c: true, d: 0.5, e: '-1', f: 'ä' });
    expect(run).toMatchObject({
      spanId: root,
      startTimeUnixNano: '1000000000',
      endTimeUnixNano: '2500000000',
      links,
      status: { code: 2, message: 'timeout' },
    });
    expect(run?.parentSpanId).toBeUndefined();
    expect(run?.resource).toEqual({ 'service.name': 'clerks', 'deployment.environment.name': 'test' });
    expect(receiver.headers[0]).toMatchObject({ authorization: 'Basic abc', 'x-tenant': 'one' });
    expect(receiver.headers.map((headers) => headers['content-type'])).toEqual(how.types);
    receiver.status = 503;
    reported.start(place, { name: 'chat m', spanId: spanIdOf(RUN, 'chat', 2), parentSpanId: root, attributes: {} })?.end();
    await reported.flush();
    expect(reported.dropped).toBe(1);
  });

  test.each([
    [{}, { hasSpans: true, target: undefined, ratio: undefined, page: undefined }],
    [
      { OTEL_SDK_DISABLED: 'true', OTEL_METRICS_EXPORTER: 'prometheus' },
      { hasSpans: false, page: undefined },
    ],
    [{ OTEL_TRACES_EXPORTER: 'none' }, { hasSpans: false }],
    [{ OTEL_TRACES_SAMPLER: 'parentbased_traceidratio', OTEL_TRACES_SAMPLER_ARG: '0.25' }, { ratio: 0.25 }],
    [{ OTEL_TRACES_SAMPLER: 'always_off' }, { ratio: 0 }],
    [{ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://c:1/spans' }, { target: { url: 'http://c:1/spans' } }],
    [{ OTEL_METRICS_EXPORTER: 'prometheus', OTEL_EXPORTER_PROMETHEUS_PORT: '9999' }, { page: { host: 'localhost', port: 9999 } }],
    // An empty variable is not set.
    [{ OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '' }, { ratio: 1 }],
    [{ OTEL_TRACES_SAMPLER: '', OTEL_TRACES_SAMPLER_ARG: '' }, { ratio: undefined }],
    [
      {
        OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c:1',
        OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: '',
        OTEL_EXPORTER_OTLP_PROTOCOL: 'http/protobuf',
        OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: '',
        OTEL_EXPORTER_OTLP_HEADERS: 'a=b',
        OTEL_EXPORTER_OTLP_TRACES_HEADERS: '',
      },
      { target: { url: 'http://c:1/v1/traces', form: 'binary', headers: { a: 'b' } } },
    ],
    [
      { OTEL_METRICS_EXPORTER: 'prometheus', OTEL_EXPORTER_PROMETHEUS_HOST: '', OTEL_EXPORTER_PROMETHEUS_PORT: '' },
      { page: { host: 'localhost', port: 9464 } },
    ],
  ])('reads %j', (env, expected) => {
    expect(otelEnvironment(env)).toMatchObject(expected);
  });

  test.each([
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'collector' }, /"collector\/v1\/traces" of OTEL_EXPORTER_OTLP_ENDPOINT is not a URL/],
    [
      { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c:4317', OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' },
      /is "grpc", and Longhaul sends spans over HTTP/,
    ],
    [{ OTEL_TRACES_SAMPLER: 'jaeger_remote' }, /OTEL_TRACES_SAMPLER is "jaeger_remote"/],
    [{ OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '2' }, /from 0 to 1/],
    [{ OTEL_METRICS_EXPORTER: 'prometheus', OTEL_EXPORTER_PROMETHEUS_PORT: 'x' }, /write the number of a port/],
  ])('refuses %j', (env, message) => {
    const environment = otelEnvironment(env);
    expect(() => [environment.target, environment.ratio, environment.page]).toThrow(message);
  });

  test.each([
    { what: 'a tracer provider is given', variables: {}, options: () => ({ tracerProvider: new RecordingSdk(idGenerator) }) },
    { what: 'there are no traces', variables: { OTEL_TRACES_EXPORTER: 'none' }, options: () => ({}) },
  ])('what only an SDK can follow is not refused if $what', async ({ variables, options }) => {
    const ofSdk = {
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c:4317',
      OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc',
      OTEL_TRACES_SAMPLER: 'jaeger_remote',
    };
    for (const [name, value] of Object.entries({
      ...ofSdk,
      OTEL_EXPORTER_PROMETHEUS_PORT: 'x',
      OTEL_METRICS_EXPORTER: 'prometheus',
      ...variables,
    }))
      vi.stubEnv(name, value);
    const reported = await telemetry({ meterProvider: new RecordingMeter(), sampleRatio: 1, ...options() });
    expect(() => reported.requireOwnIds()).not.toThrow();
  });

  test('an unknown protocol is refused when a worker is created', async () => {
    vi.stubEnv('OTEL_EXPORTER_OTLP_ENDPOINT', 'http://c:4317');
    vi.stubEnv('OTEL_EXPORTER_OTLP_PROTOCOL', 'grpc');
    const reported = await telemetry({ meterProvider: new RecordingMeter() });
    expect(() => reported.requireOwnIds()).toThrow(/Longhaul sends spans over HTTP/);
  });

  test('another collector at the same address gets the form that it accepts', async () => {
    await using receiver = await OtlpReceiver.listen();
    vi.stubEnv('OTEL_EXPORTER_OTLP_ENDPOINT', receiver.url);
    const reported = await telemetry({ meterProvider: new RecordingMeter() });
    const place = traceOfStart(RUN, undefined);
    for (const [call, refused] of [
      [1, 'application/json'],
      [2, 'application/x-protobuf'],
      [3, undefined],
    ] as const) {
      receiver.refused = refused;
      reported.start(place, { name: 'chat m', spanId: spanIdOf(RUN, 'chat', call), attributes: {} })?.end();
      await reported.flush();
    }
    expect(receiver.spans.map(({ spanId }) => spanId)).toEqual([1, 2, 3].map((call) => spanIdOf(RUN, 'chat', call)));
    expect(reported.dropped).toBe(0);
    const [json, binary] = ['application/json', 'application/x-protobuf'];
    expect(receiver.headers.map((headers) => headers['content-type'])).toEqual([json, binary, binary, json, json]);
  });
});

describe('the page of metrics', () => {
  test('is served at /metrics alone, with what others measure', async () => {
    const page = prometheusMetrics();
    const attributes = { namespace: 'default', poller_type: 'workflow_task' };
    page.follow(() => [
      { metric: { name: 'temporal_num_pollers', kind: 'gauge' }, value: 5, attributes },
      { metric: { name: 'temporal_request', kind: 'counter' }, value: 2, attributes: {} },
      { metric: { name: 'temporal_request_latency', kind: 'histogram', unit: 's' }, value: 0.02, attributes: {} },
    ]);
    const server = await serveMetrics(page, { port: 0 });
    const answer = await fetch(server.url);
    expect(answer.headers.get('content-type')).toContain('version=0.0.4');
    const lines = (await answer.text()).split('\n');
    expect(lines).toContain('temporal_num_pollers{namespace="default",poller_type="workflow_task"} 5');
    expect(lines).toContain('# TYPE temporal_num_pollers gauge');
    expect(lines).toContain('temporal_request_total 2');
    expect(lines).toContain('temporal_request_latency_seconds_bucket{le="0.05"} 1');
    expect((await fetch(server.url.replace('/metrics', '/'))).status).toBe(404);
    await expect(serveMetrics(page, { port: Number(new URL(server.url).port) })).rejects.toThrow(/cannot be served at/);
    await server.close();
  });

  test('has the health of the worker next to it, if there is a worker', async () => {
    let health: () => { ready: boolean; state: string } = () => ({ ready: true, state: 'RUNNING' });
    const server = await serveMetrics(prometheusMetrics(), { port: 0, health: () => health() });
    const ask = async (path: string): Promise<[number, unknown]> => {
      const answer = await fetch(server.url.replace('/metrics', path));
      return [answer.status, await answer.json()];
    };
    expect(await ask('/readyz')).toEqual([200, { ready: true, state: 'RUNNING' }]);
    health = () => ({ ready: false, state: 'DRAINING' });
    expect(await ask('/readyz')).toEqual([503, { ready: false, state: 'DRAINING' }]);
    expect((await fetch(server.url.replace('/metrics', '/healthz'))).status).toBe(200);
    health = () => {
      throw new Error('no answer');
    };
    expect(await ask('/readyz')).toEqual([503, { ready: false, message: 'no answer' }]);
    await server.close();

    const alone = await serveMetrics(prometheusMetrics(), { port: 0 });
    expect((await fetch(alone.url.replace('/metrics', '/readyz'))).status).toBe(404);
    await alone.close();
  });
});
