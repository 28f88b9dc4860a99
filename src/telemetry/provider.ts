// The parts of OpenTelemetry's API that Longhaul uses, by their form alone: a project without telemetry installs nothing, and any version
// of the API from 1.9 on fits.

/** A value of an attribute. */
export type AttributeValue = string | number | boolean | string[];

export type Attributes = Record<string, AttributeValue>;

export interface SpanContext {
  traceId: string;
  spanId: string;
  traceFlags: number;
  isRemote?: boolean;
}

/** A span that has been started. */
export interface ApiSpan {
  spanContext(): SpanContext;
  setAttributes(attributes: Attributes): unknown;
  setStatus(status: { code: number; message?: string }): unknown;
  end(endTime?: number): void;
}

export interface ApiTracer {
  startSpan(
    name: string,
    options?: { kind?: number; root?: boolean; startTime?: number; attributes?: Attributes; links?: { context: SpanContext }[] },
    context?: unknown,
  ): ApiSpan;
}

/** A tracer provider of an OpenTelemetry SDK, made with the `idGenerator` of `telemetry()`. */
export interface TracerProvider {
  getTracer(name: string, version?: string): ApiTracer;
}

export interface ApiCounter {
  add(value: number, attributes?: Attributes): void;
}

export interface ApiHistogram {
  record(value: number, attributes?: Attributes): void;
}

/** A value that rises and falls: each one replaces the one before. */
export interface ApiGauge {
  record(value: number, attributes?: Attributes): void;
}

/** What a metric is. */
export interface InstrumentOptions {
  unit?: string;
  description?: string;
  advice?: { explicitBucketBoundaries?: number[] };
}

export interface ApiMeter {
  createCounter(name: string, options?: InstrumentOptions): ApiCounter;
  createHistogram(name: string, options?: InstrumentOptions): ApiHistogram;
  createGauge(name: string, options?: InstrumentOptions): ApiGauge;
}

/** What Longhaul needs of `@opentelemetry/api`. A context is passed on as it is. */
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
  getMeter(name: string, version?: string): ApiMeter;
}
