import type { JsonObject } from '../json/json.ts';
import { roundedMs } from './rounded-ms.ts';
import type { TraceEvent } from './trace-event.ts';
import type { TraceSpan } from './tracer.ts';
import { isoTime } from '../../domain/record/time.ts';

/** An event of a trace as JSON. */
export interface TraceEventJson extends Omit<TraceEvent, 'timestamp'> {
  /** ISO 8601. */
  timestamp: string;
}

/** A span as JSON. */
export interface TraceSpanJson {
  name: string;
  /** ISO 8601. */
  start_time: string;
  duration_ms: number;
  events: TraceEventJson[];
  children?: TraceSpanJson[];
  metadata?: JsonObject;
  end_time?: string;
}

/** A trace as JSON, with the field names of AXON. */
export interface ExecutionTraceJson {
  program_name: string;
  backend_name: string;
  /** ISO 8601. */
  start_time: string;
  duration_ms: number;
  total_events: number;
  spans: TraceSpanJson[];
  end_time?: string;
}

/** The fields of a trace. */
export interface ExecutionTraceFields {
  programName: string;
  backendName: string;
  startTime: number;
  endTime?: number;
  spans: TraceSpan[];
}

/** The trace of the run of a program: what it did, step by step, in nested spans. Times are in seconds since the epoch, and ISO 8601 in its JSON. */
export class ExecutionTrace {
  readonly programName: string;
  /** The provider of the program's model. */
  readonly backendName: string;
  readonly startTime: number;
  /** The time of the last event. Absent if nothing has happened yet. */
  readonly endTime: number | undefined;
  /** One span for each unit that has begun. */
  readonly spans: readonly TraceSpan[];

  constructor({ programName, backendName, startTime, endTime, spans }: ExecutionTraceFields) {
    this.programName = programName;
    this.backendName = backendName;
    this.startTime = startTime;
    this.endTime = endTime;
    this.spans = spans;
  }

  get durationMs(): number {
    return durationMs(this.startTime, this.endTime);
  }

  /** The number of events in all spans, nested ones included. */
  get totalEvents(): number {
    return countEvents(this.spans);
  }

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
    duration_ms: durationMs(startTime, endTime),
    events: events.map((event) => ({ ...event, timestamp: timeOf(event.timestamp) })),
    ...(children.length === 0 ? {} : { children: children.map(spanJson) }),
    ...(Object.keys(metadata).length === 0 ? {} : { metadata }),
    ...(endTime === undefined ? {} : { end_time: timeOf(endTime) }),
  };
}

/** Returns seconds since the epoch, which a clock of milliseconds has told, in ISO 8601. */
function timeOf(seconds: number): string {
  return isoTime(Math.round(seconds * 1000));
}

/** Returns the milliseconds between two times, rounded to two digits; 0 without an end. */
function durationMs(startTime: number, endTime: number | undefined): number {
  return endTime === undefined ? 0 : roundedMs(endTime - startTime);
}
