import { idGenerator } from './ids.ts';
import { otlpTraces } from './otlp.ts';
import { binaryTraces, rejectedInBinary } from './otlp-binary.ts';
import type { Api, ApiSpan, ApiTracer, Attributes, SpanContext, TracerProvider } from './provider.ts';
import { SpanQueue } from './span-queue.ts';
import type { SpanRecord } from './span-record.ts';

/** How spans are written: as JSON, or as protobuf. */
type OtlpForm = 'json' | 'binary';

/** Where spans go, as the variables `OTEL_*` say. */
export interface OtlpTarget {
  /** The URL for spans, such as `http://localhost:4318/v1/traces`. */
  url: string;
  headers: Readonly<Record<string, string>>;
  /** What is known of the process: `service.name` and others. */
  resource: Readonly<Record<string, string>>;
  /** The form of the spans. Default: JSON, and the other one whenever the collector refuses the one that it took before. */
  form?: OtlpForm;
}

/** The status of a collector that does not take the form of a request. */
const UNKNOWN_FORM = 415;

/** Milliseconds that a collector has for its answer. */
const ANSWER_MS = 10_000;

const KINDS = ['internal', 'server', 'client'] as const;

/**
 * Sends Longhaul's own spans to an OpenTelemetry collector, by OTLP over HTTP: for processes without an SDK. Spans that are lost on the way are
 * counted.
 */
export class OtlpProvider implements TracerProvider {
  readonly #queue: SpanQueue<SpanRecord>;
  readonly #parentIn: Api['parentIn'];
  readonly #drop: (count: number) => void;
  readonly #target: OtlpTarget;
  /** The form that the collector has taken last. */
  #form: OtlpForm;

  constructor(target: OtlpTarget, { parentIn, drop }: Pick<Api, 'parentIn'> & { drop: (count: number) => void }) {
    this.#target = target;
    this.#form = target.form ?? 'json';
    this.#parentIn = parentIn;
    this.#drop = drop;
    this.#queue = new SpanQueue((spans) => this.#post(spans), drop);
  }

  getTracer(): ApiTracer {
    return {
      startSpan: (name, { kind = 0, root = false, startTime = Date.now(), attributes = {}, links = [] } = {}, context) => {
        const parent = root ? undefined : this.#parentIn(context);
        const span: SpanRecord = {
          name,
          kind: KINDS[kind] === 'client' ? 'client' : 'internal',
          traceId: parent?.traceId ?? idGenerator.generateTraceId(),
          spanId: idGenerator.generateSpanId(),
          ...(parent === undefined ? {} : { parentSpanId: parent.spanId }),
          startTime,
          endTime: startTime,
          attributes: { ...attributes },
          ...(links.length === 0 ? {} : { links: links.map(({ context: { traceId, spanId } }) => ({ traceId, spanId })) }),
        };
        return this.#started(span);
      },
    };
  }

  /** Resolves once the spans that have ended are sent, or given up. */
  flush(): Promise<void> {
    return this.#queue.flush();
  }

  #started(span: SpanRecord): ApiSpan {
    const context: SpanContext = { traceId: span.traceId, spanId: span.spanId, traceFlags: 1 };
    let hasEnded = false;
    return {
      spanContext: () => context,
      setAttributes: (attributes: Attributes) => Object.assign(span.attributes, attributes),
      setStatus: ({ message = 'error' }) => (span.error = message),
      end: (endTime = Date.now()) => {
        if (hasEnded) return;
        hasEnded = true;
        span.endTime = Math.round(endTime);
        this.#queue.add(span);
      },
    };
  }

  async #post(spans: SpanRecord[]): Promise<void> {
    const answer = await this.#send(spans, this.#form);
    if (answer.status !== UNKNOWN_FORM || this.#target.form !== undefined) return this.#noteAnswer(answer);
    // Another collector may be behind the same address now.
    const other = this.#form === 'json' ? 'binary' : 'json';
    this.#noteAnswer(await this.#send(spans, other));
    this.#form = other;
  }

  async #send(spans: SpanRecord[], form: OtlpForm): Promise<Answer> {
    const { url, headers, resource } = this.#target;
    const traces = otlpTraces(spans, resource);
    const isBinary = form === 'binary';
    const response = await fetch(url, {
      method: 'POST',
      headers: { ...headers, 'content-type': isBinary ? 'application/x-protobuf' : 'application/json' },
      body: isBinary ? binaryTraces(traces) : JSON.stringify(traces),
      signal: AbortSignal.timeout(ANSWER_MS),
    });
    const body = Buffer.from(await response.arrayBuffer());
    return { status: response.status, rejected: isBinary ? rejectedInBinary(body) : rejectedIn(body.toString()) };
  }

  #noteAnswer({ status, rejected }: Answer): void {
    if (status < 200 || status >= 300) throw new Error(`${this.#target.url} answered ${status}`);
    if (rejected > 0) this.#drop(rejected);
  }
}

/** What a collector has answered. */
interface Answer {
  status: number;
  /** The number of spans that it has not taken. */
  rejected: number;
}

/** Returns the number of spans that a collector has not taken, by its answer. */
function rejectedIn(text: string): number {
  try {
    const { partialSuccess } = JSON.parse(text === '' ? '{}' : text) as { partialSuccess?: { rejectedSpans?: number | string } };
    return Number(partialSuccess?.rejectedSpans ?? 0) || 0;
  } catch {
    // A collector may answer in another form: what matters is the status.
    return 0;
  }
}
