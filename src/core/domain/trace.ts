import type { JsonObject } from './json.ts';
import { isoTime, roundedMs } from './time.ts';

/** An event of a span in the JSON of a trace. */
export interface TraceEventJson extends Omit<TraceEvent, 'timestamp'> {
  /** ISO 8601. */
  timestamp: string;
}

/** A span as JSON. */
export interface TraceSpanJson {
  /** The subject of the span, such as `step:1`, `tool:search`, or `unit:write` in a program's run. */
  name: string;
  /** ISO 8601. */
  start_time: string;
  /** Milliseconds from its start to its end, 0 if it has not ended. */
  duration_ms: number;
  /** Its own events, without those of nested spans, in order. */
  events: TraceEventJson[];
  /** The nested spans, in the order of their starts. */
  children?: TraceSpanJson[];
  /** Further facts, by name. Absent if there are none. */
  metadata?: JsonObject;
  /** ISO 8601. Absent while it has not ended. */
  end_time?: string;
}

/** A trace as JSON, with the field names of AXON. */
export interface ExecutionTraceJson {
  /** The agent or program that ran. */
  program_name: string;
  /** The model's provider. Empty if the run has not begun. */
  backend_name: string;
  /** ISO 8601. */
  start_time: string;
  /** Milliseconds from its start to its end, 0 if it has not ended. */
  duration_ms: number;
  /** The number of events in all spans, including nested ones. */
  total_events: number;
  /** The top-level spans, in the order of their starts. */
  spans: TraceSpanJson[];
  /** ISO 8601. Absent while it has not ended. */
  end_time?: string;
}

interface ExecutionTraceFields {
  programName: string;
  backendName: string;
  startTime: number;
  endTime?: number;
  spans: TraceSpan[];
}

/** The trace of a run: its steps in nested spans. Times are in seconds since the epoch, and ISO 8601 in its JSON. */
export class ExecutionTrace {
  /** The agent or program that ran. */
  readonly programName: string;
  /** The provider of the program's model. */
  readonly backendName: string;
  /** Seconds since the epoch. */
  readonly startTime: number;
  /** The time of the last event. Absent if nothing has happened yet. */
  readonly endTime: number | undefined;
  /** One span per started unit. */
  readonly spans: readonly TraceSpan[];

  /** Created by `result.trace` and `readTrace`. @internal */
  constructor({ programName, backendName, startTime, endTime, spans }: ExecutionTraceFields) {
    this.programName = programName;
    this.backendName = backendName;
    this.startTime = startTime;
    this.endTime = endTime;
    this.spans = spans;
  }

  /** Milliseconds from its start to its last event, or 0 without an event. */
  get durationMs(): number {
    return millisecondsBetween(this.startTime, this.endTime);
  }

  /** The number of events in all spans, including nested ones. */
  get totalEvents(): number {
    return countEvents(this.spans);
  }

  /** Returns the JSON form: names in snake case, times in ISO 8601. */
  toJSON(): ExecutionTraceJson {
    return {
      program_name: this.programName,
      backend_name: this.backendName,
      start_time: timeOf(this.startTime),
      duration_ms: this.durationMs,
      total_events: this.totalEvents,
      spans: this.spans.map(spanJson),
      ...(this.endTime === undefined ? {} : { end_time: timeOf(this.endTime) }),
    };
  }
}

function countEvents(spans: readonly TraceSpan[]): number {
  return spans.reduce((sum, { events, children }) => sum + events.length + countEvents(children), 0);
}

function spanJson({ name, startTime, endTime, events, children, metadata }: TraceSpan): TraceSpanJson {
  return {
    name,
    start_time: timeOf(startTime),
    duration_ms: millisecondsBetween(startTime, endTime),
    events: events.map((event) => ({ ...event, timestamp: timeOf(event.timestamp) })),
    ...(children.length === 0 ? {} : { children: children.map(spanJson) }),
    ...(Object.keys(metadata).length === 0 ? {} : { metadata }),
    ...(endTime === undefined ? {} : { end_time: timeOf(endTime) }),
  };
}

/** Formats seconds since the epoch as ISO 8601. The seconds come from a millisecond clock. */
function timeOf(seconds: number): string {
  return isoTime(Math.round(seconds * 1000));
}

/** Returns the milliseconds between two times, rounded to two digits, or 0 without an end. */
function millisecondsBetween(startTime: number, endTime: number | undefined): number {
  return endTime === undefined ? 0 : roundedMs(endTime - startTime);
}

/** A span of a trace: a unit or a nested block, with its events. */
export interface TraceSpan {
  /** The subject of the span, such as `step:1`, `tool:search`, or `unit:write` in a program's run. */
  name: string;
  /** Seconds since the epoch. */
  startTime: number;
  /** Absent while the span is open. */
  endTime?: number;
  /** Further facts, by name. */
  metadata: JsonObject;
  /** Its own events, without those of nested spans, in order. */
  events: TraceEvent[];
  /** The nested spans, in the order of their starts. */
  children: TraceSpan[];
}

/** The beginning of a span. */
interface SpanStart {
  name: string;
  /** Seconds since the epoch. */
  at: number;
  metadata?: JsonObject;
}

/** Builds the spans of a trace. Units and branches run in parallel: each call may name its span, by default the innermost open one. */
export class Tracer {
  readonly spans: TraceSpan[] = [];
  /** The open spans, in the order of their starts. */
  #open: TraceSpan[] = [];

  /** Opens a span inside another one. Without an open span, or with null, the span is at the top level of the trace. */
  start({ name, at, metadata = {} }: SpanStart, inside: TraceSpan | null = this.#open.at(-1) ?? null): TraceSpan {
    const span: TraceSpan = { name, startTime: at, metadata: { ...metadata }, events: [], children: [] };
    (inside?.children ?? this.spans).push(span);
    this.#open.push(span);
    return span;
  }

  /** Adds an event to a span. Drops it if no span is open: a trace observes, and never fails. */
  emit(event: TraceEvent, inside: TraceSpan | undefined = this.#open.at(-1)): void {
    inside?.events.push(event);
  }

  /** Closes a span. Does nothing if no span is open. */
  end(at: number, metadata: JsonObject = {}, span: TraceSpan | undefined = this.#open.at(-1)): void {
    if (span === undefined || span.endTime !== undefined) return;
    span.endTime = at;
    Object.assign(span.metadata, metadata);
    this.#open = this.#open.filter((one) => one !== span);
  }

  /** Closes all open spans, innermost first, and returns the top-level spans. */
  finalize(at: number): TraceSpan[] {
    while (this.#open.length > 0) this.end(at);
    return this.spans;
  }
}

/** The types of the events of a trace, as in AXON. */
export const TRACE_EVENT_TYPES = [
  'step_start',
  'step_end',
  'model_call',
  'model_response',
  'anchor_check',
  'anchor_pass',
  'anchor_breach',
  'validation_pass',
  'validation_fail',
  'retry_attempt',
  'refine_start',
  'memory_read',
  'memory_write',
  'confidence_check',
] as const;

/** The type of an event of a trace. @useDeclaredType */
export type TraceEventType = (typeof TRACE_EVENT_TYPES)[number];

/** One event of a trace. Empty fields are absent. */
export interface TraceEvent {
  /** The type of the event, such as `model_call` or `validation_fail`. */
  event_type: TraceEventType;
  /** Seconds since the epoch. */
  timestamp: number;
  /** The name of the step, with the indexes of its items and rounds: `Sum[3]`. */
  step_name?: string;
  /** Further facts, by name. Absent if there are none. */
  data?: JsonObject;
  /** Its duration in milliseconds. Absent for an instant. */
  duration_ms?: number;
}

/** True for the name of an event type. */
export function isTraceEventType(type: string): type is TraceEventType {
  return TRACE_EVENT_TYPES.some((known) => known === type);
}

/** The part of an event that does not depend on its type. */
export interface EventPlace {
  /** The name of the step, with the indexes of its items and rounds. */
  step: string;
  /** Seconds since the epoch. */
  at: number;
}

/** Creates an event of a step. Empty fields are left out. */
export function traceEvent(type: TraceEventType, { step, at }: EventPlace, data: JsonObject = {}, durationMs = 0): TraceEvent {
  return {
    event_type: type,
    timestamp: at,
    step_name: step,
    ...(Object.keys(data).length === 0 ? {} : { data }),
    ...(durationMs > 0 ? { duration_ms: durationMs } : {}),
  };
}
