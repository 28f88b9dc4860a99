import type { Client } from '@temporalio/client';
import { defineSearchAttributeKey, type SearchAttributePair, type SearchAttributeType } from '@temporalio/common';
import { decodeArrayFromPayloads } from '@temporalio/common/lib/internal-non-workflow/index.js';
import type { z } from 'zod';
import type { IfExists } from '../client/client-options.ts';
import type { LonghaulClient } from '../client/longhaul-client.ts';
import { type LookTimes, missingOfStart, noticeOfStart, type StartedByName } from '../client/missing-workers.ts';
import { defined } from '../core/domain/defined.ts';
import { errorCode, type ErrorCode, LonghaulError } from '../core/domain/errors.ts';
import type { JsonObject } from '../core/domain/json.ts';
import type { Principal } from '../core/domain/run.ts';
import type { Shape } from '../core/domain/shape.ts';
import { didYouMean } from '../core/domain/text.ts';
import type { AnyAgent } from '../define/agent-definition.ts';
import { within } from '../streams/waits.ts';
import { GRPC, grpcCode } from '../temporal/server-calls.ts';
import { type Caller, mayStart } from './auth/caller.ts';
import { RequestError } from './problems.ts';
import { callerTrace, requestDigest, requireOwnId, runIdOfKey, soon } from './requests.ts';
import type { Reply, ResponseDefinition, RouteRequest } from './route.ts';
import type { ServerSettings } from './server-options.ts';

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
