import type { JsonObject } from '../json/json.ts';
import type { TraceEvent } from './trace-event.ts';

/** A span of a trace: a unit, or a block inside of it, with its events. */
export interface TraceSpan {
  name: string;
  /** Seconds since the epoch. */
  startTime: number;
  /** Absent while the span is open. */
  endTime?: number;
  metadata: JsonObject;
  events: TraceEvent[];
  children: TraceSpan[];
}

/** The beginning of a span. */
export interface SpanStart {
  name: string;
  /** Seconds since the epoch. */
  at: number;
  metadata?: JsonObject;
}

/** Builds the spans of a trace. Units and branches run side by side: each call may name its span, which is the innermost open one by default. */
export class Tracer {
  readonly spans: TraceSpan[] = [];
  /** The open spans in the order in which they began. */
  #open: TraceSpan[] = [];

  /** Opens a span inside of another one. Without an open span, or with null, it is one of the trace itself. */
  start({ name, at, metadata = {} }: SpanStart, inside: TraceSpan | null = this.#open.at(-1) ?? null): TraceSpan {
    const span: TraceSpan = { name, startTime: at, metadata: { ...metadata }, events: [], children: [] };
    (inside?.children ?? this.spans).push(span);
    this.#open.push(span);
    return span;
  }

  /** Adds an event to a span. Without an open span it is dropped: a trace observes, and never fails. */
  emit(event: TraceEvent, inside: TraceSpan | undefined = this.#open.at(-1)): void {
    inside?.events.push(event);
  }

  /** Closes a span. Does nothing if there is none. */
  end(at: number, metadata: JsonObject = {}, span: TraceSpan | undefined = this.#open.at(-1)): void {
    if (span === undefined || span.endTime !== undefined) return;
    span.endTime = at;
    Object.assign(span.metadata, metadata);
    this.#open = this.#open.filter((one) => one !== span);
  }

  /** Closes all open spans, the innermost first, and returns those of the trace itself. */
  finalize(at: number): TraceSpan[] {
    while (this.#open.length > 0) this.end(at);
    return this.spans;
  }
}
