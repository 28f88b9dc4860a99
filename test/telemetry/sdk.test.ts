import { context, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { spanIdOf, traceIdOf, traceOfStart } from '../../src/telemetry/ids.ts';
import { telemetry } from '../../src/telemetry/telemetry.ts';

const RUN = { namespace: 'default', runId: 'clerk-1', firstExecutionId: 'f0e1' };

beforeAll(() => void context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable()));

afterAll(() => {
  context.disable();
  trace.disable();
});

test('a real SDK takes the ids, and puts spans that a tool starts below that of its call', async () => {
  const exporter = new InMemorySpanExporter();
  const reported = await telemetry({
    tracerProvider: (idGenerator) => new BasicTracerProvider({ idGenerator, spanProcessors: [new SimpleSpanProcessor(exporter)] }),
  });
  reported.requireOwnIds();
  const place = traceOfStart(RUN, undefined);
  const start = { name: 'execute_tool search', spanId: spanIdOf(RUN, 'tool', 'c1', 1), parentSpanId: spanIdOf(RUN, 'run'), attributes: {} };
  const span = reported.start(place, start);
  await reported.within(span, async () => {
    await Promise.resolve();
    new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }).getTracer('of a tool').startSpan('SELECT').end();
  });
  span?.end();
  reported.report(place, {
    name: 'invoke_agent clerk',
    traceId: place.traceId,
    spanId: spanIdOf(RUN, 'run'),
    attributes: {},
    startTime: 1_000,
    endTime: 3_500,
  });

  const [inner, tool, run] = exporter.getFinishedSpans();
  expect([inner?.name, tool?.name, run?.name]).toEqual(['SELECT', 'execute_tool search', 'invoke_agent clerk']);
  expect(inner?.parentSpanContext?.spanId).toBe(start.spanId);
  expect(tool?.parentSpanContext?.spanId).toBe(run?.spanContext().spanId);
  for (const one of [inner, tool, run]) expect(one?.spanContext().traceId).toBe(traceIdOf(RUN));
  expect(run?.parentSpanContext).toBeUndefined();
  expect(run?.duration).toEqual([2, 500_000_000]);
});

test('a worker is refused whose SDK makes ids of its own, or that has none', async () => {
  const random = await telemetry({ tracerProvider: new BasicTracerProvider() });
  expect(() => random.requireOwnIds()).toThrow(/makes ids of its own/);
  const none = await telemetry();
  expect(() => none.requireOwnIds()).toThrow(/there is no tracer provider/);
});

test('a provider that is registered globally is used', async () => {
  const exporter = new InMemorySpanExporter();
  const reported = await telemetry();
  const { idGenerator } = reported;
  trace.setGlobalTracerProvider(new BasicTracerProvider({ idGenerator, spanProcessors: [new SimpleSpanProcessor(exporter)] }));
  reported.requireOwnIds();
  expect(exporter.getFinishedSpans()).toEqual([]);
});
