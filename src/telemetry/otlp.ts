import { SCOPE } from './names.ts';
import type { AttributeValue } from './provider.ts';
import type { SpanRecord } from './span-record.ts';

/** A value in the JSON of OTLP. */
export type OtlpValue =
  | { stringValue: string }
  | { boolValue: boolean }
  | { intValue: string }
  | { doubleValue: number }
  | { arrayValue: { values: OtlpValue[] } };

/** An attribute in the JSON of OTLP. */
export interface OtlpAttribute {
  /** The name of the attribute. */
  key: string;
  /** Its value, with its type as a member. */
  value: OtlpValue;
}

/** A span in the JSON of OTLP. Times are nanoseconds since the epoch, as text. */
export interface OtlpSpan {
  /** 32 hexadecimal digits. */
  traceId: string;
  /** 16 hexadecimal digits. */
  spanId: string;
  /** The span above it. Absent for a root. */
  parentSpanId?: string;
  /** The name of the span. */
  name: string;
  /** The kind by number: 1 internal, 2 server, 3 client. */
  kind: number;
  /** Its start, in nanoseconds since 1970 as text. */
  startTimeUnixNano: string;
  /** Its end, in nanoseconds since 1970 as text. */
  endTimeUnixNano: string;
  /** Facts about the span. */
  attributes: OtlpAttribute[];
  /** Spans that it belongs together with, such as the turn before. */
  links?: { traceId: string; spanId: string }[];
  /** The code 2 and a message for a span that failed. */
  status: { code?: number; message?: string };
}

/** The body of a request to `/v1/traces` of a collector. */
export interface OtlpTraces {
  /** The spans by the service that made them. */
  resourceSpans: {
    resource: { attributes: OtlpAttribute[] };
    scopeSpans: { scope: { name: string }; spans: OtlpSpan[] }[];
  }[];
}

const INTERNAL = 1;
const CLIENT = 3;
const FAILED = 2;
const NANOSECONDS = 1_000_000n;

/** Returns spans as a collector takes them. */
export function otlpTraces(spans: readonly SpanRecord[], known: Readonly<Record<string, string>> = { 'service.name': SCOPE }): OtlpTraces {
  const resource = { attributes: Object.entries(known).map(([key, value]) => attribute(key, value)) };
  return { resourceSpans: [{ resource, scopeSpans: [{ scope: { name: SCOPE }, spans: spans.map(otlpSpan) }] }] };
}

function otlpSpan({ traceId, spanId, parentSpanId, name, kind, startTime, endTime, attributes, links, error }: SpanRecord): OtlpSpan {
  return {
    traceId,
    spanId,
    ...(parentSpanId === undefined ? {} : { parentSpanId }),
    name,
    kind: kind === 'client' ? CLIENT : INTERNAL,
    startTimeUnixNano: nanoseconds(startTime),
    endTimeUnixNano: nanoseconds(endTime),
    attributes: Object.entries(attributes).map(([key, value]) => attribute(key, value)),
    ...(links === undefined ? {} : { links }),
    status: error === undefined ? {} : { code: FAILED, message: error },
  };
}

function nanoseconds(ms: number): string {
  return String(BigInt(Math.round(ms)) * NANOSECONDS);
}

function attribute(key: string, value: AttributeValue): OtlpAttribute {
  return { key, value: otlpValue(value) };
}

function otlpValue(value: AttributeValue): OtlpValue {
  if (typeof value === 'string') return { stringValue: value };
  if (typeof value === 'boolean') return { boolValue: value };
  if (Array.isArray(value)) return { arrayValue: { values: value.map(otlpValue) } };
  return Number.isSafeInteger(value) ? { intValue: String(value) } : { doubleValue: value };
}
