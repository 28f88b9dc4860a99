import { createHash, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import type { Payload, PayloadCodec } from '@temporalio/common';
import { errorMessage, UsageError } from '../core/domain/errors.ts';
import type { CodecOptions } from './encryption.ts';
import { createCodecs } from './with-codec.ts';

/** The options of a codec server. */
export interface CodecServerOptions {
  codec: CodecOptions;
  /** The address to listen on. Default 127.0.0.1, which only this machine reaches. */
  host?: string;
  /** The port to listen on. Default: a free one. */
  port?: number | undefined;
  /**
   * The token that callers must send as `Authorization: Bearer <token>`. Required for any address that other machines
   * reach.
   */
  token?: string | undefined;
  /** Returns true if pages of that origin, such as `http://localhost:8233`, may call. Default: none may. */
  allowsOrigin?: (origin: string) => boolean;
  /** The maximum size of a request body in bytes. Default 64 MiB. */
  maxBodyBytes?: number;
  /**
   * Receives the reason of each refused request, which the Temporal CLI does not show. It never contains content or a
   * token.
   */
  onRefusal?: (line: string) => void;
}

/** A running codec server. */
export interface CodecServer {
  /** The endpoint to give to the Temporal UI and CLI. */
  url: string;
  /** Ends the server and its connections. */
  stop(): Promise<void>;
}

const LOOPBACK = ['127.0.0.1', '::1', 'localhost'];
const MAX_BODY_BYTES = 64 * 1024 * 1024;

/**
 * Starts an HTTP server that encodes and decodes payloads for the Temporal UI and CLI: `POST …/encode` and `POST
 * …/decode`. Throws a UsageError for invalid codec options, for an address that other machines reach without a token,
 * and for a port that cannot be used.
 */
export async function startCodecServer(options: CodecServerOptions): Promise<CodecServer> {
  const { host = '127.0.0.1', token, allowsOrigin = () => false, maxBodyBytes = MAX_BODY_BYTES, onRefusal = () => undefined } = options;
  if (token === undefined && !LOOPBACK.includes(host)) {
    throw new UsageError(`A codec server at "${host}" would show clear text to everyone who reaches it: give it a token`);
  }
  const codecs = createCodecs(options.codec);
  const server = createServer(answerer({ codecs, token, allowsOrigin, maxBodyBytes, onRefusal }));
  const port = await listen(server, host, options.port ?? 0);
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${port}`,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function listen(server: Server, host: string, port: number): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', (cause) =>
      reject(new UsageError(`The codec server cannot listen on "${host}:${port}": ${errorMessage(cause)}. Choose another port`, { cause })),
    );
    server.listen(port, host, resolve);
  });
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : port;
}

/** The options that answers depend on. */
interface AnswerOptions {
  codecs: readonly PayloadCodec[];
  token: string | undefined;
  allowsOrigin: (origin: string) => boolean;
  maxBodyBytes: number;
  onRefusal: (line: string) => void;
}

interface Answer {
  status: number;
  body: string;
  headers?: Record<string, string>;
}

/** The request headers of the Temporal UI. */
const REQUEST_HEADERS = 'Content-Type, X-Namespace, Authorization, Authorization-Extras';
const PREFLIGHT_SECONDS = 600;

/** Returns a listener that answers requests to a codec server. Its messages never contain bodies or tokens. */
function answerer(options: AnswerOptions): RequestListener {
  return (request, response) => {
    const headers = { 'cache-control': 'no-store', vary: 'origin', ...originHeaders(request.headers, options) };
    const send = ({ status, body, headers: own }: Answer): void => {
      if (status >= 400) options.onRefusal(`${status}: ${body}`);
      response.writeHead(status, { ...headers, 'content-type': 'text/plain; charset=utf-8', ...own }).end(body);
    };
    answer(request, options).then(send, (error: unknown) => send({ status: 400, body: errorMessage(error) }));
  };
}

async function answer(request: IncomingMessage, options: AnswerOptions): Promise<Answer> {
  const { origin } = request.headers;
  if (origin !== undefined && !options.allowsOrigin(origin)) {
    return { status: 403, body: `Pages of the origin "${origin}" may not call this codec server: start it with --allow-origin ${origin}` };
  }
  const direction = directionOf(request.url ?? '');
  if (direction === undefined) return { status: 404, body: 'This server answers only POST …/encode and POST …/decode' };
  if (request.method === 'OPTIONS') return { status: 204, body: '' };
  if (request.method !== 'POST')
    return { status: 405, body: `The method ${request.method} is not allowed: send POST`, headers: { allow: 'POST, OPTIONS' } };
  if (options.token !== undefined && !isAuthorized(request.headers, options.token)) {
    return { status: 401, body: 'Send the header "Authorization: Bearer <token>"', headers: { 'www-authenticate': 'Bearer' } };
  }
  const body = await readBody(request, options.maxBodyBytes);
  if (body === undefined)
    return { status: 413, body: `The body has more than ${options.maxBodyBytes} bytes`, headers: { connection: 'close' } };
  const codecs = direction === 'encode' ? options.codecs : options.codecs.toReversed();
  const transformed = await transformBody(body, async (received) => {
    let payloads = received;
    for (const codec of codecs) payloads = await codec[direction](payloads);
    return payloads;
  });
  return { status: 200, body: transformed, headers: { 'content-type': 'application/json' } };
}

/**
 * Returns the direction, which only the last part of the path decides, so that an endpoint may have any path before
 * it, such as the namespace.
 */
function directionOf(url: string): 'encode' | 'decode' | undefined {
  const last = url.split('?')[0]?.split('/').at(-1);
  return last === 'encode' || last === 'decode' ? last : undefined;
}

function originHeaders({ origin, ...headers }: IncomingHttpHeaders, { allowsOrigin }: AnswerOptions): Record<string, string> {
  if (origin === undefined || !allowsOrigin(origin)) return {};
  return {
    'access-control-allow-origin': origin,
    'access-control-allow-credentials': 'true',
    'access-control-allow-methods': 'POST',
    'access-control-allow-headers': REQUEST_HEADERS,
    'access-control-max-age': String(PREFLIGHT_SECONDS),
    // Browsers require this if a page of the internet calls this machine.
    ...(headers['access-control-request-private-network'] === 'true' ? { 'access-control-allow-private-network': 'true' } : {}),
  };
}

/**
 * True for the right token. Digests are compared because they have one length and do not reveal which part of a token
 * is wrong.
 */
function isAuthorized({ authorization = '' }: IncomingHttpHeaders, token: string): boolean {
  return timingSafeEqual(sha256(authorization), sha256(`Bearer ${token}`));
}

function sha256(text: string): Uint8Array {
  return createHash('sha256').update(text).digest();
}

/** Returns the body, or undefined as soon as it exceeds the limit. */
async function readBody(request: IncomingMessage, maxBytes: number): Promise<string | undefined> {
  if (Number(request.headers['content-length'] ?? 0) > maxBytes) return undefined;
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > maxBytes) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

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
async function transformBody(body: string, transform: (payloads: Payload[]) => Promise<Payload[]>): Promise<string> {
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
