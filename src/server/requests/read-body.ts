import { MAX_CHECKED_DEPTH } from '../../core/domain/json.ts';
import { RequestError } from '../problems/request-error.ts';

/** The largest body of a request, in bytes. */
export const MAX_BODY_BYTES = 1_000_000;

/** The most values of a body: numbers, texts, lists and so on, with those inside others. A usual one has one for each 20 bytes or more. */
export const MAX_BODY_VALUES = 100_000;

/** `application/json`, and types that are written as JSON: `application/merge-patch+json`. */
const JSON_TYPE = /^application\/(?:json|[\w.-]+\+json)\s*(?:;|$)/i;

/** The only encoding of JSON that is exchanged. */
const OTHER_CHARSET = /;\s*charset\s*=\s*(?!"?utf-?8\b)/i;

const UTF8 = new TextDecoder('utf-8', { fatal: true });

/**
 * Reads the body of a request as JSON; undefined if it has none. Throws `unsupported_media_type`, `body_too_large` as soon as it has
 * read too much, `malformed_request`, and `invalid_request` for a value that is nested too deeply or has too many parts.
 */
export async function readJsonBody(request: Request): Promise<unknown> {
  const bytes = await readBytes(request);
  if (bytes.length === 0) return undefined;
  requireJsonType(request);
  requireBounds(bytes);
  return parsed(bytes);
}

const BYTE = { quote: 0x22, comma: 0x2c, openList: 0x5b, backslash: 0x5c, closeList: 0x5d, openObject: 0x7b, closeObject: 0x7d };

/**
 * Throws `invalid_request` for a body that is nested too deeply or has too many values, by one pass over its bytes: 1 MB of empty lists
 * takes 30 MB as values, and every later reader of them a multiple of that.
 */
function requireBounds(bytes: Uint8Array): void {
  let depth = 0;
  // Each comma has a value behind it, and each bracket one inside: an empty list counts as two.
  let values = 1;
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at];
    if (byte === BYTE.quote) at = endOfText(bytes, at);
    else if (byte === BYTE.comma) values += 1;
    else if (byte === BYTE.closeList || byte === BYTE.closeObject) depth -= 1;
    else if (byte === BYTE.openList || byte === BYTE.openObject) {
      values += 1;
      depth += 1;
      if (depth > MAX_CHECKED_DEPTH) throw outOfBounds(`is nested deeper than ${MAX_CHECKED_DEPTH} levels: write it flatter`);
    }
    if (values > MAX_BODY_VALUES) throw outOfBounds(`has more than ${MAX_BODY_VALUES} values: send less, or write data as text`);
  }
}

/** Returns the place of the quotation mark that ends a text. */
function endOfText(bytes: Uint8Array, start: number): number {
  let at = start + 1;
  while (at < bytes.length && bytes[at] !== BYTE.quote) at += bytes[at] === BYTE.backslash ? 2 : 1;
  return at;
}

function outOfBounds(why: string): RequestError {
  return new RequestError('invalid_request', `The body ${why}`, { errors: [{ pointer: '#', detail: why }] });
}

function requireJsonType({ headers }: Request): void {
  const type = headers.get('content-type') ?? '';
  const encoding = headers.get('content-encoding') ?? 'identity';
  if (JSON_TYPE.test(type.trim()) && !OTHER_CHARSET.test(type) && encoding === 'identity') return;
  const given = encoding === 'identity' ? `of type "${type}"` : `encoded as "${encoding}"`;
  throw new RequestError('unsupported_media_type', `The body is ${given}: send "application/json" in UTF-8, without an encoding`, {
    headers: { 'accept-post': 'application/json' },
  });
}

function parsed(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(UTF8.decode(bytes)) as unknown;
  } catch {
    throw new RequestError('malformed_request', 'The body is no JSON in UTF-8: send one JSON value');
  }
}

async function readBytes(request: Request): Promise<Uint8Array> {
  try {
    return await readWhole(request);
  } catch (cause) {
    if (cause instanceof RequestError) throw cause;
    // Something has read the body before, which only the developer of the service can mend.
    if (cause instanceof TypeError) {
      const mend = 'mount the handler before middleware that reads bodies, such as express.json()';
      throw new Error(`The body was read before the handler: ${mend}`, { cause });
    }
    throw new RequestError('malformed_request', 'The connection broke before the end of the body: send the request again', { cause });
  }
}

async function readWhole(request: Request): Promise<Uint8Array> {
  const declared = request.headers.get('content-length');
  if (declared === null) return readChunks(request);
  if (Number(declared) > MAX_BODY_BYTES) {
    await request.body?.cancel().catch(() => undefined);
    throw tooLarge();
  }
  // An HTTP server reads no more than that. A request without a socket may have another length than it declares.
  const bytes = new Uint8Array(await request.arrayBuffer());
  if (bytes.length > MAX_BODY_BYTES) throw tooLarge();
  return bytes;
}

async function readChunks({ body }: Request): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body ?? []) {
    length += chunk.length;
    // Leaving the loop cancels the body: nothing more of it is read.
    if (length > MAX_BODY_BYTES) throw tooLarge();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function tooLarge(): RequestError {
  return new RequestError('body_too_large', `The body has more than ${MAX_BODY_BYTES} bytes: send less, or references to content`);
}
