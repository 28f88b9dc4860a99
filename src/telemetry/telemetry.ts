import type { Context, Span } from '@opentelemetry/api';
import { defined } from '../core/domain/json.ts';
import { UsageError } from '../core/domain/errors.ts';
import { type Duration, milliseconds } from '../core/domain/time.ts';
import { type OptionTable, requireKnown } from '../define/option-checks.ts';
import { checkedRatio, type IdGenerator, idGenerator, isInSample, type RunTrace, spanIdOf, traceIdOf, withIds } from './ids.ts';
import { type OtelEnvironment, otelEnvironment } from './environment.ts';
import { serveMetrics } from './metrics-server.ts';
import { Metrics } from './metrics.ts';
import { SCOPE, SPANS } from './names.ts';
import { OtlpProvider } from './otlp-provider.ts';
import { PrometheusMetrics } from './prometheus.ts';
import type { SpanRecord, SpanStart } from './span-record.ts';
import { queueingProcessor, type Sampled, type SpanExporter, type SpanProcessor } from './span-queue.ts';
import type { Api, ApiSpan, ApiTracer, MeterProvider, TracerProvider } from './provider.ts';

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

/** Options of `repair`. */
export interface RepairOptions {
  /** A moment, or how long ago it was: `'1h'`. */
  since: Date | Duration;
  /** Reports model calls and tool calls that have ended, too. Default: none, because nobody but the backend knows which of them it has. */
  calls?: CallRepair;
}

/** Which calls are reported that have ended. */
export interface CallRepair {
  /** Returns the ids of the spans that the backend has of a trace. Calls that it has are left as their workers have reported them. */
  storedIn: (traceId: string) => Promise<Iterable<string>>;
  /** How long ago a call has ended at least: its worker may be about to report it. Default one minute. */
  endedFor?: Duration;
}

/** What `repair` has reported. */
export interface RepairedTraces {
  /** The number of runs that were read. */
  runs: number;
  /** The number of spans that were reported. */
  spans: number;
  /** Runs whose records the server does not have any more. */
  unread: number;
}

/** The same, as repairs read it. */
export interface SettledCalls extends Pick<CallRepair, 'storedIn'> {
  endedForMs: number;
}

/** Longer than a worker, an SDK and its exporter keep a span. */
const ENDED_FOR: Duration = '1m';

const OPTIONS: OptionTable<TelemetryOptions> = { tracerProvider: true, meterProvider: true, sampleRatio: true };

/** The kinds of spans that Longhaul makes, with the numbers of the API. `client`: a call to another system. */
const KINDS = { internal: 0, client: 2 } as const;

/** The status of a span that has failed, by the number of the API. */
const FAILED = 2;

/** The time in which the outcome of an attempt usually reaches the server, in milliseconds, with some to spare. */
const HANDED_OVER_AFTER_MS = 80;

/** The flag of a span context that is recorded. */
const SAMPLED = 1;

/**
 * Spans and metrics of a worker, by the user's own OpenTelemetry SDK. Nothing here can fail a run or let it wait: what cannot be reported
 * is counted.
 */
export class Telemetry {
  /** Makes the ids of spans: give it to the tracer provider. */
  readonly idGenerator: IdGenerator = idGenerator;
  readonly #api: Api;
  readonly #options: TelemetryOptions;
  readonly #environment: Partial<OtelEnvironment>;
  #own: OtlpProvider | undefined;
  readonly #ratio: number;
  #tracer: ApiTracer | undefined;
  #metrics: Metrics | undefined;
  #dropped = 0;
  readonly #ended: { report: () => void; dueAt: number }[] = [];
  #timer: NodeJS.Timeout | undefined;
  #repair: ((since: Date, calls?: SettledCalls) => Promise<RepairedTraces>) | undefined;

  /** `environment`: what the variables `OTEL_*` say, as far as the options do not. @internal */
  constructor(api: Api, options: TelemetryOptions, environment: Partial<OtelEnvironment> = {}) {
    this.#api = api;
    this.#options = options;
    this.#environment = environment;
    this.#ratio = checkedRatio(options.sampleRatio ?? (this.hasSpans ? environment.ratio : undefined) ?? 1);
  }

  /** False: only metrics are reported. */
  get hasSpans(): boolean {
    const { tracerProvider } = this.#options;
    return tracerProvider === undefined ? (this.#environment.hasSpans ?? true) : tracerProvider !== 'none';
  }

  /** The page of metrics, if they go to one: what Temporal's Core measures is there, too. */
  get page(): PrometheusMetrics | undefined {
    const { meterProvider } = this.#options;
    return meterProvider instanceof PrometheusMetrics ? meterProvider : undefined;
  }

  /** The number of spans that could not be made or reported. */
  get dropped(): number {
    return this.#dropped;
  }

  /** The instruments in which the worker counts. @internal */
  get metrics(): Metrics {
    this.#metrics ??= new Metrics(this.#options.meterProvider ?? this.#api.meterProvider());
    return this.#metrics;
  }

  /**
   * Throws a UsageError for a tracer provider that does not take the ids of Longhaul's spans: two workers would then report one run as
   * several traces. The span that shows it is never ended, and so never exported.
   * @internal
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
        ? 'telemetry: there is no tracer provider: give "tracerProvider" to telemetry(), register one with @opentelemetry/api before the worker is created, or set OTEL_EXPORTER_OTLP_ENDPOINT'
        : 'telemetry: the tracer provider makes ids of its own: create it with "idGenerator" of telemetry(), so that all workers report a run as one trace',
    );
  }

  /** Begins a span now. Undefined for a trace that is not recorded, and if the SDK fails. @internal */
  start({ traceId, isSampled }: RunTrace, start: SpanStart): ApiSpan | undefined {
    if (!this.#isRecorded(traceId, isSampled)) return undefined;
    // Its end is given in the same whole milliseconds, and must not be before its start.
    return this.guarded(() => this.#start({ ...start, traceId, startTime: Date.now() }));
  }

  /** Reports a span that has ended. @internal */
  report({ isSampled }: Pick<RunTrace, 'isSampled'>, { error, endTime, ...start }: SpanRecord): void {
    if (!this.#isRecorded(start.traceId, isSampled)) return;
    this.guarded(() => {
      const span = this.#start(start);
      if (error !== undefined) span.setStatus({ code: FAILED, message: error });
      span.end(endTime);
    });
  }

  /**
   * Reports something of an attempt that ends a little later: a worker that is killed before the server has the outcome has not reported it,
   * and the next attempt does. @internal
   */
  later(report: () => void): void {
    this.#ended.push({ report, dueAt: performance.now() + HANDED_OVER_AFTER_MS });
    this.#await();
  }

  /** Marks a span as failed. @internal */
  fail(span: ApiSpan, error: string): void {
    this.guarded(() => span.setStatus({ code: FAILED, message: error }));
  }

  /** Does the work inside of a span: spans that it starts are below it. @internal */
  within<Value>(span: ApiSpan | undefined, work: () => Value): Value {
    return span === undefined ? work() : this.#api.within(span, work);
  }

  /** Reports something. An SDK that throws costs a span, and nothing else. @internal */
  guarded<Value>(report: () => Value): Value | undefined {
    try {
      return report();
    } catch {
      this.drop();
      return undefined;
    }
  }

  /** Counts something. A meter provider that throws costs a measurement, and nothing else. @internal */
  measure(count: (metrics: Metrics) => void): void {
    try {
      count(this.metrics);
    } catch {
      // There is nothing to count it with.
    }
  }

  /** Counts spans that are lost. @internal */
  drop(count = 1): void {
    this.#dropped += count;
    this.measure((metrics) => metrics.dropped(count));
  }

  /**
   * Returns a span processor for the exporter of your SDK, which counts in `longhaul.telemetry.dropped` the spans that are lost because the
   * backend is slow or down: those of an SDK drop them in silence.
   */
  spanProcessor<Exported extends Sampled>(exporter: SpanExporter<Exported>): SpanProcessor<Exported> {
    return queueingProcessor(exporter, (count) => this.drop(count));
  }

  /** Sends what waits to be sent without an SDK, and hands over the rest. An SDK is flushed by its owner, afterwards. */
  async flush(): Promise<void> {
    this.#handOver(Infinity);
    await this.#own?.flush();
  }

  /**
   * Reports the spans that no process could send, from the records of the runs that have ended since then and of those that are open, with
   * the ids and contents that they would have had: a span that is already there stays one. Needs a worker with this telemetry in the process.
   */
  async repair({ since, calls }: RepairOptions): Promise<RepairedTraces> {
    const from = since instanceof Date ? since : new Date(Date.now() - milliseconds(since, 'telemetry.repair: "since"'));
    if (this.#repair === undefined)
      throw new UsageError('telemetry.repair: create a worker with this telemetry first, which knows the server');
    if (calls === undefined) return this.#repair(from);
    const { storedIn, endedFor = ENDED_FOR } = calls;
    return this.#repair(from, { storedIn, endedForMs: milliseconds(endedFor, 'telemetry.repair: "calls.endedFor"') });
  }

  /** Says how traces are repaired. @internal */
  repairBy(repair: (since: Date, calls?: SettledCalls) => Promise<RepairedTraces>): void {
    this.#repair = repair;
  }

  /** Hands over what is due by then, and awaits the rest. */
  #handOver(now: number): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    // They are due in the order in which they came.
    const waiting = this.#ended.findIndex(({ dueAt }) => dueAt > now);
    for (const { report } of this.#ended.splice(0, waiting === -1 ? Infinity : waiting)) this.guarded(report);
    this.#await();
  }

  #await(): void {
    const [next] = this.#ended;
    if (next === undefined) return;
    this.#timer ??= setTimeout(() => this.#handOver(performance.now()), Math.ceil(next.dueAt - performance.now())).unref();
  }

  #isRecorded(traceId: string, isSampled: boolean): boolean {
    return this.hasSpans && isSampled && isInSample(traceId, this.#ratio);
  }

  #start({ name, kind = 'internal', traceId, spanId, parentSpanId, attributes, startTime, links }: StartedSpan): ApiSpan {
    const { rootContext } = this.#api;
    const linked = links?.map((context) => ({ context: { ...context, traceFlags: SAMPLED, isRemote: true } }));
    const options = { kind: KINDS[kind], attributes, ...defined({ startTime, links: linked }) };
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
    if (tracerProvider !== undefined && tracerProvider !== 'none') return tracerProvider;
    const global = this.#api.tracerProvider();
    if (isRegistered(global)) return global;
    const { target } = this.#environment;
    if (target === undefined) return global;
    return (this.#own ??= new OtlpProvider(target, {
      parentIn: (parent) => this.#api.parentIn(parent),
      drop: (count) => this.drop(count),
    }));
  }
}

/** True for a provider that somebody has registered: that of the API alone makes spans without ids. */
function isRegistered(provider: TracerProvider): boolean {
  return !/^0*$/.test(provider.getTracer(SCOPE).startSpan(SPANS.probe).spanContext().traceId);
}

/** A span that begins, now or at a time before. */
interface StartedSpan extends SpanStart {
  traceId: string;
  /** Milliseconds since the epoch. */
  startTime?: number;
}

/**
 * Returns the telemetry of a worker: `createWorker({ telemetry: await telemetry({ tracerProvider }) })`. Spans and metrics go to your own
 * OpenTelemetry SDK; Longhaul needs `@opentelemetry/api` of it. Without an SDK, the variables `OTEL_*` say where Longhaul's own spans go.
 * Throws a UsageError if the API is not installed, and for unknown options.
 */
export async function telemetry(options: TelemetryOptions = {}): Promise<Telemetry> {
  requireKnown('telemetry', options, OPTIONS);
  const environment = otelEnvironment(process.env);
  const meterProvider = options.meterProvider ?? (await pageOf(environment));
  const hasSpans = options.tracerProvider !== 'none' && (options.tracerProvider !== undefined || environment.hasSpans);
  // Metrics of a provider that needs no SDK need no API either.
  const api = !hasSpans && meterProvider !== undefined ? withoutApi(meterProvider) : await loadApi();
  return new Telemetry(api, { ...options, ...defined({ meterProvider }) }, environment);
}

/** Serves a page of metrics where the environment says so. */
async function pageOf({ page: address }: OtelEnvironment): Promise<PrometheusMetrics | undefined> {
  if (address === undefined) return undefined;
  const page = new PrometheusMetrics();
  await serveMetrics(page, address);
  return page;
}

function withoutApi(provider: MeterProvider): Api {
  return {
    rootContext: undefined,
    tracerProvider: () => {
      throw new TypeError('This telemetry has no spans');
    },
    meterProvider: () => provider,
    below: () => undefined,
    parentIn: () => undefined,
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
    parentIn: (parent) => trace.getSpanContext(parent as Context),
    within: (span, work) => context.with(trace.setSpan(context.active(), span as Span), work),
  };
}
