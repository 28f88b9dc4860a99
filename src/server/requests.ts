import { createHash } from 'node:crypto';
import { z } from 'zod';
import { defined } from '../core/domain/defined.ts';
import { errorCode } from '../core/domain/errors.ts';
import { canonicalJson, type JsonValue, MAX_CHECKED_DEPTH } from '../core/domain/json.ts';
import { readTraceparent } from '../core/domain/run-input.ts';
import { identityOf, type Principal } from '../core/domain/run.ts';
import { type WaitOptions, withPatience } from '../temporal/waiting.ts';
import type { Caller } from './auth/caller.ts';
import { type CallerLimits, takePlace } from './limits.ts';
import { RequestError } from './problems.ts';

/** The largest body of a request, in bytes. */
const MAX_BODY_BYTES = 1_000_000;

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

/** Reads the body of a request. Throws `body_too_large` as soon as it has read too much, and `malformed_request`. */
export async function readBytes(request: Request, maxBytes = MAX_BODY_BYTES): Promise<Uint8Array> {
  try {
    return await readWhole(request, maxBytes);
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

async function readWhole(request: Request, maxBytes: number): Promise<Uint8Array> {
  const declared = request.headers.get('content-length');
  if (declared === null) return readChunks(request, maxBytes);
  if (Number(declared) > maxBytes) {
    await request.body?.cancel().catch(() => undefined);
    throw tooLarge(maxBytes);
  }
  // An HTTP server reads no more than that. A request without a socket may have another length than it declares.
  const bytes = new Uint8Array(await request.arrayBuffer());
  if (bytes.length > maxBytes) throw tooLarge(maxBytes);
  return bytes;
}

async function readChunks({ body }: Request, maxBytes: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body ?? []) {
    length += chunk.length;
    // Leaving the loop cancels the body: nothing more of it is read.
    if (length > maxBytes) throw tooLarge(maxBytes);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function tooLarge(maxBytes: number): RequestError {
  return new RequestError('body_too_large', `The body has more than ${maxBytes} bytes: send less, or references to content`);
}

/** The name of the header. */
const IDEMPOTENCY_KEY = 'idempotency-key';

const LONGEST_KEY = 255;

/** The longest id of a message or of a decision. */
const LONGEST_ID = 64;

/** Returns the key of a request; undefined if it has none. Throws `invalid_request` for a key that is too long, or empty. */
export function readIdempotencyKey(headers: Headers): string | undefined {
  const key = headers.get(IDEMPOTENCY_KEY)?.trim();
  if (key === undefined || (key !== '' && key.length <= LONGEST_KEY)) return key;
  throw new RequestError('invalid_request', `The header "Idempotency-Key" has ${key.length} characters: write 1 to ${LONGEST_KEY}`, {
    errors: [{ parameter: 'Idempotency-Key', detail: `write 1 to ${LONGEST_KEY} characters` }],
  });
}

/** Returns the place of the caller in a trace, as tracers and proxies send it; nothing for a header that is none, which the standard ignores. */
export function callerTrace({ headers }: Pick<Request, 'headers'>): { traceparent?: string } {
  const traceparent = headers.get('traceparent')?.trim();
  return traceparent === undefined || readTraceparent(traceparent) === undefined ? {} : { traceparent };
}

/**
 * Returns the id of the run that a request with that key starts. It follows from the key and the principal alone, so that no table is
 * needed, and callers of two principals never meet. `tenant` is the one that a caller without a principal starts the run for: its keys are
 * apart for each.
 */
export function runIdOfKey(principal: Principal | undefined, key: string, tenant?: string): string {
  return derivedId('run', { ...identityOf(principal ?? {}), key, ...defined({ for: tenant }) });
}

/** Returns the digest of the body of a request, which the run that it starts keeps in its memo. */
export function requestDigest(route: string, key: string, body: unknown): string {
  // Converted as it was sent: members without a value are none.
  return digestOf({ route, key, body: JSON.parse(JSON.stringify(body ?? null)) as JsonValue });
}

/** Returns the id of a message or a decision: the one in the body, or else one that follows from the key. */
export function requestId(id: string | undefined, key: string | undefined): { id?: string } {
  if (id !== undefined) return { id };
  if (key === undefined) return {};
  return { id: key.length <= LONGEST_ID ? key : createHash('sha256').update(key).digest('hex') };
}

/** Also of what is below such a run: the steps of a program have ids that begin with its own. */
const DERIVED = /^(?:run|chat)-[\da-f]{40}(?:\/|$)/;

/** Returns the SHA-256 of a value, in hexadecimal digits. The order of its members does not count. */
function digestOf(value: JsonValue): string {
  return createHash('sha256').update(canonicalJson(value)).digest('hex');
}

/** Returns the id that follows from what it names: that of the run of an idempotency key, or of the session of a chat. */
export function derivedId(kind: 'run' | 'chat', named: JsonValue): string {
  return `${kind}-${digestOf(named).slice(0, 40)}`;
}

/** The reason for which a caller may not give a run an id; undefined if it may. */
function reasonAgainstId(id: string, { principal }: Pick<Caller, 'principal'>): { detail: string; what: string } | undefined {
  if (DERIVED.test(id)) {
    return {
      detail: 'Ids of this form follow from idempotency keys and chats: choose another one',
      what: 'an id of the form that the service makes',
    };
  }
  if (principal === undefined || !id.includes('/')) return undefined;
  return {
    detail: 'Ids with "/" are those of runs below other runs: choose one without',
    what: 'an id of the form of a run below another one',
  };
}

/**
 * True for an id that a caller may give to a run or a session. It may not take one that only the service makes: who knows a key or a chat
 * of another caller could otherwise take its id first. For the same reason, a caller that acts for a principal may not take one of the form
 * that runs below others have.
 */
export function mayTakeId(id: string, caller: Pick<Caller, 'principal'>): boolean {
  return reasonAgainstId(id, caller) === undefined;
}

/** Throws `invalid_request` for an id that the caller may not take. */
export function requireOwnId(id: string | undefined, pointer: string, caller: Pick<Caller, 'principal'>): void {
  const refused = id === undefined ? undefined : reasonAgainstId(id, caller);
  if (refused === undefined) return;
  throw new RequestError('invalid_request', refused.detail, { errors: [{ pointer, detail: refused.what }] });
}

/** The longest time that a request waits, in milliseconds: proxies end one that says nothing for longer. */
export const LONGEST_WAIT_MS = 60_000;

/** The query parameter of a route that can wait. */
export const waitParameter = z
  .string()
  .regex(/^\d+(?:\.\d+)?(?:ms|s|m)$/)
  .describe('The longest time to wait for the end, such as `30s`. More than 60 seconds count as 60. Default: none.');

/** The milliseconds of the units that a wait can have. */
const UNITS = { ms: 1, s: 1_000, m: 60_000 };

/** Returns the milliseconds of a wait, at most the longest; 0 for none. */
export function waitMs(wait: string | undefined): number {
  if (wait === undefined) return 0;
  const unit = wait.replace(/^[\d.]+/, '') as keyof typeof UNITS;
  return Math.min(Math.round(Number.parseFloat(wait) * UNITS[unit]), LONGEST_WAIT_MS);
}

/**
 * Waits for a value within the time of a request, as one of the caller's open streams. Undefined if it is not there in time, and if the
 * service is about to end: the caller asks again.
 */
export async function withinWait<Value>(
  ms: number,
  request: WaitingRequest & { signal: AbortSignal },
  work: (options: WaitOptions) => Promise<Value>,
): Promise<Value | undefined> {
  return ms < 1 ? undefined : whileWaiting(request, () => valueWithin(ms, request.signal, work));
}

/** Waits in the same way, for a request that has its place already. */
export async function valueWithin<Value>(
  ms: number,
  signal: AbortSignal,
  work: (options: WaitOptions) => Promise<Value>,
): Promise<Value | undefined> {
  if (ms < 1) return undefined;
  try {
    return await work({ timeout: ms, signal });
  } catch (error) {
    if (signal.aborted || errorCode(error) === 'wait_timeout') return undefined;
    throw error;
  }
}

interface WaitingRequest {
  caller: Caller;
  settings: { limits: CallerLimits | undefined };
}

/**
 * Does the work of a request that waits, which is open like a stream and takes a place among those of its caller. Throws
 * `too_many_requests` before the work begins if the caller has as many as it may.
 */
export async function whileWaiting<Value>({ caller, settings: { limits } }: WaitingRequest, work: () => Promise<Value>): Promise<Value> {
  const giveBack = takePlace(limits, caller);
  try {
    return await work();
  } finally {
    giveBack();
  }
}

/** The time for which a start is tried if the server is down, in milliseconds: a caller reads within 5 seconds that it is. */
const PATIENCE_MS = 4_000;

/** Sends what a caller starts. Rejects with `server_unreachable` within 5 seconds if the server is down. */
export function soon<Result>(start: () => Promise<Result>): Promise<Result> {
  return withPatience(PATIENCE_MS, start);
}
