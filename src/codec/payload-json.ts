import type { Payload } from '@temporalio/common';

/** A payload as JSON, as the Temporal UI and CLI exchange it with a codec server. Bytes are base64. */
interface PayloadJson {
  metadata?: Record<string, string>;
  data?: string;
}

/**
 * Applies a codec to a body of the form `{"payloads": […]}` and returns one of the same form. Payloads that the codec
 * leaves unchanged are returned as they were. Throws a `PayloadJsonError` for a body of another form, and the codec's
 * errors.
 */
export async function transformBody(body: string, transform: (payloads: Payload[]) => Promise<Payload[]>): Promise<string> {
  const received = payloadsOf(body);
  const payloads = received.map(fromJson);
  const results = await transform(payloads);
  return JSON.stringify({ payloads: results.map((one, index) => (one === payloads[index] ? received[index] : toJson(one))) });
}

/** The error for a body that is not a list of payloads. */
class PayloadJsonError extends Error {
  override readonly name = 'PayloadJsonError';

  constructor() {
    super('The body is not {"payloads": [{"metadata": {"encoding": "<base64>"}, "data": "<base64>"}]}');
  }
}

function payloadsOf(body: string): PayloadJson[] {
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    throw new PayloadJsonError();
  }
  if (!isRecord(value) || !Array.isArray(value['payloads'])) throw new PayloadJsonError();
  const payloads: unknown[] = value['payloads'];
  if (payloads.every(isPayloadJson)) return payloads;
  throw new PayloadJsonError();
}

function isPayloadJson(value: unknown): value is PayloadJson {
  if (!isRecord(value)) return false;
  const { metadata, data } = value;
  const isText = (one: unknown): boolean => typeof one === 'string';
  return (data === undefined || isText(data)) && (metadata === undefined || (isRecord(metadata) && Object.values(metadata).every(isText)));
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function fromJson({ metadata = {}, data = '' }: PayloadJson): Payload {
  const values = Object.entries(metadata).map(([name, value]) => [name, Buffer.from(value, 'base64')] as const);
  return { metadata: Object.fromEntries(values), data: Buffer.from(data, 'base64') };
}

function toJson({ metadata, data }: Payload): PayloadJson {
  const values = Object.entries(metadata ?? {}).map(([name, value]) => [name, base64(value)] as const);
  return { metadata: Object.fromEntries(values), data: base64(data ?? new Uint8Array()) };
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');
}
