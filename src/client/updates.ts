import { createHmac, randomUUID } from 'node:crypto';
import {
  type Client,
  type WithStartWorkflowOperation,
  WorkflowUpdateFailedError,
  WorkflowUpdateRPCTimeoutOrCancelledError,
} from '@temporalio/client';
import { ApplicationFailure, WorkflowExecutionAlreadyStartedError, WorkflowNotFoundError } from '@temporalio/common';
import { leavesReadable } from '../codec/with-codec.ts';
import type { ContentPart, MessageMode } from '../core/domain/content.ts';
import { canonicalJson, defined, type JsonValue } from '../core/domain/json.ts';
import { errorMessage, isErrorCode, LonghaulError } from '../core/domain/errors.ts';
import { type LimitOptions, plainLimits, type SessionLimits } from '../core/domain/limits.ts';
import type { Identity } from '../core/domain/run.ts';
import { type Duration, timerMilliseconds } from '../core/domain/time.ts';
import { type MessageReceipt, type RaiseInput, type RaiseReceipt, type RunInput, type SendInput, UPDATES } from '../core/protocol.ts';
import { requireKnown } from '../define/option-checks.ts';
import { describeRun } from '../temporal/run-workflow.ts';
import { GRPC, grpcCode, unreachableError } from '../temporal/server-calls.ts';
import { jitter, patienceMs, sleep } from '../temporal/waiting.ts';
import { checkUpdate } from './update-checks.ts';
import { requireRun } from './visibility.ts';

/** How long an Update is tried by default. */
const DEFAULT_TIMEOUT: Duration = '30s';

/** The pauses between two attempts: the first, the first after congestion, and the longest. */
const PAUSES_MS = { shortest: 25, congested: 400, longest: 2_000 };

/**
 * Temporary refusals: the run is about to continue as new, its queue is full, or its worker has completed a workflow task
 * without the Update that came with it.
 */
const PASSING_REFUSALS = new Set<string | null | undefined>(['busy', 'queue_full', 'AcceptedUpdateCompletedWorkflow', 'UnprocessedUpdate']);

/** The options of sending an Update. */
export interface UpdateOptions {
  /** How long the Update is tried. Default 30 seconds. */
  timeout?: Duration;
}

interface RunUpdate {
  name: string;
  argument?: unknown;
  /** The caller's id of the request. */
  id?: string;
  /** The id of the Update: an execution handles the same Update once, and repeats its answer. Default: each call is a separate Update. */
  updateId?: string;
  /** Starts the run in the same request if it does not exist. Called for each attempt. */
  start?: () => StartOperation;
}

/** The start of a run together with an Update. */
export type StartOperation = WithStartWorkflowOperation<(input: RunInput) => Promise<unknown>>;

/**
 * Sends an Update to the newest execution of a run, and tries again while the obstacle is temporary: the switch to the
 * next execution, a full queue, a busy server. The run accepts each request only once, by the ids in the arguments, so
 * trying again is safe. Throws `run_not_found`, `run_ended`, the refusal of the run, `wait_timeout`.
 */
export async function updateRun<Answer>(client: Client, runId: string, update: RunUpdate, options: UpdateOptions = {}): Promise<Answer> {
  requireKnown(`"${update.name}"`, options, { timeout: true });
  const deadline = Date.now() + timerMilliseconds(options.timeout ?? DEFAULT_TIMEOUT, `"${update.name}": "timeout"`);
  const throttle = throttleOf(client, runId, update.name === UPDATES.send ? 'messages' : 'others');
  const accepted = await throttle.throttled(deadline, async () => ({
    answer: await tryUpdate<Answer>(client, runId, update, { deadline, throttle }),
  }));
  if (accepted === undefined) throw gaveUp(runId, update, new Error('the earlier requests of this client were not accepted'));
  return accepted.answer;
}

/** The deadline of an Update, and its throttle. */
interface Bounds {
  deadline: number;
  throttle: UpdateThrottle;
}

async function tryUpdate<Answer>(client: Client, runId: string, update: RunUpdate, { deadline, throttle }: Bounds): Promise<Answer> {
  const { name, argument = null, updateId = randomUUID() } = update;
  // Without a Temporal run id, each attempt goes to the newest execution.
  const handle = client.workflow.getHandle(runId);
  let wait = PAUSES_MS.shortest;
  let obstacle: unknown;
  const impatientAt = Date.now() + (patienceMs() ?? Infinity);
  for (;;) {
    await throttle.keepGap();
    const sentAt = Date.now();
    try {
      const request = { args: [argument] as [unknown], updateId };
      const answer = await client.withDeadline(deadline, () =>
        update.start === undefined
          ? handle.executeUpdate<Answer, [unknown]>(name, request)
          : client.workflow.executeUpdateWithStart<(input: RunInput) => Promise<unknown>, Answer, [unknown]>(name, {
              ...request,
              startWorkflowOperation: update.start(),
            }),
      );
      throttle.accepted(Date.now() - sentAt);
      return answer;
    } catch (error) {
      if (error instanceof WorkflowNotFoundError || error instanceof WorkflowExecutionAlreadyStartedError)
        throw await goneError(client, runId);
      if (isUnknownUpdate(error)) requireRun(client, runId, (await describeRun(client, runId)).type);
      if (!isPassing(error)) throw refusal(error);
      // The obstacle says more than the timeout that it caused.
      if (obstacle === undefined || error instanceof WorkflowUpdateFailedError) obstacle = error;
      const isOver = Date.now() + wait > deadline || (isUnreachable(error) && Date.now() + wait > impatientAt);
      if (isOver) throw isUnreachable(obstacle) ? serverUnreachable(client, update, obstacle) : gaveUp(runId, update, obstacle);
      if (isCongestion(error)) {
        throttle.congested(Date.now());
        wait = Math.max(wait, PAUSES_MS.congested);
      }
      // Until the run has handled the accepted Updates, the server would shed this one again, and abort those.
      if (isShed(error)) await waitForWorkflowTask(client, runId, deadline);
    }
    // Callers that were refused at the same time must not retry at the same time.
    await sleep(jitter(wait));
    wait = Math.min(wait * 2, PAUSES_MS.longest);
  }
}

/** True if the run gets too many Updates at once: this one was shed, or aborted because another was. */
function isCongestion(error: unknown): boolean {
  return isShed(error) || (grpcCode(error) === GRPC.unavailable && errorText(error).includes('update was aborted'));
}

/** True if the server shed the Update. A refusal during continue-as-new does not count. */
function isShed(error: unknown): boolean {
  return grpcCode(error) === GRPC.resourceExhausted && !errorText(error).includes('workflow is closing');
}

/** True if the server, as opposed to the run, does not answer. */
function isUnreachable(error: unknown): boolean {
  return grpcCode(error) === GRPC.unavailable && !isCongestion(error);
}

/** True if the workflow has no such Update: it is not a run, or its worker does not know the Update. */
function isUnknownUpdate(error: unknown): boolean {
  if (!(error instanceof WorkflowUpdateFailedError)) return false;
  const { cause } = error;
  return !(cause instanceof ApplicationFailure && isErrorCode(cause.type));
}

function isPassing(error: unknown): boolean {
  if (error instanceof WorkflowUpdateRPCTimeoutOrCancelledError) return true;
  if (error instanceof WorkflowUpdateFailedError)
    return error.cause instanceof ApplicationFailure && PASSING_REFUSALS.has(error.cause.type);
  const code = grpcCode(error);
  if (code === GRPC.resourceExhausted || code === GRPC.unavailable || code === GRPC.deadlineExceeded) return true;
  if (isOfFailedTasks(error)) return true;
  // The task that should have answered failed; whether it applied the Update is not known.
  return code === GRPC.failedPrecondition && errorText(error).includes('unexpected workflow task failure');
}

/** True if the server did not deliver the Update because workflow tasks keep failing: the worker was killed, or cannot continue. */
function isOfFailedTasks(error: unknown): boolean {
  return grpcCode(error) === GRPC.failedPrecondition && errorText(error).includes('Workflow Task in failed state');
}

function errorText(error: unknown): string {
  return error instanceof Error && error.cause !== undefined ? `${error.message} ${errorMessage(error.cause)}` : errorMessage(error);
}

/** Returns a refusal of the run with its code, and any other error unchanged. */
function refusal(error: unknown): unknown {
  if (!(error instanceof WorkflowUpdateFailedError) || !(error.cause instanceof ApplicationFailure)) return error;
  const { type, message } = error.cause;
  return isErrorCode(type) ? new LonghaulError(type, message, { cause: error }) : error;
}

/** Returns the error for a workflow that does not exist or has closed: Temporal says "not found" for both. */
async function goneError(client: Client, runId: string): Promise<LonghaulError> {
  await describeRun(client, runId);
  return new LonghaulError('run_ended', `Run "${runId}" has ended: start a new one`);
}

function serverUnreachable(client: Client, { id }: RunUpdate, error: unknown): LonghaulError {
  const hint = id === undefined ? '' : `. It may have been accepted: send it again with the same id, "${id}"`;
  return unreachableError(client, `${errorText(error)}${hint}`, error);
}

function gaveUp(runId: string, { name, id }: RunUpdate, cause: unknown): LonghaulError {
  const why = cause instanceof WorkflowUpdateFailedError ? errorMessage(cause.cause) : reasonOf(cause);
  const again = id === undefined ? 'Send it again' : `It may have been accepted: send it again with the same id, "${id}"`;
  return new LonghaulError('wait_timeout', `Run "${runId}" did not accept "${name}" in time (${why}). ${again}`, { cause });
}

/** Returns why an Update was not answered, without connection errors: they contain addresses, which not every caller may see. */
function reasonOf(cause: unknown): string {
  if (isCongestion(cause)) return 'it gets too many requests at once';
  if (isOfFailedTasks(cause)) return 'its last workflow tasks have failed: its worker may log the reason';
  const code = grpcCode(cause);
  const isSilent = cause instanceof WorkflowUpdateRPCTimeoutOrCancelledError || code === GRPC.deadlineExceeded;
  if (isSilent) return 'no worker has answered: is one running?';
  return code === undefined ? errorText(cause) : `the server has answered with the gRPC status ${code}`;
}

/** Milliseconds between two checks: they cost the run nothing, but many callers may check. */
const LOOKS_MS = { shortest: 200, longest: 1_000 };

/** Consecutive checks without a workflow task until a run counts as idle. One is not enough: shedding Updates also loses tasks. */
const IDLE_LOOKS = 3;

/** The longest wait: after this time without progress, the run is tried again anyway. */
const LONGEST_MS = 30_000;

/**
 * Waits until a run has made progress: its history has grown or continues in the next execution, or it has nothing to do.
 * Asks the server, not the run. Returns at the deadline, or after `LONGEST_MS`.
 */
async function waitForWorkflowTask(client: Client, runId: string, deadline: number): Promise<void> {
  const end = Math.min(deadline, Date.now() + LONGEST_MS);
  const before = await lookAt(client, runId);
  let wait = LOOKS_MS.shortest;
  let idle = 0;
  if (before === undefined) return;
  while (idle < IDLE_LOOKS && Date.now() < end) {
    await sleep(jitter(wait));
    const now = await lookAt(client, runId);
    if (now?.progress !== before.progress) return;
    idle = now.isIdle ? idle + 1 : 0;
    wait = Math.min(wait * 1.5, LOOKS_MS.longest);
  }
}

/** Returns the execution and the length of its history. Undefined if the server does not answer: the next attempt reports why. */
async function lookAt(client: Client, runId: string): Promise<{ progress: string; isIdle: boolean } | undefined> {
  try {
    const { runId: executionId, historyLength, raw } = await describeRun(client, runId);
    return { progress: `${executionId} ${historyLength}`, isIdle: !raw.pendingWorkflowTask };
  } catch {
    return undefined;
  }
}

/**
 * Limits the Updates that one client has in flight to a run. The server accepts ten Updates of a run at a time. It sheds
 * the eleventh, and then drops everything else that it has in memory of the run: the ten are aborted, the workflow task in
 * flight is lost, and waiting queries are never answered. A client that tries again soon makes it worse, and a run with
 * many callers comes to a standstill. Therefore a client has few Updates in flight to a run, and pauses between them if it
 * learns that others do the same.
 */

/** Updates that one client has in flight to a run. Messages are sent one at a time, so they stay in order. */
const AT_ONCE = { messages: 1, others: 2 };

/** The share of time with an Update in flight. It falls, at most once a second, when one is shed, and grows with each accepted one. */
const SHARE = { least: 0.05, factor: 0.6, growth: 0.002 };
const FALLS_EVERY_MS = 1_000;

/** The first estimate of how long an Update takes, and the weight of each new measurement. */
const USUAL_MS = 25;
const NEWEST_WEIGHT = 0.2;
const LONGEST_GAP_MS = 1_000;

/** A throttle that was idle for this long is dropped, with its estimates. */
const IDLE_MS = 10_000;

/** Limits the Updates of one client to one run. */
class UpdateThrottle {
  readonly #atOnce: number;
  readonly #queue = new Set<() => void>();
  #open = 0;
  #share = 1;
  #fellAt = 0;
  #usualMs = USUAL_MS;
  #usedAt = 0;

  constructor(atOnce: number) {
    this.#atOnce = atOnce;
  }

  /** True if nothing is in flight and nothing was shed recently. */
  isFree(now: number): boolean {
    return this.#open === 0 && (this.#share === 1 || now - this.#usedAt > IDLE_MS);
  }

  /** Waits for a turn, then does the work. Undefined if the turn has not come at the deadline. */
  async throttled<Result>(deadline: number, work: () => Promise<Result>): Promise<Result | undefined> {
    if (!(await this.#turn(deadline))) return undefined;
    try {
      return await work();
    } finally {
      this.#usedAt = Date.now();
      // The turn passes directly to the next in the queue, so that no later caller gets ahead.
      const [next] = this.#queue;
      if (next === undefined) this.#open -= 1;
      else next();
    }
  }

  /** Pauses before the next Update if needed. */
  async keepGap(): Promise<void> {
    const gapMs = Math.min(LONGEST_GAP_MS, this.#usualMs * (1 / this.#share - 1));
    if (gapMs > 0) await sleep(jitter(gapMs));
  }

  /** Records that an Update was accepted, after this many milliseconds. */
  accepted(ms: number): void {
    // A slow Update may have hit a pause of the run, so its excess is cut off.
    this.#usualMs += (Math.min(ms, 2 * this.#usualMs) - this.#usualMs) * NEWEST_WEIGHT;
    this.#share = Math.min(1, this.#share + SHARE.growth);
  }

  /** Records that an Update was shed, or aborted because another was. */
  congested(now: number): void {
    if (now - this.#fellAt < FALLS_EVERY_MS) return;
    this.#fellAt = now;
    this.#share = Math.max(SHARE.least, this.#share * SHARE.factor);
  }

  /** True once it is the caller's turn, in the order of the calls; false at the deadline. */
  async #turn(deadline: number): Promise<boolean> {
    if (this.#open < this.#atOnce) {
      this.#open += 1;
      return true;
    }
    const called = Promise.withResolvers<boolean>();
    const call = (): void => called.resolve(this.#queue.delete(call));
    this.#queue.add(call);
    const giveUp = setTimeout(() => called.resolve(!this.#queue.delete(call)), deadline - Date.now());
    const isCalled = await called.promise;
    clearTimeout(giveUp);
    return isCalled;
  }
}

const throttles = new WeakMap<Client, Map<string, UpdateThrottle>>();

/** Returns the client's throttle for a run. Messages have a separate one, so that nothing else waits for them. */
export function throttleOf(client: Client, runId: string, kind: keyof typeof AT_ONCE): UpdateThrottle {
  const own = throttles.get(client) ?? new Map<string, UpdateThrottle>();
  throttles.set(client, own);
  const now = Date.now();
  for (const [name, throttle] of own) if (throttle.isFree(now)) own.delete(name);
  const name = `${kind} ${runId}`;
  const throttle = own.get(name) ?? new UpdateThrottle(AT_ONCE[kind]);
  own.set(name, throttle);
  return throttle;
}

/** The options of sending a message. */
export interface SendOptions extends UpdateOptions {
  /** Your id, at most 64 characters: a message with the same id is accepted once, however often it is sent. Default: a UUID. */
  id?: string;
  /**
   * When the model reads it: after the current step (`queue`, the default); before its next call, giving up
   * calls that wait or have not started (`steer`); at once, aborting the model call in flight as well (`interrupt`).
   */
  mode?: MessageMode;
  /** The message is for a session, which began with this agent if one is named: any other run refuses it. Default: for any run. */
  session?: { agent?: string };
}

/** The receiver of a message. */
export interface Addressee extends Pick<RunUpdate, 'start'> {
  client: Client;
  runId: string;
  /** The principal of the sender, which the run compares with its own, and the key that hashes users. */
  sender?: { principal: Identity; key: string | undefined };
}

/** Sends a message to a run, which `start` starts if it does not exist. Throws before sending a message that the run would refuse. */
export async function sendMessage(
  { client, runId, start, sender }: Addressee,
  content: string | ContentPart[],
  options: SendOptions,
): Promise<MessageReceipt> {
  const { id = randomUUID(), mode, session, ...sending } = options;
  const { principal, key } = sender ?? {};
  const message: SendInput = { id, content, ...defined({ mode, principal, session }) };
  checkUpdate('send', runId, message);
  const update = {
    name: UPDATES.send,
    argument: message,
    id,
    ...(await repeatable(client, UPDATES.send, message, key)),
    ...defined({ start }),
  };
  return updateRun<MessageReceipt>(client, runId, update, sending);
}

/**
 * Returns the id of an Update whose request may be sent again. The server answers a known id itself, within one execution, and the run
 * recognizes repetitions across executions. The id has a digest of the request, including the principal of the sender, so that the run
 * receives another request with the same id, and refuses it. An Update has a random id if payloads are encrypted and there is no key for the
 * digest: nobody who reads ids of Updates may compare them with guessed contents.
 */
export async function repeatable(
  { options: { loadedDataConverter } }: Pick<Client, 'options'>,
  name: string,
  request: { id: string; [member: string]: unknown },
  key?: string,
): Promise<{ updateId?: string }> {
  if (key === undefined && !(await leavesReadable(loadedDataConverter.payloadCodecs))) return {};
  // As it is sent: without undefined members.
  const sent = canonicalJson(JSON.parse(JSON.stringify(request)) as JsonValue);
  const digest = createHmac('sha256', key ?? '')
    .update(sent)
    .digest('hex')
    .slice(0, 32);
  return { updateId: `${name} ${request.id} ${digest}` };
}

/** The options of raising limits. */
export interface RaiseOptions extends UpdateOptions {
  /** Your id, at most 64 characters: the same id is accepted once. Default: a UUID. */
  id?: string;
  /** The person or service that asks for it. */
  by?: string;
}

/**
 * Raises limits of a run or a whole session, each to its new value: `{steps: 30, totalTokens: 90_000, deadline: '4h'}`.
 * Throws `invalid_input` before sending limits whose form the run would refuse.
 */
export async function raiseLimits(
  client: Client,
  runId: string,
  raised: { limits: LimitOptions } | { session: SessionLimits },
  options: RaiseOptions,
): Promise<RaiseReceipt> {
  const { id = randomUUID(), by, ...sending } = options;
  const argument: RaiseInput = {
    id,
    ...('limits' in raised ? { limits: plainLimits('raise', raised.limits) } : raised),
    ...defined({ by }),
  };
  checkUpdate('raise', runId, argument);
  return updateRun<RaiseReceipt>(
    client,
    runId,
    { name: UPDATES.raise, argument, id, ...(await repeatable(client, UPDATES.raise, argument)) },
    sending,
  );
}
