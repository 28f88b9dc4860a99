import type { Span } from '@opentelemetry/api';
import { defined } from '../core/domain/defined.ts';
import { UsageError } from '../core/domain/errors.ts';
import { type OptionTable, requireKnown } from '../define/option-checks.ts';
import { checkedRatio, type IdGenerator, idGenerator, isInSample, type RunTrace, spanIdOf, traceIdOf, withIds } from './ids.ts';
import { Metrics } from './metrics.ts';
import { SCOPE, SPANS } from './names.ts';
import type { Api, ApiSpan, ApiTracer, Attributes, MeterProvider, TracerProvider } from './provider.ts';

/** Options of `telemetry()`. */
export interface TelemetryOptions {
  /**
   * The tracer provider, made with the `idGenerator` of `telemetry()`, or a function that makes it with the generator that it is given.
   * `'none'`: metrics alone. Default: the global one of `@opentelemetry/api` at the start of the worker.
   */
  tracerProvider?: TracerProvider | ((idGenerator: IdGenerator) => TracerProvider) | 'none';
  /** The meter provider. Default: the global one at the start of the worker. */
  meterProvider?: MeterProvider;
  /**
   * The part of the traces that is recorded, from 0 to 1. Decided by the id of the trace, so that all processes record the same ones.
   * A caller's `traceparent` decides for its own trace. Default 1.
   */
  sampleRatio?: number;
}

const OPTIONS: OptionTable<TelemetryOptions> = { tracerProvider: true, meterProvider: true, sampleRatio: true };

/** The kinds of spans that Longhaul makes, with the numbers of the API. `client`: a call to another system. */
const KINDS = { internal: 0, client: 2 } as const;

/** The status of a span that has failed, by the number of the API. */
const FAILED = 2;

/** The flag of a span context that is recorded. */
const SAMPLED = 1;

/** A span that begins. */
export interface SpanStart {
  name: string;
  kind?: keyof typeof KINDS;
  spanId: string;
  /** Absent: the span is the root of its trace. */
  parentSpanId?: string;
  attributes: Attributes;
}

/** A span as a whole. Times are in milliseconds since the epoch. */
export interface SpanRecord extends SpanStart {
  traceId: string;
  startTime: number;
  endTime: number;
  /** What went wrong, in a word: the status of the span is an error then. */
  error?: string;
}

/**
 * Spans and metrics of a worker, by the user's own OpenTelemetry SDK. Nothing here can fail a run or let it wait: what cannot be reported
 * is counted.
 */
export class Telemetry {
  /** Makes the ids of spans: give it to the tracer provider. */
  readonly idGenerator: IdGenerator = idGenerator;
  readonly #api: Api;
  readonly #options: TelemetryOptions;
  readonly #ratio: number;
  #tracer: ApiTracer | undefined;
  #metrics: Metrics | undefined;
  #dropped = 0;

  constructor(api: Api, options: TelemetryOptions) {
    this.#api = api;
    this.#options = options;
    this.#ratio = checkedRatio(options.sampleRatio ?? 1);
  }

  /** False: only metrics are reported. */
  get hasSpans(): boolean {
    return this.#options.tracerProvider !== 'none';
  }

  /** The number of spans that could not be made or reported. */
  get dropped(): number {
    return this.#dropped;
  }

  get metrics(): Metrics {
    this.#metrics ??= new Metrics(this.#options.meterProvider ?? this.#api.meterProvider());
    return this.#metrics;
  }

  /**
   * Throws a UsageError for a tracer provider that does not take the ids of Longhaul's spans: two workers would then report one run as
   * several traces. The span that shows it is never ended, and so never exported.
   */
  requireOwnIds(): void {
    if (!this.hasSpans) return;
    const run = { namespace: '', runId: SPANS.probe, firstExecutionId: '' };
    const ids = { traceId: traceIdOf(run), spanId: spanIdOf(run, 'run') };
    const span = withIds(ids, () => this.#tracerOfUser().startSpan(SPANS.probe, { root: true }, this.#api.rootContext));
    const { traceId, spanId } = span.spanContext();
    if (traceId === ids.traceId && spanId === ids.spanId) return;
    const isNone = /^0*$/.test(traceId);
    throw new UsageError(
      isNone
        ? 'telemetry: there is no tracer provider: give "tracerProvider" to telemetry(), or register one with @opentelemetry/api before the worker is created'
        : 'telemetry: the tracer provider makes ids of its own: create it with "idGenerator" of telemetry(), so that all workers report a run as one trace',
    );
  }

  /** Begins a span now. Undefined for a trace that is not recorded, and if the SDK fails. */
  start({ traceId, isSampled }: RunTrace, start: SpanStart): ApiSpan | undefined {
    if (!this.#isRecorded(traceId, isSampled)) return undefined;
    return this.guarded(() => this.#start({ ...start, traceId }));
  }

  /** Reports a span that has ended. */
  report({ isSampled }: Pick<RunTrace, 'isSampled'>, { error, endTime, ...start }: SpanRecord): void {
    if (!this.#isRecorded(start.traceId, isSampled)) return;
    this.guarded(() => {
      const span = this.#start(start);
      if (error !== undefined) span.setStatus({ code: FAILED, message: error });
      span.end(endTime);
    });
  }

  /** Marks a span as failed. */
  fail(span: ApiSpan, error: string): void {
    this.guarded(() => span.setStatus({ code: FAILED, message: error }));
  }

  /** Does the work inside of a span: spans that it starts are below it. */
  within<Value>(span: ApiSpan | undefined, work: () => Value): Value {
    return span === undefined ? work() : this.#api.within(span, work);
  }

  /** Reports something. An SDK that throws costs a span, and nothing else. */
  guarded<Value>(report: () => Value): Value | undefined {
    try {
      return report();
    } catch {
      this.drop();
      return undefined;
    }
  }

  /** Counts a span that is lost. */
  drop(): void {
    this.#dropped += 1;
    try {
      this.metrics.dropped();
    } catch {
      // The meter provider fails as well.
    }
  }

  #isRecorded(traceId: string, isSampled: boolean): boolean {
    return this.hasSpans && isSampled && isInSample(traceId, this.#ratio);
  }

  #start({ name, kind = 'internal', traceId, spanId, parentSpanId, attributes, startTime }: StartedSpan): ApiSpan {
    const { rootContext } = this.#api;
    const options = { kind: KINDS[kind], attributes, ...defined({ startTime }) };
    return withIds({ traceId, spanId }, () => {
      if (parentSpanId === undefined) return this.#tracerOfUser().startSpan(name, { ...options, root: true }, rootContext);
      const parent = this.#api.below({ traceId, spanId: parentSpanId, traceFlags: SAMPLED, isRemote: true });
      return this.#tracerOfUser().startSpan(name, options, parent);
    });
  }

  #tracerOfUser(): ApiTracer {
    this.#tracer ??= this.#provider().getTracer(SCOPE);
    return this.#tracer;
  }

  #provider(): TracerProvider {
    const { tracerProvider } = this.#options;
    if (typeof tracerProvider === 'function') return tracerProvider(idGenerator);
    return tracerProvider === undefined || tracerProvider === 'none' ? this.#api.tracerProvider() : tracerProvider;
  }
}

/** A span that begins, now or at a time before. */
interface StartedSpan extends SpanStart {
  traceId: string;
  /** Milliseconds since the epoch. */
  startTime?: number;
}

/**
 * Returns the telemetry of a worker: `createWorker({ telemetry: await telemetry({ tracerProvider }) })`. Spans and metrics go to your own
 * OpenTelemetry SDK; Longhaul needs `@opentelemetry/api` of it. Throws a UsageError if that is not installed, and for unknown options.
 */
export async function telemetry(options: TelemetryOptions = {}): Promise<Telemetry> {
  requireKnown('telemetry', options, OPTIONS);
  const { tracerProvider, meterProvider } = options;
  // Metrics of a provider that needs no SDK need no API either.
  const isAlone = tracerProvider === 'none' && meterProvider !== undefined;
  return new Telemetry(isAlone ? withoutApi(meterProvider) : await loadApi(), options);
}

function withoutApi(provider: MeterProvider): Api {
  return {
    rootContext: undefined,
    tracerProvider: () => {
      throw new TypeError('This telemetry has no spans');
    },
    meterProvider: () => provider,
    below: () => undefined,
    within: (_, work) => work(),
  };
}

async function loadApi(): Promise<Api> {
  const { context, metrics, ROOT_CONTEXT, trace } = await import('@opentelemetry/api').catch((error: unknown) => {
    const message = 'telemetry: the package "@opentelemetry/api" is not installed: install it, version 1.9 or newer, beside your SDK';
    throw new UsageError(message, { cause: error });
  });
  return {
    rootContext: ROOT_CONTEXT,
    tracerProvider: () => trace.getTracerProvider(),
    meterProvider: () => metrics.getMeterProvider(),
    below: (parent) => trace.setSpanContext(ROOT_CONTEXT, parent),
    within: (span, work) => context.with(trace.setSpan(context.active(), span as Span), work),
  };
}
