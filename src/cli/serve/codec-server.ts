import { timingSafeEqual } from 'node:crypto';
import type { Payload, PayloadCodec } from '@temporalio/common';
import type { CodecOptions } from '../../codec/encryption.ts';
import { createCodecs } from '../../codec/with-codec.ts';
import { defined, isJsonObject, type JsonValue, parsedJson } from '../../core/domain/json.ts';
import { errorCode, errorMessage, UsageError } from '../../core/domain/errors.ts';
import { secretDigest } from '../../server/auth/api-keys.ts';
import { isLoopback } from '../../server/auth/open-access.ts';
import type { Handler } from '../../server/create-handler.ts';
import { listen } from '../../server/node-server.ts';
import { readBytes } from '../../server/requests.ts';
import { chosenCodec, encodes } from '../command.ts';
import type { CommandIo, FlagsOf } from '../define-command.ts';
import { EXIT_CODES } from '../exit-codes.ts';
import { untilEnded } from '../terminal.ts';
import type { CODEC_SERVER } from '../serve-commands.ts';

/** The environment variable with the token that callers must send as `Authorization: Bearer <token>`. */
const TOKEN_VARIABLE = 'LONGHAUL_CODEC_TOKEN';

/** The default port of a codec server: one above the usual port of the Temporal UI. */
export const USUAL_CODEC_PORT = 8234;

/** The origins of the Temporal UI of a local server. */
export const USUAL_ORIGINS = ['http://localhost:8233', 'http://127.0.0.1:8233'];

/** Serves `/encode` and `/decode` for the Temporal UI and CLI, until Ctrl-C. */
export async function codecServer({ terminal, output }: CommandIo, flags: FlagsOf<typeof CODEC_SERVER>): Promise<number> {
  const { env, signal } = terminal;
  const codec = chosenCodec(flags, env);
  const token = env[TOKEN_VARIABLE] || undefined;
  const origins = flags.allowOrigin ?? USUAL_ORIGINS;
  const server = await startCodecServer({
    codec,
    token,
    port: flags.port ?? USUAL_CODEC_PORT,
    allowsOrigin: (origin) => origins.includes(origin),
    onRefusal: reportRefusals((line) => output.note(line)),
    ...defined({ host: flags.host }),
  });
  try {
    if (!encodes(codec)) output.note('There are no encryption keys: what is compressed can be read, and what is encrypted cannot.');
    if (token === undefined) output.note(`${TOKEN_VARIABLE} is not set: every program on this machine can have payloads decoded.`);
    if (output.json) output.printJson({ url: server.url, allowOrigins: origins, token: token !== undefined });
    else {
      output.print(`Codec server at ${server.url} for pages of ${origins.join(', ')}`);
      output.print(
        `\n  temporal workflow show --workflow-id <run> --codec-endpoint ${server.url}${token === undefined ? '' : ` --codec-auth "Bearer $${TOKEN_VARIABLE}"`}`,
      );
      output.print('\nCtrl-C ends it.');
    }
    await untilEnded(signal);
    return EXIT_CODES.ok.code;
  } finally {
    await server.stop();
  }
}

/** Reports why requests are refused, but not the same reason twice in a row: the Temporal CLI retries many times. */
export function reportRefusals(say: (line: string) => void): (line: string) => void {
  let last = '';
  return (line) => {
    if (line !== last) say(`The codec server has refused a request (${line})`);
    last = line;
  };
}

/** The options of a codec server. */
export interface CodecServerOptions {
  codec: CodecOptions;
  /** The address to listen on. Default 127.0.0.1, which only this machine can reach. */
  host?: string;
  /** The port to listen on. Default: a free one. */
  port?: number | undefined;
  /** The token that callers must send as `Authorization: Bearer <token>`. Required for any address that other machines reach. */
  token?: string | undefined;
  /** Returns true if pages of this origin, such as `http://localhost:8233`, may call. Default: none may. */
  allowsOrigin?: (origin: string) => boolean;
  /** The maximum size of a request body in bytes. Default 64 MiB. */
  maxBodyBytes?: number;
  /** Receives the reason of each refused request, which the Temporal CLI does not show. It never contains content or a token. */
  onRefusal?: (line: string) => void;
}

/** A running codec server. */
export interface CodecServer {
  /** The endpoint to give to the Temporal UI and CLI. */
  url: string;
  /** Ends the server and its connections. */
  stop(): Promise<void>;
}

const MAX_BODY_BYTES = 64 * 1024 * 1024;

/**
 * Starts an HTTP server that encodes and decodes payloads for the Temporal UI and CLI: `POST …/encode` and `POST …/decode`. Throws a
 * UsageError for invalid codec options, for an address that other machines reach without a token, and for a port that cannot be used.
 */
export async function startCodecServer({ host = '127.0.0.1', port = 0, ...options }: CodecServerOptions): Promise<CodecServer> {
  if (options.token === undefined && !isLoopback(host)) {
    throw new UsageError(`A codec server at "${host}" would show clear text to everyone who reaches it: give it a token`);
  }
  const server = await listen(payloadHandler(options), { host, port });
  return { url: server.url, stop: () => server.close(0) };
}

/** The request headers of the Temporal UI. */
const REQUEST_HEADERS = 'Content-Type, X-Namespace, Authorization, Authorization-Extras';
const PREFLIGHT_SECONDS = 600;

/** Returns a function that answers requests to a codec server. Its messages never contain bodies or tokens. */
function payloadHandler({ allowsOrigin = () => false, onRefusal, ...options }: Omit<CodecServerOptions, 'host' | 'port'>): Handler {
  const codecs = createCodecs(options.codec);
  return async (request) => {
    const origin = request.headers.get('origin');
    const isAllowed = origin === null || allowsOrigin(origin);
    const answer = isAllowed
      ? await answerTo(request, codecs, options).catch((error: unknown) => refusal(400, errorMessage(error)))
      : refusal(403, `Pages of the origin "${origin}" may not call this codec server: start it with --allow-origin ${origin}`);
    if (answer.status >= 400) onRefusal?.(`${answer.status}: ${await answer.clone().text()}`);
    const headers = { 'cache-control': 'no-store', vary: 'origin', ...(isAllowed ? originHeaders(request) : {}) };
    for (const [name, value] of Object.entries(headers)) answer.headers.set(name, value);
    return answer;
  };
}

function originHeaders({ headers }: Request): Record<string, string> {
  const origin = headers.get('origin');
  if (origin === null) return {};
  return {
    'access-control-allow-origin': origin,
    'access-control-allow-credentials': 'true',
    'access-control-allow-methods': 'POST',
    'access-control-allow-headers': REQUEST_HEADERS,
    'access-control-max-age': String(PREFLIGHT_SECONDS),
    // Browsers require this if a page from the internet calls this machine.
    ...(headers.get('access-control-request-private-network') === 'true' ? { 'access-control-allow-private-network': 'true' } : {}),
  };
}

function refusal(status: number, reason: string, headers: Record<string, string> = {}): Response {
  return new Response(reason, { status, headers });
}

async function answerTo(
  request: Request,
  codecs: readonly PayloadCodec[],
  { token, maxBodyBytes = MAX_BODY_BYTES }: Pick<CodecServerOptions, 'token' | 'maxBodyBytes'>,
): Promise<Response> {
  // Only the last part of the path counts: an endpoint may have any path before it, such as the namespace.
  const direction = new URL(request.url).pathname.split('/').at(-1);
  if (direction !== 'encode' && direction !== 'decode') return refusal(404, 'This server answers only POST …/encode and POST …/decode');
  if (request.method === 'OPTIONS') return new Response(null, { status: 204 });
  if (request.method !== 'POST') {
    return refusal(405, `The method ${request.method} is not allowed: send POST`, { allow: 'POST, OPTIONS' });
  }
  if (token !== undefined && !isAuthorized(request, token)) {
    return refusal(401, 'Send the header "Authorization: Bearer <token>"', { 'www-authenticate': 'Bearer' });
  }
  let body: Uint8Array;
  try {
    body = await readBytes(request, maxBodyBytes);
  } catch (error) {
    if (errorCode(error) === 'body_too_large') return refusal(413, `The body has more than ${maxBodyBytes} bytes`);
    throw error;
  }
  const received = payloadsOf(parsedJson(Buffer.from(body).toString()));
  const given = received.map(fromJson);
  let results = given;
  for (const codec of direction === 'encode' ? codecs : codecs.toReversed()) results = await codec[direction](results);
  // Payloads that the codecs leave unchanged are returned in their received form.
  return Response.json({ payloads: results.map((one, index) => (one === given[index] ? received[index] : toJson(one))) });
}

/** True for the right token. Digests have equal lengths, and do not reveal which part of a token is wrong. */
function isAuthorized({ headers }: Request, token: string): boolean {
  return timingSafeEqual(secretDigest(headers.get('authorization') ?? ''), secretDigest(`Bearer ${token}`));
}

/** A payload in the JSON form that the Temporal UI and CLI exchange with a codec server. Bytes are base64. */
interface PayloadJson {
  metadata?: Record<string, string>;
  data?: string;
}

/** Returns the payloads of a body. Throws for an invalid body. */
function payloadsOf(body: JsonValue | undefined): PayloadJson[] {
  const payloads: unknown = isJsonObject(body) ? body['payloads'] : undefined;
  if (Array.isArray(payloads) && payloads.every(isPayloadJson)) return payloads;
  throw new UsageError('The body is not {"payloads": [{"metadata": {"encoding": "<base64>"}, "data": "<base64>"}]}');
}

function isPayloadJson(value: unknown): value is PayloadJson {
  if (!isJsonObject(value)) return false;
  const { metadata = {}, data = '' } = value;
  return typeof data === 'string' && isJsonObject(metadata) && Object.values(metadata).every((one) => typeof one === 'string');
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
