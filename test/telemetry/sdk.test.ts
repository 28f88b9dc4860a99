import * as api from '@opentelemetry/api';
import * as contexts3 from '@opentelemetry-3/context-async-hooks';
import * as exporter3 from '@opentelemetry-3/exporter-trace-otlp-proto';
import * as sdk3 from '@opentelemetry-3/sdk-trace';
import * as contexts2 from '@opentelemetry/context-async-hooks';
import * as exporter2 from '@opentelemetry/exporter-trace-otlp-proto';
import * as sdk2 from '@opentelemetry/sdk-trace-base';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { type IdGenerator, spanIdOf, traceIdOf, traceOfStart } from '../../src/telemetry/ids.ts';
import type { TracerProvider } from '../../src/telemetry/provider.ts';
import { type Telemetry, telemetry } from '../../src/telemetry/telemetry.ts';
import { OtlpReceiver } from './otlp-receiver.ts';

const RUN = { namespace: 'default', runId: 'clerk-1', firstExecutionId: 'f0e1' };
/** Not long after 1970, an SDK would take times for offsets from the start of the process. */
const BEGAN = Date.UTC(2026, 0, 1);

/** A span that has ended, as the SDKs give it to an exporter. */
interface EndedSpan {
  name: string;
  spanContext(): { traceId: string; spanId: string };
  parentSpanContext?: { spanId: string };
  duration: [number, number];
}

/** An SDK as a user has it. */
interface Sdk {
  contextManager: () => { enable(): unknown };
  /** A provider that keeps ended spans. Without a generator it makes its own ids. */
  provider: (ended: EndedSpan[], idGenerator?: IdGenerator) => TracerProvider;
  /** A provider that sends spans in the binary form of OTLP, and the function that sends those that wait. */
  exporting: (
    url: string,
    idGenerator: IdGenerator,
    reported: Pick<Telemetry, 'spanProcessor'>,
  ) => TracerProvider & { forceFlush(): Promise<unknown> };
}

const keeping = (ended: EndedSpan[]) => ({
  onStart: () => undefined,
  onEnd: (span: unknown) => void ended.push(span as EndedSpan),
  forceFlush: async () => undefined,
  shutdown: async () => undefined,
});

const SDKS: [name: string, sdk: Sdk][] = [
  [
    'SDK 2',
    {
      contextManager: () => new contexts2.AsyncLocalStorageContextManager(),
      provider: (ended, idGenerator) =>
        new sdk2.BasicTracerProvider({ ...(idGenerator && { idGenerator }), spanProcessors: [keeping(ended)] }),
      exporting: (url, idGenerator, reported) =>
        new sdk2.BasicTracerProvider({
          idGenerator,
          spanProcessors: [reported.spanProcessor(new exporter2.OTLPTraceExporter({ url: `${url}/v1/traces` }))],
        }),
    },
  ],
  [
    'SDK 3',
    {
      contextManager: () => new contexts3.AsyncLocalStorageContextManager(),
      provider: (ended, idGenerator) => new sdk3.TracerProvider({ ...(idGenerator && { idGenerator }), spanProcessors: [keeping(ended)] }),
      exporting: (url, idGenerator, reported) =>
        new sdk3.TracerProvider({
          idGenerator,
          spanProcessors: [reported.spanProcessor(new exporter3.OTLPTraceExporter({ url: `${url}/v1/traces` }))],
        }),
    },
  ],
];

/** Reports a call, with a span that its tool makes inside it, and the run. Returns the id of the span of the call. */
async function reportRun(reported: Telemetry, ofTool: TracerProvider): Promise<string> {
  const place = traceOfStart(RUN, undefined);
  const start = {
    name: 'execute_tool search',
    spanId: spanIdOf(RUN, 'tool', 'c1', 1),
    parentSpanId: spanIdOf(RUN, 'run'),
    attributes: { list: ['a', 'b'], cost: 0.5 },
  };
  const span = reported.start(place, start);
  await reported.within(span, async () => {
    await Promise.resolve();
    ofTool.getTracer('of a tool').startSpan('SELECT', {}, api.context.active()).end();
  });
  if (span !== undefined) reported.fail(span, 'tool_failed');
  span?.end();
  const run = { name: 'invoke_agent clerk', traceId: place.traceId, spanId: spanIdOf(RUN, 'run'), attributes: { 'longhaul.steps': 3 } };
  reported.report(place, { ...run, startTime: BEGAN, endTime: BEGAN + 2_500 });
  return start.spanId;
}

describe.each(SDKS)('%s', (_, sdk) => {
  beforeAll(() => void api.context.setGlobalContextManager(sdk.contextManager().enable() as api.ContextManager));

  afterAll(() => {
    api.context.disable();
    api.trace.disable();
  });

  test.each(['@opentelemetry/api', '@opentelemetry-1.9/api'])(
    'takes the ids, and puts spans that a tool starts below the span of its call, with %s',
    async (name) => {
      const load = vi.fn<() => Promise<object>>(() => import(name) as Promise<object>);
      vi.doMock('@opentelemetry/api', load);
      try {
        const ended: EndedSpan[] = [];
        const reported = await telemetry({ tracerProvider: (idGenerator) => sdk.provider(ended, idGenerator) });
        expect(load).toHaveBeenCalledOnce();
        reported.requireOwnIds();
        const call = await reportRun(reported, sdk.provider(ended));
        const [inner, tool, run] = ended;
        expect([inner?.name, tool?.name, run?.name]).toEqual(['SELECT', 'execute_tool search', 'invoke_agent clerk']);
        expect(inner?.parentSpanContext?.spanId).toBe(call);
        expect(tool?.parentSpanContext?.spanId).toBe(run?.spanContext().spanId);
        for (const one of ended) expect(one.spanContext().traceId).toBe(traceIdOf(RUN));
        expect(run?.parentSpanContext).toBeUndefined();
        expect(run?.duration).toEqual([2, 500_000_000]);
      } finally {
        vi.doUnmock('@opentelemetry/api');
      }
    },
  );

  test('sends its spans to a collector in the binary form, with the ids and contents of the JSON form', async () => {
    await using receiver = await OtlpReceiver.listen();
    let provider: ReturnType<Sdk['exporting']> | undefined;
    const reported: Telemetry = await telemetry({
      tracerProvider: (idGenerator) => (provider = sdk.exporting(receiver.url, idGenerator, reported)),
    });
    const call = await reportRun(reported, sdk.provider([]));
    await provider?.forceFlush();
    expect(receiver.headers[0]?.['content-type']).toBe('application/x-protobuf');
    const [tool, run] = receiver.spans;
    expect(tool).toMatchObject({
      name: 'execute_tool search',
      traceId: traceIdOf(RUN),
      spanId: call,
      parentSpanId: run?.spanId,
      status: { code: 2, message: 'tool_failed' },
      values: { list: { values: [{ stringValue: 'a' }, { stringValue: 'b' }] }, cost: 0.5 },
    });
    expect(run).toMatchObject({
      name: 'invoke_agent clerk',
      startTimeUnixNano: `${BEGAN}000000`,
      endTimeUnixNano: `${BEGAN + 2_500}000000`,
      values: { 'longhaul.steps': '3' },
    });
    expect(run?.parentSpanId).toBeUndefined();
    expect(reported.dropped).toBe(0);
  });

  test('is refused if it makes its own ids', async () => {
    const random = await telemetry({ tracerProvider: sdk.provider([]) });
    expect(() => random.requireOwnIds()).toThrow(/makes its own ids/);
  });

  test('is used if its provider is registered globally', async () => {
    const ended: EndedSpan[] = [];
    const reported = await telemetry();
    api.trace.setGlobalTracerProvider(sdk.provider(ended, reported.idGenerator) as unknown as api.TracerProvider);
    reported.requireOwnIds();
    expect(ended).toEqual([]);
  });
});

test('a worker is refused if there is no SDK', async () => {
  const none = await telemetry();
  expect(() => none.requireOwnIds()).toThrow(/there is no tracer provider/);
});
