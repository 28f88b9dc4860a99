import type { JsonObject } from '../json/json.ts';

/** The types of the events of a trace, as AXON has them. */
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

/** The type of an event of a trace. */
export type TraceEventType = (typeof TRACE_EVENT_TYPES)[number];

/** One event of a trace. Fields that say nothing are absent. */
export interface TraceEvent {
  event_type: TraceEventType;
  /** Seconds since the epoch. */
  timestamp: number;
  /** The name of the step, with the indexes of its items and rounds: `Sum[3]`. */
  step_name?: string;
  data?: JsonObject;
  duration_ms?: number;
}

/** True for the name of a type of events. */
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

/** Makes an event of a step. Fields that say nothing are left out. */
export function traceEvent(type: TraceEventType, { step, at }: EventPlace, data: JsonObject = {}, durationMs = 0): TraceEvent {
  return {
    event_type: type,
    timestamp: at,
    step_name: step,
    ...(Object.keys(data).length === 0 ? {} : { data }),
    ...(durationMs > 0 ? { duration_ms: durationMs } : {}),
  };
}
