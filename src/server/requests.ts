import type { Client } from '@temporalio/client';
import { defineSearchAttributeKey, type SearchAttributePair, type SearchAttributeType } from '@temporalio/common';
import { decodeArrayFromPayloads } from '@temporalio/common/lib/internal-non-workflow/index.js';
import { createHash } from 'node:crypto';
import { z } from 'zod';
import { canonicalJson, defined, isJsonObject, type JsonObject, type JsonValue, MAX_CHECKED_DEPTH } from '../core/domain/json.ts';
import { type ErrorCode, errorCode, LonghaulError } from '../core/domain/errors.ts';
import { readTraceparent } from '../core/domain/run-input.ts';
import { identityOf, type Principal } from '../core/domain/run.ts';
import { type WaitOptions, withPatience } from '../temporal/waiting.ts';
import { type Caller, mayStart, principalOf } from './auth/caller.ts';
import { type CallerLimits, takePlace } from './limits.ts';
import { RequestError } from './problems.ts';
import type { IfExists } from '../client/client-options.ts';
import type { LonghaulClient } from '../client/longhaul-client.ts';
import { type LookTimes, missingOfStart, noticeOfStart, type StartedByName } from '../client/missing-workers.ts';
import type { Shape } from '../core/domain/shape.ts';
import { requiredOf } from '../core/json-schema/json-schema.ts';
import { didYouMean } from '../core/domain/text.ts';
import type { AnyAgent } from '../define/agent-definition.ts';
import type { AnyProgram } from '../define/program/program-definition.ts';
import type { ProgramDocument } from '../core/domain/program-document.ts';
import { checkProgram } from '../core/program/check/check-program.ts';
import { invalidProgram } from '../core/program/check/problems.ts';
import { within } from '../streams/waits.ts';
import { GRPC, grpcCode } from '../temporal/server-calls.ts';
import { expecting } from './schemas/expecting.ts';
import type { Reply, ResponseDefinition, RouteRequest } from './route.ts';
import type { ServerSettings } from './server-options.ts';

/** The largest body of a request, in bytes. */
const MAX_BODY_BYTES = 1_000_000;

/** The most values of a body: numbers, texts, lists and so on, also nested ones. Usual bodies have at most one per 20 bytes. */
export const MAX_BODY_VALUES = 100_000;

/** `application/json`, and JSON-based types such as `application/merge-patch+json`. */
const JSON_TYPE = /^application\/(?:json|[\w.-]+\+json)\s*(?:;|$)/i;

/** Matches a charset other than UTF-8, the only encoding for JSON. */
const OTHER_CHARSET = /;\s*charset\s*=\s*(?!"?utf-?8\b)/i;

const UTF8 = new TextDecoder('utf-8', { fatal: true });

/**
 * Reads the body of a request as JSON, or undefined. Throws `unsupported_media_type`, `body_too_large` as soon as it has
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
 * Throws `invalid_request` for a body that is nested too deeply or has too many values, in one pass over its bytes: 1 MB of empty lists
 * takes 30 MB when parsed, and a multiple of that in every later reader.
 */
function requireBounds(bytes: Uint8Array): void {
  let depth = 0;
  // Each comma is followed by a value, and each bracket contains one: an empty list counts as two.
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

/** Returns the index of the closing quotation mark of a text. */
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
    throw new RequestError('malformed_request', 'The body is not JSON in UTF-8: send one JSON value');
  }
}

/** Reads the body of a request. Throws `body_too_large` as soon as it has read too much, and `malformed_request`. */
export async function readBytes(request: Request, maxBytes = MAX_BODY_BYTES): Promise<Uint8Array> {
  try {
    return await readWhole(request, maxBytes);
  } catch (cause) {
    if (cause instanceof RequestError) throw cause;
    // The body was already read, which only the developer of the service can fix.
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
  // An HTTP server reads no more than the declared length. A request without a socket may have another length.
  const bytes = new Uint8Array(await request.arrayBuffer());
  if (bytes.length > maxBytes) throw tooLarge(maxBytes);
  return bytes;
}

async function readChunks({ body }: Request, maxBytes: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body ?? []) {
    length += chunk.length;
    // Leaving the loop cancels the body.
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

/** Returns the key of a request; undefined if it has none. Throws `invalid_request` for a key that is too long, or empty. */
export function readIdempotencyKey(headers: Headers): string | undefined {
  const key = headers.get(IDEMPOTENCY_KEY)?.trim();
  if (key === undefined || (key !== '' && key.length <= LONGEST_KEY)) return key;
  throw new RequestError('invalid_request', `The header "Idempotency-Key" has ${key.length} characters: write 1 to ${LONGEST_KEY}`, {
    errors: [{ parameter: 'Idempotency-Key', detail: `write 1 to ${LONGEST_KEY} characters` }],
  });
}

/** Returns the caller's trace context; empty for an invalid header, which the standard ignores. */
export function callerTrace({ headers }: Pick<Request, 'headers'>): { traceparent?: string } {
  const traceparent = headers.get('traceparent')?.trim();
  return traceparent === undefined || readTraceparent(traceparent) === undefined ? {} : { traceparent };
}

/**
 * Returns the id of the run that a request with this key starts. It is derived from the key and the principal, so no table is
 * needed, and keys of different principals never collide. `tenant` is the tenant for which a caller without a principal starts the run:
 * its keys are separate per tenant.
 */
export function runIdOfKey(principal: Principal | undefined, key: string, tenant?: string): string {
  return derivedId('run', { ...identityOf(principal ?? {}), key, ...defined({ for: tenant }) });
}

/** Returns the digest of a request body, which the started run keeps in its memo. */
export function requestDigest(route: string, key: string, body: unknown): string {
  // Converted to JSON, as it was sent, so that undefined members do not count.
  return digestOf({ route, key, body: JSON.parse(JSON.stringify(body ?? null)) as JsonValue });
}

/**
 * Returns the id of a message, a decision or another request to a run: the one in the body, or else one derived from the key. Like the keys
 * of starts, keys of different principals never collide, and those of callers that act for none are separate per caller.
 */
export function requestId(
  { id }: { id?: string },
  { caller: { id: name, principal }, idempotencyKey: key }: Pick<RouteRequest<unknown, unknown, unknown>, 'caller' | 'idempotencyKey'>,
): { id?: string } {
  if (id !== undefined || key === undefined) return defined({ id });
  return { id: derivedId('key', { ...(principal === 'all' ? { caller: name } : identityOf(principal)), key }) };
}

/** Matches derived ids, and ids of descendants, which begin with the id of their run. */
const DERIVED = /^(?:run|chat)-[\da-f]{40}(?:\/|$)/;

/** Returns the SHA-256 of a value in hexadecimal, independent of the order of its members. */
function digestOf(value: JsonValue): string {
  return createHash('sha256').update(canonicalJson(value)).digest('hex');
}

/** Returns a derived id: of the run of an idempotency key, of the session of a chat, or of a request with an idempotency key. */
export function derivedId(kind: 'run' | 'chat' | 'key', named: JsonValue): string {
  return `${kind}-${digestOf(named).slice(0, 40)}`;
}

/** Returns why a caller may not give a run this id; undefined if it may. */
function reasonAgainstId(id: string, { principal }: Pick<Caller, 'principal'>): { detail: string; what: string } | undefined {
  if (DERIVED.test(id)) {
    return {
      detail: 'Ids of this form follow from idempotency keys and chats: choose another one',
      what: 'an id of the form that the service makes',
    };
  }
  if (principal === 'all' || !id.includes('/')) return undefined;
  return {
    detail: 'Ids with "/" belong to child runs: choose one without',
    what: 'an id in the form of child runs',
  };
}

/**
 * True for an id that a caller may give to a run or a session. It may not take a derived id: whoever knows another caller's key or chat
 * could otherwise take its id first. For the same reason, a caller with a principal may not take an id in the form
 * of child runs.
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

/** The longest time that a request waits, in milliseconds: proxies end requests that are silent for longer. */
export const LONGEST_WAIT_MS = 60_000;

/** The query parameter of a route that can wait. */
export const waitParameter = z
  .string()
  .regex(/^\d+(?:\.\d+)?(?:ms|s|m)$/, expecting('a time such as "500ms", "30s" or "1m"'))
  .describe('The longest time to wait for the end, such as `30s`. More than 60 seconds count as 60. Default: none.');

/** The units of a wait in milliseconds. */
const UNITS = { ms: 1, s: 1_000, m: 60_000 };

/** Returns the milliseconds of a wait, at most `LONGEST_WAIT_MS`; 0 for none. */
export function waitMs(wait: string | undefined): number {
  if (wait === undefined) return 0;
  const unit = wait.replace(/^[\d.]+/, '') as keyof typeof UNITS;
  return Math.min(Math.round(Number.parseFloat(wait) * UNITS[unit]), LONGEST_WAIT_MS);
}

/**
 * Waits for a value within the time of a request, counted as one of the caller's open streams. Undefined if it does not arrive in time,
 * or if the service is about to end: the caller should ask again.
 */
export async function withinWait<Value>(
  ms: number,
  request: WaitingRequest & { signal: AbortSignal },
  work: (options: WaitOptions) => Promise<Value>,
): Promise<Value | undefined> {
  return ms < 1 ? undefined : whileWaiting(request, () => valueWithin(ms, request.signal, work));
}

/** As `withinWait`, for a request that already has its stream slot. */
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
 * Does the work of a request that waits, which counts as an open stream of its caller. Throws
 * `too_many_requests` before the work begins if the caller has reached its limit.
 */
export async function whileWaiting<Value>({ caller, settings: { limits } }: WaitingRequest, work: () => Promise<Value>): Promise<Value> {
  const giveBack = takePlace(limits, caller);
  try {
    return await work();
  } finally {
    giveBack();
  }
}

/** How long a start is tried if the server is down, in milliseconds: the caller learns of it within 5 seconds. */
const PATIENCE_MS = 4_000;

/** Sends a start. Rejects with `server_unreachable` within 5 seconds if the server is down. */
export function soon<Result>(start: () => Promise<Result>): Promise<Result> {
  return withPatience(PATIENCE_MS, start);
}

/** The body fields that starts of agents and programs share. */
interface StartBody extends GuardedFields {
  runId?: string;
  ifExists?: IfExists;
  memo?: JsonObject;
}

/** The client's options of a start: from the body, and added by the service. */
type ClientOptions<Body> = Omit<Body, 'runId' | 'ifExists' | 'memo' | 'searchAttributes'> & {
  runId?: string;
  memo?: JsonObject;
  searchAttributes?: SearchAttributePair[];
  ifExists: IfExists;
};

/**
 * Starts a run as requested, once per idempotency key, and returns the answer. `route` separates requests of different routes with
 * the same key. `notice` returns what the caller should know about a started run.
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
  const runId = given ?? (key === undefined ? undefined : runIdOfKey(principalOf(caller), key, body.principal?.tenant));
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
  /** True: the id is derived from the idempotency key, not chosen by the caller. */
  isOfKey: boolean;
  /** The digest of the request, if it has an idempotency key. */
  digest: string | undefined;
  /** What to do if a run with this id exists. Default `fail`: refused, unless the same request has started it. */
  ifExists?: IfExists;
  /** Starts the run, or returns the existing one. Rejects with `run_exists` for `fail`, and for a run of another principal. */
  start: (ifExists: IfExists) => Promise<string>;
}

/** The outcome of such a start. */
export interface StartOutcome {
  runId: string;
  /** True if the run existed. */
  repeated: boolean;
}

/**
 * Starts a run, or finds the one that the same request has started. The run's memo holds a digest of the request that started it,
 * written by the service. Throws `key_reused` if that was another request, `run_exists`, and `server_unreachable` within 5 seconds.
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
    // A run of a key is of the same principal, and of another agent only if the key was used for another request.
    const found = await start('return').catch((other: unknown) => {
      throw isOfKey && errorCode(other) === 'run_exists' ? keyReused(other) : other;
    });
    if (digest === undefined || (await readMemo(client, found, REQUEST_MEMO)) === digest) {
      // Only now is it known that the same request has started it.
      if (ifExists === 'restartFailed') await start(ifExists);
      return { runId: found, repeated: true };
    }
    throw isOfKey ? keyReused(error) : error;
  }
}

function keyReused(cause: unknown): RequestError {
  return new RequestError('key_reused', 'The idempotency key was used for another request: use a new key for each request', {
    errors: [{ parameter: 'Idempotency-Key', detail: 'used for another request' }],
    cause,
  });
}

/** The error codes that a request to start a run may get. */
export const START_PROBLEMS: readonly ErrorCode[] = [
  'run_exists',
  'run_not_found',
  'not_a_run',
  'run_open',
  'invalid_input',
  'unknown_agent',
  'agent_not_found',
  'key_reused',
  'payload_too_large',
  'history_removed',
];

const LOCATION = { Location: 'The path of what was started.' };

/** Returns the responses of a start: to the first request, and to each repetition. */
export function startResponses(schema: z.ZodType | Shape): Readonly<Record<number, ResponseDefinition>> {
  return {
    200: { description: 'It had been started before.', schema, headers: LOCATION },
    201: { description: 'It was started.', schema, headers: LOCATION },
  };
}

/** Returns the reply to a start. `path`: the path of the collection, with a trailing slash. */
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

/** The fields that affect the operator's infrastructure. */
const OF_OPERATOR = ['taskQueue', 'priority', 'fairnessKey', 'searchAttributes'] as const;

/**
 * Throws `forbidden` for fields that the caller may not set. A run's principal, with the claims that tools rely on, comes from what the
 * service has verified, never from a body.
 */
export function requireOwnFields({ principal, scopes }: Caller, body: GuardedFields): void {
  if (principal !== 'all' && body.principal !== undefined) {
    throw new RequestError('forbidden', 'The credentials decide on whose behalf the run acts: leave out "principal"', {
      errors: [{ pointer: '#/principal', detail: 'not allowed with these credentials' }],
    });
  }
  const field = OF_OPERATOR.find((name) => body[name] !== undefined);
  if (field === undefined || scopes.includes('admin')) return;
  throw new RequestError('forbidden', `"${field}" needs the scope "admin": leave it out, or use other credentials`, {
    errors: [{ pointer: `#/${field}`, detail: 'needs the scope "admin"' }],
  });
}

/** Returns search attributes in the client's form. */
export function searchAttributePairs(given: GuardedFields['searchAttributes']): { searchAttributes?: SearchAttributePair[] } {
  if (given === undefined) return {};
  const pairs = Object.entries(given).map(([name, { type, value }]) => {
    const key = defineSearchAttributeKey(name, type as SearchAttributeType);
    return { key, value: type === 'DATETIME' ? new Date(String(value)) : value } as SearchAttributePair;
  });
  return { searchAttributes: pairs };
}

/** The key in a run's memo that holds the digest of the request that started it. */
const REQUEST_MEMO = 'longhaulRequest';

/** Returns the memo of a start with the digest of its request added. */
export function memoWith(memo: JsonObject | undefined, digest: string | undefined): { memo?: JsonObject } {
  if (digest === undefined) return defined({ memo });
  return { memo: { ...memo, [REQUEST_MEMO]: digest } };
}

/** Returns a member of a run's memo; undefined if there is no such member or run. */
export async function readMemo({ workflowService, options }: Client, runId: string, name: string): Promise<unknown> {
  const { namespace, loadedDataConverter } = options;
  try {
    // The SDK's describe decodes all members, and fails if it cannot decode one of them.
    const { workflowExecutionInfo } = await workflowService.describeWorkflowExecution({ namespace, execution: { workflowId: runId } });
    const payload = workflowExecutionInfo?.memo?.fields?.[name];
    const [value] = payload === undefined ? [] : await decodeArrayFromPayloads(loadedDataConverter, [payload]);
    return value;
  } catch (error) {
    if (grpcCode(error) === GRPC.notFound) return undefined;
    throw error;
  }
}

/** Returns the agent with this name, or the name if the service does not list it. */
export function knownAgent({ agents }: Pick<ServerSettings, 'agents'>, name: string): AnyAgent | string {
  return agents.find((agent) => agent.name === name) ?? name;
}

/**
 * Describes the deps without which an agent cannot start: for a protocol that has no parameter for them. Undefined if it starts with the
 * given ones.
 */
export function missingDeps(agent: AnyAgent | string, given: unknown = {}): string | undefined {
  if (typeof agent === 'string' || agent.deps === undefined || agent.deps.safeParse(given).success) return undefined;
  const names = requiredOf(agent.depsSchema ?? {}).filter((name) => !(isJsonObject(given) && Object.hasOwn(given, name)));
  return names.length === 0 ? 'deps' : `deps (${names.map((name) => JSON.stringify(name)).join(', ')})`;
}

/**
 * Returns the agent that a caller starts by name. Throws `agent_not_found`, with the nearest name that the caller may start, if the
 * service lists agents but not this one: its run would wait for a worker that has it.
 */
export function startableAgent({ agents }: Pick<ServerSettings, 'agents'>, caller: Caller, name: string): AnyAgent | string {
  const known = knownAgent({ agents }, name);
  if (typeof known !== 'string' || agents.length === 0) return known;
  throw new LonghaulError('agent_not_found', `The service has no agent ${JSON.stringify(name)}${nearestStartable(agents, caller, name)}`);
}

/** Returns `. Did you mean "clerk"?` if the caller may start an agent or a program with a similar name, otherwise an empty text. */
export function nearestStartable(listed: readonly { name: string }[], caller: Caller, name: string): string {
  return didYouMean(
    name,
    listed.map((one) => one.name).filter((one) => mayStart(caller, one)),
  );
}

/**
 * Returns the program that a caller starts by name. Throws `program_not_found`, with the nearest name that the caller may start, if the
 * service lists programs but not this one.
 */
export function startableProgram({ programs }: Pick<ServerSettings, 'programs'>, caller: Caller, name: string): AnyProgram | string {
  const known = programs.find((program) => program.name === name);
  if (known !== undefined || programs.length === 0) return known ?? name;
  const names = programs.map((program) => program.name).filter((one) => mayStart(caller, one));
  throw new LonghaulError('program_not_found', `The service has no program ${JSON.stringify(name)}${didYouMean(name, names)}`);
}

/** Throws `invalid_program` for a document that names a tool, an agent or a program which the service, as far as it lists them, lacks. */
export function requireKnownNames({ agents, programs, tools }: ServerSettings, document: ProgramDocument): void {
  const { problems } = checkProgram(
    document,
    defined({
      tools: tools && [...tools, ...programs.flatMap((one) => one.tools)],
      agents: agents.length === 0 ? undefined : [...agents, ...programs.flatMap((one) => one.agents)],
      programs: programs.length === 0 ? undefined : [...programs, ...programs.flatMap((one) => one.programs)].map((one) => one.toJSON()),
    }),
  );
  if (problems.length > 0) throw invalidProgram(document.name, problems);
}

/** How long a start waits for the server or a worker to report about a name, in milliseconds. */
const NOTICE_MS = 1_000;

/**
 * Returns a notice for a start whose agent or program no worker has had, as far as the namespace keeps runs, with the names that
 * the caller may see. Undefined if the service lists it, or if the server does not answer in time. Never rejects.
 */
export async function noticeOfUnseen(client: Client, caller: Caller, started: StartedByName | undefined): Promise<string | undefined> {
  if (started === undefined) return undefined;
  const notice = noticeOfStart(client, started, { mayName: mayBeTold(caller) });
  return within(NOTICE_MS, notice, () => new Error('late')).catch(() => undefined);
}

/** Returns which names a caller may see: names of other tenants' runs must not be revealed. */
function mayBeTold(caller: Caller): (name: string) => boolean {
  return (name) => caller.principal === 'all' && mayStart(caller, name);
}

/** For a caller who waits for the answer anyway, and so can wait while a worker loads the run. */
const OF_WAITING: LookTimes = { takenMs: 3_000, begunMs: 10_000 };
const OF_OTHERS: LookTimes = { takenMs: NOTICE_MS, begunMs: NOTICE_MS };

/**
 * Cancels a run that was just started if the worker that took it lacks its agent and no worker has had one with this name
 * so far. `waits`: the caller waits for the answer. Returns a hint with a similar name (`. Did you mean "clerk"?`), or an empty text.
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
