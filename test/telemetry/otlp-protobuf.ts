import protobuf from 'protobufjs';
import type { OtlpAttribute, OtlpSpan, OtlpTraces, OtlpValue } from '../../src/telemetry/otlp.ts';

// The messages of opentelemetry-proto (trace/v1, common/v1) as far as a collector of tests reads them, with the numbers of their fields.
const TRACES = protobuf
  .parse(`
  syntax = "proto3";
  message Traces { repeated ResourceSpans resource_spans = 1; }
  message ResourceSpans { Resource resource = 1; repeated ScopeSpans scope_spans = 2; }
  message Resource { repeated KeyValue attributes = 1; }
  message ScopeSpans { Scope scope = 1; repeated Span spans = 2; }
  message Scope { string name = 1; string version = 2; }
  message Span {
    bytes trace_id = 1; bytes span_id = 2; bytes parent_span_id = 4; string name = 5; int32 kind = 6;
    fixed64 start_time_unix_nano = 7; fixed64 end_time_unix_nano = 8; repeated KeyValue attributes = 9;
    repeated Link links = 13; Status status = 15;
  }
  message Link { bytes trace_id = 1; bytes span_id = 2; }
  message Status { string message = 2; int32 code = 3; }
  message KeyValue { string key = 1; AnyValue value = 2; }
  message AnyValue {
    oneof value { string string_value = 1; bool bool_value = 2; int64 int_value = 3; double double_value = 4; ArrayValue array_value = 5; }
  }
  message ArrayValue { repeated AnyValue values = 1; }
`)
  .root.lookupType('Traces');

interface ReadSpan extends Omit<OtlpSpan, 'attributes' | 'links' | 'status'> {
  attributes?: OtlpAttribute[];
  links?: { traceId: string; spanId: string }[];
  status?: OtlpSpan['status'];
}

interface ReadTraces {
  resourceSpans?: { resource?: { attributes?: OtlpAttribute[] }; scopeSpans?: { scope?: { name: string }; spans?: ReadSpan[] }[] }[];
}

/** Reads the body of a request of OTLP in its binary form, as the JSON form has it: ids as hexadecimal text, long numbers as text. */
export function readProtobufTraces(body: Uint8Array): OtlpTraces {
  const read = TRACES.toObject(TRACES.decode(body), { longs: String, bytes: Array, oneofs: false }) as ReadTraces;
  return {
    resourceSpans: (read.resourceSpans ?? []).map(({ resource, scopeSpans = [] }) => ({
      resource: { attributes: attributesOf(resource?.attributes) },
      scopeSpans: scopeSpans.map(({ scope, spans = [] }) => ({ scope: { name: scope?.name ?? '' }, spans: spans.map(spanOf) })),
    })),
  };
}

function spanOf({ traceId, spanId, parentSpanId, attributes, links, status, ...span }: ReadSpan): OtlpSpan {
  return {
    ...span,
    traceId: hexadecimal(traceId),
    spanId: hexadecimal(spanId),
    ...(parentSpanId === undefined || parentSpanId.length === 0 ? {} : { parentSpanId: hexadecimal(parentSpanId) }),
    attributes: attributesOf(attributes),
    ...(links === undefined
      ? {}
      : { links: links.map((link) => ({ traceId: hexadecimal(link.traceId), spanId: hexadecimal(link.spanId) })) }),
    status: status ?? {},
  };
}

/** Returns bytes, which are read as a list of numbers, as text. */
function hexadecimal(bytes: unknown): string {
  return Buffer.from(bytes as number[]).toString('hex');
}

function attributesOf(attributes: readonly OtlpAttribute[] = []): OtlpAttribute[] {
  return attributes.map(({ key, value }) => ({ key, value: valueOf(value) }));
}

function valueOf(value: OtlpValue): OtlpValue {
  return 'arrayValue' in value ? { arrayValue: { values: (value.arrayValue.values ?? []).map(valueOf) } } : value;
}
