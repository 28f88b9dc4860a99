import type { Client } from '@temporalio/client';
import { defineSearchAttributeKey, type SearchAttributePair, type SearchAttributeType } from '@temporalio/common';
import { decodeArrayFromPayloads } from '@temporalio/common/lib/internal-non-workflow/index.js';
import { createHash } from 'node:crypto';
import { z } from 'zod';
import { canonicalJson, defined, type JsonObject, type JsonValue, MAX_CHECKED_DEPTH } from '../core/domain/json.ts';
import { type ErrorCode, errorCode, LonghaulError } from '../core/domain/errors.ts';
import { readTraceparent } from '../core/domain/run-input.ts';
import { identityOf, type Principal } from '../core/domain/run.ts';
import { type WaitOptions, withPatience } from '../temporal/waiting.ts';
import { type Caller, mayStart } from './auth/caller.ts';
import { type CallerLimits, takePlace } from './limits.ts';
import { RequestError } from './problems.ts';
import type { IfExists } from '../client/client-options.ts';
import type { LonghaulClient } from '../client/longhaul-client.ts';
import { type LookTimes, missingOfStart, noticeOfStart, type StartedByName } from '../client/missing-workers.ts';
import type { Shape } from '../core/domain/shape.ts';
import { didYouMean } from '../core/domain/text.ts';
import type { AnyAgent } from '../define/agent-definition.ts';
import { within } from '../streams/waits.ts';
import { GRPC, grpcCode } from '../temporal/server-calls.ts';
import type { Reply, ResponseDefinition, RouteRequest } from './route.ts';
import type { ServerSettings } from './server-options.ts';

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

/** Returns the place of the caller in a trace, as tracers and proxies send it; nothing for an invalid header, which the standard ignores. */
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

/** The fields of the body of a start that are the same for agents and programs. */
interface StartBody extends GuardedFields {
  runId?: string;
  ifExists?: IfExists;
  memo?: JsonObject;
}

/** The options of a start as the client takes them: those of the body, and those that the service adds. */
type ClientOptions<Body> = Omit<Body, 'runId' | 'ifExists' | 'memo' | 'searchAttributes'> & {
  runId?: string;
  memo?: JsonObject;
  searchAttributes?: SearchAttributePair[];
  ifExists: IfExists;
};

/**
 * Starts a run as a request says, once for its idempotency key, and answers it. `route` keeps apart the requests of several routes with
 * the same key. `notice` tells what the caller should know about a run that has been started.
 */
export async function startRequested<Body extends StartBody>(
  { body, caller, client, idempotencyKey: key, settings, raw }: RouteRequest<unknown, unknown, Body>,
  route: string,
  start: (options: ClientOptions<Body>) => Promise<{ runId: string }>,
  notice: (runId: string) => Promise<string | undefined>,
): Promise<Reply> {
  requireOwnFields(caller, body);
  requireOwnId(body.runId, '#/runId', caller);
  const { runId: given, ifExists = 'fail', memo, searchAttributes, ...options } = body;
  const runId = given ?? (key === undefined ? undefined : runIdOfKey(caller.principal, key, body.principal?.tenant));
  const digest = key === undefined ? undefined : requestDigest(route, key, body);
  const startAs = async (choice: IfExists): Promise<string> => {
    const added = { ...memoWith(memo, digest), ...searchAttributePairs(searchAttributes), ...defined({ runId }) };
    return (await start({ ...callerTrace(raw), ...options, ...added, ifExists: choice })).runId;
  };
  const outcome = await startOnce({ client: client.temporal, runId, isOfKey: given === undefined, digest, ifExists, start: startAs });
  return startReply(outcome, `${settings.prefix}/v1/runs/`, outcome.repeated ? undefined : await notice(outcome.runId));
}

/** A start that may have been made before. */
interface RepeatableStart {
  client: Client;
  runId: string | undefined;
  /** True: the id follows from the idempotency key, and is not the caller's own. */
  isOfKey: boolean;
  /** The digest of the request, if it has an idempotency key. */
  digest: string | undefined;
  /** What the caller wants of a run of that id. Default `fail`: it is refused, unless the same request has started it. */
  ifExists?: IfExists;
  /** Starts the run, or takes the one of that id. Rejects with `run_exists` for `fail`, and for a run of another principal. */
  start: (ifExists: IfExists) => Promise<string>;
}

/** The outcome of such a start. */
export interface StartOutcome {
  runId: string;
  /** True: the run existed. */
  repeated: boolean;
}

/**
 * Starts a run, or finds the one that the same request has started. The run itself says what it was started with: a digest in its memo,
 * which the service has written. Throws `key_reused` if that was another request, `run_exists`, and `server_unreachable` within 5 seconds.
 */
export function startOnce(start: RepeatableStart): Promise<StartOutcome> {
  return soon(() => startOrFind(start));
}

async function startOrFind({ client, runId, isOfKey, digest, ifExists = 'fail', start }: RepeatableStart): Promise<StartOutcome> {
  try {
    return { runId: await start('fail'), repeated: false };
  } catch (error) {
    const mayExist = ifExists !== 'fail' || digest !== undefined;
    if (errorCode(error) !== 'run_exists' || !mayExist || runId === undefined) throw error;
    const found = await start('return');
    if (digest === undefined || (await readMemo(client, found, REQUEST_MEMO)) === digest) {
      // Not before it is known that the same request has started it.
      if (ifExists === 'restartFailed') await start(ifExists);
      return { runId: found, repeated: true };
    }
    if (!isOfKey) throw error;
    throw new RequestError('key_reused', 'The idempotency key was used for another request: use a new key for each request', {
      errors: [{ parameter: 'Idempotency-Key', detail: 'used for another request' }],
      cause: error,
    });
  }
}

/** The refusals of a start. */
export const START_PROBLEMS: readonly ErrorCode[] = [
  'run_exists',
  'run_not_found',
  'run_open',
  'invalid_input',
  'unknown_agent',
  'agent_not_found',
  'key_reused',
  'payload_too_large',
  'history_removed',
];

const LOCATION = { Location: 'The path of what was started.' };

/** The responses of a start: that of the first request, and that of each repetition. */
export function startResponses(schema: z.ZodType | Shape): Readonly<Record<number, ResponseDefinition>> {
  return {
    200: { description: 'It had been started before.', schema, headers: LOCATION },
    201: { description: 'It was started.', schema, headers: LOCATION },
  };
}

/** Answers a start. `path` is that of the collection, with a slash at its end. */
function startReply({ runId, repeated }: StartOutcome, path: string, notice?: string): Reply {
  const body = { runId, repeated, ...defined({ notice }) };
  return { status: repeated ? 200 : 201, headers: { location: `${path}${encodeURIComponent(runId)}` }, body };
}

/** The fields of a start that not every caller may set. */
interface GuardedFields {
  principal?: Principal;
  taskQueue?: string;
  priority?: number;
  fairnessKey?: string;
  searchAttributes?: Record<string, { type: string; value: unknown }>;
}

/** The fields that decide how the operator's machines are used. */
const OF_OPERATOR = ['taskQueue', 'priority', 'fairnessKey', 'searchAttributes'] as const;

/**
 * Throws `forbidden` for fields that the caller may not set. Whom a run acts for, with the claims that tools rely on, is what the
 * service has verified, never what a body says.
 */
export function requireOwnFields({ principal, scopes }: Caller, body: GuardedFields): void {
  if (principal !== undefined && body.principal !== undefined) {
    throw new RequestError('forbidden', 'The credentials say whom the run acts for: leave out "principal"', {
      errors: [{ pointer: '#/principal', detail: 'not allowed with these credentials' }],
    });
  }
  const field = OF_OPERATOR.find((name) => body[name] !== undefined);
  if (field === undefined || scopes.includes('admin')) return;
  throw new RequestError('forbidden', `"${field}" needs the scope "admin": leave it out, or use other credentials`, {
    errors: [{ pointer: `#/${field}`, detail: 'needs the scope "admin"' }],
  });
}

/** Returns search attributes as the client takes them. */
export function searchAttributePairs(given: GuardedFields['searchAttributes']): { searchAttributes?: SearchAttributePair[] } {
  if (given === undefined) return {};
  const pairs = Object.entries(given).map(([name, { type, value }]) => {
    const key = defineSearchAttributeKey(name, type as SearchAttributeType);
    return { key, value: type === 'DATETIME' ? new Date(String(value)) : value } as SearchAttributePair;
  });
  return { searchAttributes: pairs };
}

/** The key in the memo of a run under which the digest of the request that started it is kept. */
const REQUEST_MEMO = 'longhaulRequest';

/** Returns the memo of a start with the digest of its request. */
export function memoWith(memo: JsonObject | undefined, digest: string | undefined): { memo?: JsonObject } {
  if (digest === undefined) return defined({ memo });
  return { memo: { ...memo, [REQUEST_MEMO]: digest } };
}

/** Returns a member of the memo of a run; undefined if it has none, and if there is no such run. */
export async function readMemo({ workflowService, options }: Client, runId: string, name: string): Promise<unknown> {
  const { namespace, loadedDataConverter } = options;
  try {
    // The description of the SDK decodes all members: one that it cannot decode would fail the whole.
    const { workflowExecutionInfo } = await workflowService.describeWorkflowExecution({ namespace, execution: { workflowId: runId } });
    const payload = workflowExecutionInfo?.memo?.fields?.[name];
    const [value] = payload === undefined ? [] : await decodeArrayFromPayloads(loadedDataConverter, [payload]);
    return value;
  } catch (error) {
    if (grpcCode(error) === GRPC.notFound) return undefined;
    throw error;
  }
}

/** Returns the agent of that name, or the name if the service does not list it. */
export function knownAgent({ agents }: Pick<ServerSettings, 'agents'>, name: string): AnyAgent | string {
  return agents.find((agent) => agent.name === name) ?? name;
}

/**
 * Returns the agent that a caller starts by its name. Throws `agent_not_found`, with the nearest name that the caller may start, if the
 * service lists agents and this is none of them: its run would wait for a worker that has it.
 */
export function startableAgent({ agents }: Pick<ServerSettings, 'agents'>, caller: Caller, name: string): AnyAgent | string {
  const known = knownAgent({ agents }, name);
  if (typeof known !== 'string' || agents.length === 0) return known;
  throw new LonghaulError('agent_not_found', `The service has no agent ${JSON.stringify(name)}${nearestAgent(agents, caller, name)}`);
}

/** Returns `. Did you mean "clerk"?` if the caller may start an agent of a similar name; otherwise an empty text. */
export function nearestAgent(agents: readonly AnyAgent[], caller: Caller, name: string): string {
  return didYouMean(
    name,
    agents.map((agent) => agent.name).filter((one) => mayStart(caller, one)),
  );
}

/** The time that a start waits for what the server, or a worker, knows of a name, in milliseconds. */
const NOTICE_MS = 1_000;

/**
 * Returns the notice of a start whose agent or program no worker has had so far, as far as the namespace keeps runs, with those names that
 * the caller may be told. Undefined for one that the service lists, and if the server does not say so in time. Never rejects.
 */
export async function noticeOfUnseen(client: Client, caller: Caller, started: StartedByName | undefined): Promise<string | undefined> {
  if (started === undefined) return undefined;
  const notice = noticeOfStart(client, started, { mayName: mayBeTold(caller) });
  return within(NOTICE_MS, notice, () => new Error('late')).catch(() => undefined);
}

/** The names of runs may be those of other tenants. */
function mayBeTold(caller: Caller): (name: string) => boolean {
  return (name) => caller.principal === undefined && mayStart(caller, name);
}

/** A caller who waits for an answer misses nothing while a worker loads the run: there is no answer before. */
const OF_WAITING: LookTimes = { takenMs: 3_000, begunMs: 10_000 };
const OF_OTHERS: LookTimes = { takenMs: NOTICE_MS, begunMs: NOTICE_MS };

/**
 * Cancels a run that has just been started for a caller, if the worker that took it lacks its agent and no worker has had one of that name
 * so far. `waits`: the caller waits for the answer. Returns a hint with a similar name, such as `. Did you mean "clerk"?`, or an empty one.
 * Undefined if the run continues.
 */
export async function endUnknown(
  client: LonghaulClient,
  caller: Caller,
  { runId, name, waits }: Omit<StartedByName, 'kind'> & { waits: boolean },
): Promise<string | undefined> {
  const missing = await missingOfStart(client.temporal, { runId, name, kind: 'agent' }, waits ? OF_WAITING : OF_OTHERS);
  if (missing === undefined) return undefined;
  await client.handle(runId).cancel(`no worker has agent "${name}"`);
  return didYouMean(name, missing.known.filter(mayBeTold(caller)));
}
