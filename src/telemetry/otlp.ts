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
  key: string;
  value: OtlpValue;
}

/** A span in the JSON of OTLP. Times are nanoseconds since the epoch, as text. */
export interface OtlpSpan {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  kind: number;
  startTimeUnixNano: string;
  endTimeUnixNano: string;
  attributes: OtlpAttribute[];
  links?: { traceId: string; spanId: string }[];
  status: { code?: number; message?: string };
}

/** The body of a request to `/v1/traces` of a collector. */
export interface OtlpTraces {
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
