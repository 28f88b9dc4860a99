// The parts of OpenTelemetry's API that Longhaul uses, by shape only: a project without telemetry installs nothing, and any version
// of the API from 1.9 on fits.

/** A value of an attribute. */
export type AttributeValue = string | number | boolean | string[];

/** Facts about a span or a measurement, by their names. */
export type Attributes = Record<string, AttributeValue>;

/** What a span passes on: its ids. */
export interface SpanContext {
  /** 32 hexadecimal digits. */
  traceId: string;
  /** 16 hexadecimal digits. */
  spanId: string;
  /** 1 if the trace is recorded. */
  traceFlags: number;
  /** True if another process began the span. */
  isRemote?: boolean;
}

/** A span that has been started. */
export interface ApiSpan {
  /** Returns its ids. */
  spanContext(): SpanContext;
  /** Adds facts. */
  setAttributes(attributes: Attributes): unknown;
  /** Says that it succeeded or failed. */
  setStatus(status: { code: number; message?: string }): unknown;
  /** Ends it, now or at the given time. */
  end(endTime?: number): void;
}

/** What makes spans: a tracer of OpenTelemetry. */
export interface ApiTracer {
  /** Begins a span. */
  startSpan(
    name: string,
    options?: { kind?: number; root?: boolean; startTime?: number; attributes?: Attributes; links?: { context: SpanContext }[] },
    context?: unknown,
  ): ApiSpan;
}

/** A tracer provider of an OpenTelemetry SDK, made with the `idGenerator` of `telemetry()`. */
export interface TracerProvider {
  /** Returns a tracer for a library. */
  getTracer(name: string, version?: string): ApiTracer;
}

/** An instrument that only grows. */
export interface ApiCounter {
  /** Adds an amount. */
  add(value: number, attributes?: Attributes): void;
}

/** An instrument of the distribution of values. */
export interface ApiHistogram {
  /** Adds a value. */
  record(value: number, attributes?: Attributes): void;
}

/** A value that rises and falls: each value replaces the previous one. */
export interface ApiGauge {
  /** Says the present value. */
  record(value: number, attributes?: Attributes): void;
}

/** What a metric is. */
export interface InstrumentOptions {
  /** The unit as a UCUM code, such as `s`. */
  unit?: string;
  /** What is measured. */
  description?: string;
  /** The bounds of the buckets of a histogram. */
  advice?: { explicitBucketBoundaries?: number[] };
}

/** What makes instruments: a meter of OpenTelemetry. */
export interface ApiMeter {
  /** Makes a counter. */
  createCounter(name: string, options?: InstrumentOptions): ApiCounter;
  /** Makes a histogram. */
  createHistogram(name: string, options?: InstrumentOptions): ApiHistogram;
  /** Makes a gauge. */
  createGauge(name: string, options?: InstrumentOptions): ApiGauge;
}

/** What Longhaul needs from `@opentelemetry/api`. A context is passed on unchanged. */
export interface Api {
  readonly rootContext: unknown;
  tracerProvider(): TracerProvider;
  meterProvider(): MeterProvider;
  /** Returns a context below a span that another process has started. */
  below(parent: SpanContext): unknown;
  /** Returns the span of a context that others are started in. */
  parentIn(context: unknown): SpanContext | undefined;
  /** Does the work with a span as the active one. */
  within<Value>(span: ApiSpan, work: () => Value): Value;
}

/** A meter provider of an OpenTelemetry SDK. */
export interface MeterProvider {
  /** Returns a meter for a library. */
  getMeter(name: string, version?: string): ApiMeter;
}
