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
   * The tracer provider, created with the `idGenerator` of `telemetry()`, or a function that creates it with the given generator.
   * `'none'`: only metrics. Default: the global one of `@opentelemetry/api` at the start of the worker.
   */
  tracerProvider?: TracerProvider | ((idGenerator: IdGenerator) => TracerProvider) | 'none';
  /** The meter provider. Default: the global one at the start of the worker. */
  meterProvider?: MeterProvider;
  /**
   * The fraction of traces to record, from 0 to 1. Decided by trace id, so that all processes record the same ones.
   * A caller's `traceparent` decides for its own trace, unless the fraction is 0. Default 1.
   */
  sampleRatio?: number;
}

/** Options of `repair`. */
export interface RepairOptions {
  /** A time, or how long ago it was: `'1h'`. */
  since: Date | Duration;
  /** Also reports ended model calls and tool calls. Default: none, because only the backend knows which of them it has. */
  calls?: CallRepair;
}

/** Which ended calls are reported. */
export interface CallRepair {
  /** Returns the ids of the spans that the backend has for a trace. Calls that it already has are not reported again. */
  storedIn: (traceId: string) => Promise<Iterable<string>>;
  /** The minimum time since the end of a call: its worker may be about to report it. Default one minute. */
  endedFor?: Duration;
}

/** What `repair` has reported. */
export interface RepairedTraces {
  /** The number of runs that were read. */
  runs: number;
  /** The number of spans that were reported. */
  spans: number;
  /** The number of runs whose records the server no longer has. */
  unread: number;
}

/** The validated `CallRepair`. */
export interface SettledCalls extends Pick<CallRepair, 'storedIn'> {
  endedForMs: number;
}

/** Longer than a worker, an SDK and its exporter keep a span. */
const ENDED_FOR: Duration = '1m';

const OPTIONS: OptionTable<TelemetryOptions> = { tracerProvider: true, meterProvider: true, sampleRatio: true };

/** The span kinds that Longhaul uses, with the API's numbers. `client`: a call to another system. */
const KINDS = { internal: 0, client: 2 } as const;

/** The API's status number of a failed span. */
const FAILED = 2;

/** Milliseconds in which the outcome of an attempt usually reaches the server, with some margin. */
const HANDED_OVER_AFTER_MS = 80;

/** The flag of a span context that is recorded. */
const SAMPLED = 1;

/**
 * Spans and metrics of a worker, through the user's OpenTelemetry SDK. Nothing here can fail or delay a run: what cannot be reported
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

  /** `environment`: the `OTEL_*` variables, for what the options leave open. @internal */
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

  /** The metrics page, if there is one, which also has the measurements of Temporal's Core. */
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
   * Throws a UsageError for a tracer provider that does not use Longhaul's span ids: two workers would then report one run as
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
        : 'telemetry: the tracer provider makes its own ids: create it with "idGenerator" of telemetry(), so that all workers report a run as one trace',
    );
  }

  /** Begins a span now. Undefined for a trace that is not recorded, and if the SDK fails. @internal */
  start({ traceId, isSampled }: RunTrace, start: SpanStart): ApiSpan | undefined {
    if (!this.#isRecorded(traceId, isSampled)) return undefined;
    // The end is also given in whole milliseconds, and must not be before the start.
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
   * Reports something about an attempt with a short delay: a worker that is killed before the server has the outcome then does not report
   * it, and the next attempt does. @internal
   */
  later(report: () => void): void {
    this.#ended.push({ report, dueAt: performance.now() + HANDED_OVER_AFTER_MS });
    this.#await();
  }

  /** Marks a span as failed. @internal */
  fail(span: ApiSpan, error: string): void {
    this.guarded(() => span.setStatus({ code: FAILED, message: error }));
  }

  /** Does the work inside a span, which becomes the parent of spans that it starts. @internal */
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
   * Returns a span processor for your SDK's exporter that counts in `longhaul.telemetry.dropped` the spans that are lost because the
   * backend is slow or down: an SDK's processors drop them silently.
   */
  spanProcessor<Exported extends Sampled>(exporter: SpanExporter<Exported>): SpanProcessor<Exported> {
    return queueingProcessor(exporter, (count) => this.drop(count));
  }

  /** Sends waiting spans if there is no SDK, and otherwise hands them over. Afterwards, the owner of an SDK flushes it. */
  async flush(): Promise<void> {
    this.#handOver(Infinity);
    await this.#own?.flush();
  }

  /**
   * Reports the spans that no process could send, from the records of runs that have ended since then or are open, with
   * their original ids and contents, so an existing span is not duplicated. Needs a worker with this telemetry in the process.
   */
  async repair({ since, calls }: RepairOptions): Promise<RepairedTraces> {
    const from = since instanceof Date ? since : new Date(Date.now() - milliseconds(since, 'telemetry.repair: "since"'));
    if (this.#repair === undefined)
      throw new UsageError('telemetry.repair: create a worker with this telemetry first, which knows the server');
    if (calls === undefined) return this.#repair(from);
    const { storedIn, endedFor = ENDED_FOR } = calls;
    return this.#repair(from, { storedIn, endedForMs: milliseconds(endedFor, 'telemetry.repair: "calls.endedFor"') });
  }

  /** Sets the function that repairs traces. @internal */
  repairBy(repair: (since: Date, calls?: SettledCalls) => Promise<RepairedTraces>): void {
    this.#repair = repair;
  }

  /** Hands over what is due by now, and schedules the rest. */
  #handOver(now: number): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    // They are due in the order of arrival.
    const waiting = this.#ended.findIndex(({ dueAt }) => dueAt > now);
    for (const { report } of this.#ended.splice(0, waiting === -1 ? Infinity : waiting)) this.guarded(report);
    this.#await();
  }

  #await(): void {
    const [next] = this.#ended;
    if (next === undefined) return;
    this.#timer ??= setTimeout(() => this.#handOver(performance.now()), Math.ceil(next.dueAt - performance.now())).unref();
  }

  #isRecorded(traceId: string, isSampled: boolean | undefined): boolean {
    return this.hasSpans && this.#ratio > 0 && (isSampled ?? isInSample(traceId, this.#ratio));
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

/** True for a registered provider: the API's default makes spans without ids. */
function isRegistered(provider: TracerProvider): boolean {
  return !/^0*$/.test(provider.getTracer(SCOPE).startSpan(SPANS.probe).spanContext().traceId);
}

/** A span that begins now or began earlier. */
interface StartedSpan extends SpanStart {
  traceId: string;
  /** Milliseconds since the epoch. */
  startTime?: number;
}

/**
 * Returns the telemetry of a worker: `createWorker({ telemetry: await telemetry({ tracerProvider }) })`. Spans and metrics go to your
 * OpenTelemetry SDK, of which Longhaul needs `@opentelemetry/api`. Without an SDK, the `OTEL_*` variables say where Longhaul's spans go.
 * Throws a UsageError if the API is not installed, and for unknown options.
 */
export async function telemetry(options: TelemetryOptions = {}): Promise<Telemetry> {
  requireKnown('telemetry', options, OPTIONS);
  const environment = otelEnvironment(process.env);
  const meterProvider = options.meterProvider ?? (await pageOf(environment));
  const hasSpans = options.tracerProvider !== 'none' && (options.tracerProvider !== undefined || environment.hasSpans);
  // A meter provider that needs no SDK needs no API either.
  const api = !hasSpans && meterProvider !== undefined ? withoutApi(meterProvider) : await loadApi();
  return new Telemetry(api, { ...options, ...defined({ meterProvider }) }, environment);
}

/** Serves a page of metrics if the environment configures one. */
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
    const message =
      'telemetry: the package "@opentelemetry/api" is not installed: run "npm install @opentelemetry/api" (version 1.9 or newer), next to your SDK';
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
