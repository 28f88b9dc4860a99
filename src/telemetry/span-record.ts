import type { Attributes } from './provider.ts';

/** A span that begins. */
export interface SpanStart {
  name: string;
  /** `client`: a call to another system. Default `internal`. */
  kind?: 'internal' | 'client';
  spanId: string;
  /** Absent: the span is the root of its trace. */
  parentSpanId?: string;
  attributes: Attributes;
  /** Spans of other traces that belong to it. */
  links?: { traceId: string; spanId: string }[];
}

/** A span as a whole. Times are in milliseconds since the epoch. */
export interface SpanRecord extends SpanStart {
  traceId: string;
  startTime: number;
  endTime: number;
  /** What went wrong, in a word: the status of the span is an error then. */
  error?: string;
}
