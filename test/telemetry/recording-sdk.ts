import type { IdGenerator } from '../../src/telemetry/ids.ts';
import type { Api, ApiMeter, ApiSpan, Attributes, MeterProvider, SpanContext, TracerProvider } from '../../src/telemetry/provider.ts';

/** A span as an exporter would get it. */
export interface ExportedSpan {
  name: string;
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  attributes: Attributes;
  links?: { traceId: string; spanId: string }[];
  status?: { code: number; message?: string };
  startTime?: number;
  endTime?: number;
}

/** An SDK that keeps what it would export. Its ids come from the generator, which is called as by a real SDK. */
export class RecordingSdk implements TracerProvider {
  readonly exported: ExportedSpan[] = [];
  readonly #ids: IdGenerator;

  constructor(ids: IdGenerator) {
    this.#ids = ids;
  }

  getTracer(): ReturnType<TracerProvider['getTracer']> {
    return {
      startSpan: (name, { attributes = {}, startTime, links } = {}, context) => {
        const parent = context as SpanContext | undefined;
        const span: ExportedSpan = {
          name,
          traceId: parent?.traceId ?? this.#ids.generateTraceId(),
          spanId: this.#ids.generateSpanId(),
          ...(parent === undefined ? {} : { parentSpanId: parent.spanId }),
          attributes: { ...attributes },
          ...(startTime === undefined ? {} : { startTime }),
          ...(links === undefined ? {} : { links: links.map(({ context: { traceId, spanId } }) => ({ traceId, spanId })) }),
        };
        return recordingSpan(span, () => this.exported.push(span));
      },
    };
  }
}

function recordingSpan(span: ExportedSpan, onEnd: () => void): ApiSpan {
  return {
    spanContext: () => ({ traceId: span.traceId, spanId: span.spanId, traceFlags: 1 }),
    setAttributes: (attributes) => Object.assign(span.attributes, attributes),
    setStatus: (status) => (span.status = status),
    end: (endTime) => {
      if (endTime !== undefined) span.endTime = endTime;
      onEnd();
    },
  };
}

/** One measurement. */
export interface Measurement {
  name: string;
  value: number;
  labels: Attributes;
}

/** A meter provider that keeps its measurements. */
export class RecordingMeter implements MeterProvider {
  readonly measured: Measurement[] = [];

  getMeter(): ApiMeter {
    const keep =
      (name: string) =>
      (value: number, labels: Attributes = {}): void => {
        this.measured.push({ name, value, labels });
      };
    return {
      createCounter: (name) => ({ add: keep(name) }),
      createHistogram: (name) => ({ record: keep(name) }),
      createGauge: (name) => ({ record: keep(name) }),
    };
  }

  /** Returns the sum of a metric. */
  sum(name: string): number {
    return this.measured.filter((one) => one.name === name).reduce((sum, { value }) => sum + value, 0);
  }
}

/** The API without its own contexts: a context is the parent. */
export function plainApi(provider: TracerProvider): Api {
  return {
    rootContext: undefined,
    tracerProvider: () => provider,
    meterProvider: () => new RecordingMeter(),
    below: (parent) => parent,
    parentIn: (parent) => parent as SpanContext | undefined,
    within: (_, work) => work(),
  };
}
