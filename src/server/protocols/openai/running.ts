import type { Client } from '@temporalio/client';
import type { IfExists } from '../../../client/client-options.ts';
import type { RunHandle } from '../../../client/run-handle.ts';
import type { StartOptions } from '../../../client/start-workflow.ts';
import type { StreamItem } from '../../../client/stream/stream-item.ts';
import type { ModelSettings } from '../../../core/domain/agent.ts';
import { defined, isJsonObject, type JsonObject } from '../../../core/domain/json.ts';
import type { RunResult } from '../../../core/domain/result.ts';
import type { AnyAgent } from '../../../define/agent-definition.ts';
import { type Caller, principalOf, requireStart, type Scope } from '../../auth/caller.ts';
import { reportedRequest, RequestError } from '../../problems.ts';
import {
  callerTrace,
  endUnknown,
  knownAgent,
  memoWith,
  missingDeps,
  nearestStartable,
  readMemo,
  requestDigest,
  runIdOfKey,
  startOnce,
  type StartOutcome,
  valueWithin,
} from '../../requests.ts';
import type { RouteRequest } from '../../route.ts';
import type { ServerSettings } from '../../server-options.ts';
import { eventStream, openStream, type StreamMessage } from '../../streams.ts';
import { modelNotFound, type OpenaiError, openaiErrorOf, OpenaiRefusal, runHeaders } from './errors.ts';
import type { Conversation } from './parameters.ts';
import type { RepeatedParameters } from './response-body.ts';

/** The start that a request of the protocol asks for. */
export interface AgentStart {
  /** The name of the route: an idempotency key belongs to one route. */
  route: string;
  /** The request, which any other with the same key must equal, except for how the answer is delivered. */
  body: unknown;
  agent: AnyAgent | string;
  opening: Conversation | { previousRunId: string; input: NonNullable<Conversation['input']> };
  settings: ModelSettings;
  maxToolCalls?: number | undefined;
  parameters: RepeatedParameters;
  /** True if the request does not wait for the answer. */
  background?: boolean | undefined;
}

/** Members of a request that decide how the answer is delivered, not what it is. */
const WAYS = new Set(['stream', 'stream_options', 'background']);

/**
 * Starts the run of a request, or finds by its idempotency key the one that the same request has started. Throws `model_not_found`
 * for an agent that the service does not list, if the worker that takes the run lacks it.
 */
export async function startAgent(
  { client, caller, idempotencyKey, raw }: Pick<RouteRequest<unknown, unknown, unknown>, 'client' | 'caller' | 'idempotencyKey' | 'raw'>,
  { route, body, agent, opening, settings, maxToolCalls, parameters, background = false }: AgentStart,
): Promise<StartOutcome & KeptFacts> {
  if (!('previousRunId' in opening)) requireNoDeps(agent);
  const runId = idempotencyKey === undefined ? undefined : runIdOfKey(principalOf(caller), idempotencyKey);
  const digest = idempotencyKey === undefined ? undefined : requestDigest(route, idempotencyKey, withoutWays(body));
  const facts: KeptFacts = { createdAt: Math.floor(Date.now() / 1_000), parameters };
  const options = {
    ...callerTrace(raw),
    ...opening,
    ...(Object.keys(settings).length === 0 ? {} : { settings }),
    ...(maxToolCalls === undefined ? {} : { limits: { toolCalls: maxToolCalls } }),
    ...memoWith({ [MEMO]: { createdAt: facts.createdAt, parameters: { ...parameters } } }, digest),
    ...defined({ runId }),
  } as StartOptions;
  const start = async (ifExists: IfExists): Promise<string> => (await client.start(agent, { ...options, ifExists })).runId;
  const outcome = await startOnce({ client: client.temporal, runId, isOfKey: true, digest, start });
  if (!outcome.repeated && typeof agent === 'string') {
    const hint = await endUnknown(client, caller, { runId: outcome.runId, name: agent, waits: !background });
    if (hint !== undefined) throw modelNotFound(agent, {}, hint);
  }
  const kept = outcome.repeated ? await readFacts(client.temporal, outcome.runId) : undefined;
  return { ...outcome, ...(kept ?? facts) };
}

/** Throws for an agent whose deps have required fields: the protocol has no parameter for them. */
function requireNoDeps(agent: AnyAgent | string): void {
  const missing = missingDeps(agent);
  if (missing === undefined || typeof agent === 'string') return;
  const mend = 'start it with "POST /v1/runs", or give these fields defaults';
  throw new OpenaiRefusal('invalid_input', `Agent "${agent.name}" requires ${missing}, which have no parameter in this protocol: ${mend}`, {
    param: 'model',
  });
}

function withoutWays(body: unknown): JsonObject {
  return Object.fromEntries(Object.entries(body as JsonObject).filter(([name]) => !WAYS.has(name)));
}

/**
 * Returns the agent that a request names as its model. A service that lists agents has no other models. Throws `forbidden` for one that
 * the caller may not start, and `model_not_found`.
 */
export function agentOfModel({ agents }: Pick<ServerSettings, 'agents'>, caller: Caller, model: string): AnyAgent | string {
  requireStart(caller, model);
  const known = knownAgent({ agents }, model);
  if (typeof known === 'string' && agents.length > 0) throw modelNotFound(model, {}, nearestStartable(agents, caller, model));
  return known;
}

/** Returns the schema of the agent's answers; undefined for text, and for an agent that the service does not list. */
export function answerSchema(agent: AnyAgent | string): JsonObject | undefined {
  return typeof agent === 'string' ? undefined : agent.output?.schema;
}

/** The key in a run's memo that holds what its responses repeat. */
const MEMO = 'longhaulOpenai';

/** The facts about a request in the memo of its run. */
interface KeptFacts {
  /** Seconds since the epoch. */
  createdAt: number;
  parameters: RepeatedParameters;
}

/** Returns the facts in a run's memo; undefined if it was started in another way. */
export async function readFacts(client: Client, runId: string): Promise<KeptFacts | undefined> {
  const kept = await readMemo(client, runId, MEMO);
  if (!isJsonObject(kept) || typeof kept['createdAt'] !== 'number') return undefined;
  const { createdAt, parameters } = kept;
  return { createdAt, parameters: isJsonObject(parameters) ? parameters : {} };
}

/** The longest time that a request without a stream waits, in milliseconds: Node's `fetch` gives up after five minutes without headers. */
const LONGEST_MS = 240_000;

/** The time that a response needs to reach a client before its own timeout. */
const ON_THE_WAY_MS = 2_000;

/** Returns how many milliseconds a request waits for its answer: the package sends its own timeout, in seconds. */
function answerWaitMs(headers: Headers): number {
  const seconds = Number(headers.get('x-stainless-timeout') ?? '');
  return Number.isFinite(seconds) && seconds > 0 ? Math.min(LONGEST_MS, Math.max(1_000, seconds * 1_000 - ON_THE_WAY_MS)) : LONGEST_MS;
}

/** Waits for the result of a run within the time of a request. Undefined if it is still running: the end of the wait does not end it. */
export function awaitResult(
  handle: Pick<RunHandle<unknown>, 'result'>,
  { raw, signal, steps = false }: { raw: Request; signal: AbortSignal; steps?: boolean },
): Promise<RunResult<unknown> | undefined> {
  return valueWithin(answerWaitMs(raw.headers), signal, (options) => handle.result({ ...options, steps }));
}

/** Turns the stream of a run into the messages of a protocol. */
export interface StreamEncoder {
  begin(): Iterable<StreamMessage>;
  take(item: StreamItem): Iterable<StreamMessage>;
  /** Ends a stream that has reached the end of its run. */
  end(): Iterable<StreamMessage>;
  /** Ends a stream that cannot continue. */
  fail(error: OpenaiError): Iterable<StreamMessage>;
}

type StreamedRequest = Pick<RouteRequest<unknown, unknown, unknown>, 'client' | 'caller' | 'signal' | 'settings' | 'raw'>;

/**
 * Returns the response that streams a run from its beginning. A reader that disconnects does not end the run. `prepare` finds the run,
 * once the caller has a stream slot: a start that nobody can read would be repeated. `scope` is the scope of the route.
 */
export async function streamedResponse(
  request: StreamedRequest & { scope: Scope },
  prepare: () => Promise<{ runId: string; encoder: StreamEncoder }>,
): Promise<Response> {
  const { signal, closed } = openStream(request, request.scope);
  try {
    const { runId, encoder } = await prepare();
    const items = request.client.handle(runId).stream({ signal });
    return eventStream(messagesOf(items, encoder, { ...request, signal }), {
      signal,
      closed,
      headers: runHeaders(runId),
      breaksIfCut: true,
    });
  } catch (error) {
    closed();
    throw error;
  }
}

async function* messagesOf(
  items: AsyncGenerator<StreamItem>,
  encoder: StreamEncoder,
  { settings, raw, signal }: StreamedRequest,
): AsyncGenerator<StreamMessage> {
  try {
    yield* encoder.begin();
    for await (const item of items) yield* encoder.take(item);
    yield* encoder.end();
  } catch (error) {
    const reason = settings.closing.aborted ? shuttingDown() : error;
    // A reader that was cut off is not a failure of the service.
    const report = signal.aborted ? () => undefined : settings.report;
    yield* encoder.fail(openaiErrorOf(reason, reportedRequest(raw), report).error);
  }
}

function shuttingDown(): RequestError {
  return new RequestError('shutting_down', 'The process of the service is about to end, and the run continues: send the request again');
}
