import type { PayloadCodec } from '@temporalio/common';
import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders, IncomingMessage, RequestListener } from 'node:http';
import { errorMessage } from '../core/domain/errors/error.ts';
import { transformBody } from './payload-json.ts';

/** The options that answers depend on. */
export interface AnswerOptions {
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
export function answerer(options: AnswerOptions): RequestListener {
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
