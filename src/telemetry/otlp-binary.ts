import type { OtlpAttribute, OtlpSpan, OtlpTraces, OtlpValue } from './otlp.ts';

// The binary form of OTLP, the only one that some backends accept. Field numbers are from `opentelemetry-proto` (trace/v1, common/v1).

/** How the value of a field is written: as a number of one to ten bytes, as eight bytes, or with its length before it. */
const WIRE = { varint: 0, eightBytes: 1, counted: 2 } as const;

/** Returns the body of a request in its binary form. */
export function binaryTraces({ resourceSpans }: OtlpTraces): Uint8Array<ArrayBuffer> {
  const whole = resourceSpans.map(({ resource, scopeSpans }) =>
    message(1, [
      message(
        1,
        resource.attributes.map((one) => attribute(1, one)),
      ),
      ...scopeSpans.map(({ scope, spans }) => message(2, [message(1, [text(1, scope.name)]), ...spans.map(spanMessage)])),
    ]),
  );
  return Uint8Array.from(Buffer.concat(whole));
}

/** Returns the number of spans that a collector has not taken, by its answer in the binary form. */
export function rejectedInBinary(answer: Uint8Array): number {
  // Field 1 of the answer is a message, whose field 1 is the number.
  if (answer[0] !== tag(1, WIRE.counted)) return 0;
  const { value: length, next } = readVarint(answer, 1);
  const inner = answer.subarray(next, next + length);
  return inner[0] === tag(1, WIRE.varint) ? readVarint(inner, 1).value : 0;
}

function spanMessage(span: OtlpSpan): Buffer {
  const { traceId, spanId, parentSpanId, name, kind, startTimeUnixNano, endTimeUnixNano, attributes, links = [], status } = span;
  return message(2, [
    ...ids({ traceId, spanId }),
    ...(parentSpanId === undefined ? [] : [counted(4, Buffer.from(parentSpanId, 'hex'))]),
    text(5, name),
    number(6, BigInt(kind)),
    nanoseconds(7, startTimeUnixNano),
    nanoseconds(8, endTimeUnixNano),
    ...attributes.map((one) => attribute(9, one)),
    ...links.map((link) => message(13, ids(link))),
    message(15, [
      ...(status.message === undefined ? [] : [text(2, status.message)]),
      ...(status.code === undefined ? [] : [number(3, BigInt(status.code))]),
    ]),
  ]);
}

function ids({ traceId, spanId }: { traceId: string; spanId: string }): Buffer[] {
  return [counted(1, Buffer.from(traceId, 'hex')), counted(2, Buffer.from(spanId, 'hex'))];
}

function attribute(field: number, { key, value }: OtlpAttribute): Buffer {
  return message(field, [text(1, key), message(2, [valueField(value)])]);
}

function valueField(value: OtlpValue): Buffer {
  if ('stringValue' in value) return text(1, value.stringValue);
  if ('boolValue' in value) return number(2, value.boolValue ? 1n : 0n);
  if ('intValue' in value) return number(3, BigInt(value.intValue));
  if ('doubleValue' in value) {
    const bytes = Buffer.alloc(8);
    bytes.writeDoubleLE(value.doubleValue);
    return Buffer.concat([Buffer.from([tag(4, WIRE.eightBytes)]), bytes]);
  }
  return message(
    5,
    value.arrayValue.values.map((one) => message(1, [valueField(one)])),
  );
}

function message(field: number, parts: readonly Buffer[]): Buffer {
  return counted(field, Buffer.concat(parts));
}

function text(field: number, value: string): Buffer {
  return counted(field, Buffer.from(value));
}

function counted(field: number, bytes: Buffer): Buffer {
  return Buffer.concat([varint(BigInt(tag(field, WIRE.counted))), varint(BigInt(bytes.length)), bytes]);
}

function number(field: number, value: bigint): Buffer {
  return Buffer.concat([varint(BigInt(tag(field, WIRE.varint))), varint(BigInt.asUintN(64, value))]);
}

function nanoseconds(field: number, value: string): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt(value));
  return Buffer.concat([Buffer.from([tag(field, WIRE.eightBytes)]), bytes]);
}

function tag(field: number, wire: number): number {
  return field * 8 + wire;
}

/** Seven bits in each byte, the lowest first; the eighth says that there are more. */
function varint(value: bigint): Buffer {
  const bytes: number[] = [];
  let rest = value;
  while (rest > 0x7fn) {
    bytes.push(Number(rest & 0x7fn) | 0x80);
    rest >>= 7n;
  }
  return Buffer.from([...bytes, Number(rest)]);
}

function readVarint(bytes: Uint8Array, from: number): { value: number; next: number } {
  let value = 0;
  let next = from;
  for (let unit = 1; next < bytes.length; unit *= 0x80) {
    const byte = bytes[next] ?? 0;
    next += 1;
    value += (byte & 0x7f) * unit;
    if (byte < 0x80) break;
  }
  return { value, next };
}
