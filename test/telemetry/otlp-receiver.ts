import { createServer } from 'node:http';
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
function readProtobufTraces(body: Uint8Array): OtlpTraces {
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

/** A span as a collector got it. */
export interface ReceivedSpan extends OtlpSpan {
  /** The attributes of its process. */
  resource: Record<string, unknown>;
  values: Record<string, unknown>;
}

/** A collector that keeps the spans that it gets, in the JSON form of OTLP over HTTP or the binary one. */
export class OtlpReceiver {
  readonly spans: ReceivedSpan[] = [];
  readonly headers: NodeJS.Dict<string | string[]>[] = [];
  /** Answers with that status instead of 200. */
  status = 200;
  /** The type of requests that it does not take, as some backends do not take JSON. */
  refused: string | undefined;
  readonly #server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      this.headers.push(request.headers);
      const isBinary = request.headers['content-type'] === 'application/x-protobuf';
      const body = Buffer.concat(chunks);
      const status = request.headers['content-type'] === this.refused ? 415 : this.status;
      if (status === 200 && request.url === '/v1/traces')
        this.add(isBinary ? readProtobufTraces(body) : (JSON.parse(body.toString()) as OtlpTraces));
      response.writeHead(status, { 'content-type': isBinary ? 'application/x-protobuf' : 'application/json' }).end(isBinary ? '' : '{}');
    });
  });

  static async listen(): Promise<OtlpReceiver> {
    const receiver = new OtlpReceiver();
    await new Promise<void>((resolve) => receiver.#server.listen(0, '127.0.0.1', resolve));
    return receiver;
  }

  get url(): string {
    const address = this.#server.address();
    return `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
  }

  /** Keeps the spans of a request. */
  add({ resourceSpans }: OtlpTraces): void {
    for (const { resource, scopeSpans } of resourceSpans) {
      const known = valuesOf(resource.attributes);
      for (const span of scopeSpans.flatMap(({ spans }) => spans)) {
        this.spans.push({ ...span, resource: known, values: valuesOf(span.attributes) });
      }
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

function valuesOf(attributes: OtlpSpan['attributes']): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));
}
