import { createHash } from 'node:crypto';
import { activityInfo, cancellationSignal, getClient, log } from '@temporalio/activity';
import type { ActivityTiming, AgentSnapshot } from '../../src/core/domain/agent.ts';
import {
  type BatchDetails,
  type BatchedCall,
  batchedCallKey,
  type BatchEnd,
  type BatchPolicy,
  type CollectorInput,
  registrationIn,
} from '../../src/core/domain/batch.ts';
import { jsonBytes } from '../../src/core/domain/byte-budgets.ts';
import { errorMessage } from '../../src/core/domain/errors.ts';
import { canonicalJson, type JsonValue } from '../../src/core/domain/json.ts';
import type { ModelRequest } from '../../src/core/domain/model.ts';
import { type AskStepInput, BATCH_COLLECTOR, type CallModelInput, COLLECTOR_SIGNALS, collectorId } from '../../src/core/protocol.ts';
import { attemptInfo, ParkedAttempt } from '../attempts/attempt-info.ts';
import { lastDetails } from '../attempts/attempt.ts';
import { permanentFailure } from '../attempts/failure.ts';
import { type AskedModel, type AskedModels, ModelOrder } from '../model-calls/fallback.ts';
import type { ActivityRuntime } from '../runtime.ts';
import type { ProviderBatches } from './worker-batches.ts';

/** A model call that may wait for a batch. */
export interface CallToPark {
  activity: BatchedCall['activity'];
  input: CallModelInput | AskStepInput;
  snapshot: AgentSnapshot;
  asked: AskedModels;
  /** The key of the call in the queues of models. */
  key: string;
  /** Queries the memory, if the call uses it. It is queried once: the result is kept with the call. */
  recall?: (signal: AbortSignal) => Promise<object | undefined>;
}

/** The waits between two registrations: each is twice the previous one. */
const WAIT_MS = { first: 60_000, longest: 30 * 60_000 };

/** Calls that were parked together are delayed by up to this share, so that they do not come back together. */
const JITTER = 0.2;

/** The wait if the server has not accepted the registration. */
const AGAIN_MS = 5_000;

/** The time after a batch's deadline for its collector to report what became of the call. */
const GRACE_MS = 60 * 60_000;

/** Further attempts that may be lost with their workers before a call is registered, without having sent anything to a model. */
const MOST_LOST = 20;

/** Returns the attempt limits of a call that is to be registered. */
export function registeringTiming(timing: ActivityTiming): ActivityTiming {
  return { ...timing, modelMaxAttempts: timing.modelMaxAttempts + MOST_LOST };
}

/**
 * Ends the attempt if the collector already has the call, which needs neither the conversation nor the request. Returns if the call must be
 * registered, for the first time or again, or made.
 */
export async function parkAgain({ batches }: ActivityRuntime): Promise<void> {
  const known = registrationIn(lastDetails());
  const policy = known && batches?.policyOf(known.provider);
  if (batches === undefined || known === undefined || policy === undefined || isOverdue(known.since, policy)) return;
  const { provider, collector, first } = known;
  const { workflowExecution, activityId, taskQueue } = activityInfo();
  const workflowId = collectorId(provider, collector, taskQueue);
  const key = batchedCallKey({ runId: workflowExecution?.runId ?? '', activityId });
  const found = await batches.questions.placeOf(getClient(), workflowId, key, cancellationSignal());
  if (found === 'gone') return;
  if (found === 'silent') throw parkedAs(known, { isNoted: true, message: `Waits for collector "${workflowId}"`, waitMs: waitMs(first) });
  // The call is registered with the next collector that has room.
  if (found.state === 'unknown') return found.isFull ? void batches.isFull(provider, collector) : undefined;
  const id = found.state === 'in_batch' && found.id !== undefined ? ` (${found.id})` : '';
  const what = found.state === 'in_batch' ? `batch ${found.seq}${id}` : 'a batch';
  throw parkedAs(known, { isNoted: true, message: `Waits for ${what} of collector "${workflowId}"`, waitMs: waitMs(first) });
}

/**
 * Registers a call with the collector of its provider, and ends the attempt: the collector completes the activity once the batch is
 * answered. Each attempt registers the call again, unless the collector has it (`parkAgain`), so that nothing is lost with a collector or a
 * worker. If no collector has answered for longer than its deadline, returns an outcome that makes the run make the call in another
 * activity, whose attempts count. Returns undefined if this worker has no batches.
 */
export async function parkForBatch(runtime: ActivityRuntime, call: CallToPark): Promise<BatchEnd | undefined> {
  const { asked, snapshot, key } = call;
  if (runtime.batches === undefined) return undefined;
  const model = new ModelOrder(asked, {}, key).current;
  const batches = runtime.batches.of(model.name);
  const { provider, policy } = batches;
  const known = registrationIn(lastDetails());
  let since = known?.since ?? Date.now();
  if (isOverdue(since, policy)) {
    if (policy.onExpired === 'fail') throw permanentFailure('model_timeout', `No batch has answered the call to model "${model.name}"`);
    log.warn(`No batch has answered a call to model "${model.name}" in time: it is made now`, { collector: known?.collector });
    if (policy.onExpired === 'interactive') return { type: 'unbatched' };
    since = Date.now();
  }
  const recalled = known?.recalled ?? (await call.recall?.(cancellationSignal()));
  const first = known?.first ?? attemptInfo().attempt;
  const collector = Math.max(known?.collector ?? 0, runtime.batches.collectorOf(provider));
  const noted: BatchDetails = { provider, since, first, collector, ...(recalled === undefined ? {} : { recalled }) };
  const isNoted = known?.since === since && known.collector === collector;
  let place: string;
  try {
    place = await register(referenceOf(call, model, batches, snapshot), batches, collector);
  } catch (error) {
    const message = `Not registered for a batch of provider "${provider}" yet: ${errorMessage(error)}`;
    throw parkedAs(noted, { isNoted, message, waitMs: AGAIN_MS });
  }
  throw parkedAs(noted, { isNoted, message: place, waitMs: waitMs(first) });
}

function isOverdue(since: number, { windowMs, deadlineMs }: BatchPolicy): boolean {
  return Date.now() - since > windowMs + deadlineMs + GRACE_MS;
}

/** The failure omits recalled entries, because it enters the history of the run. */
function parkedAs(
  noted: BatchDetails,
  { message, waitMs: ms, isNoted }: Pick<ParkedAttempt, 'message' | 'waitMs' | 'isNoted'>,
): ParkedAttempt {
  const { recalled: _, ...place } = noted;
  return new ParkedAttempt(message, ms, { details: { batch: place }, kept: { batch: { ...noted } }, isNoted });
}

/** Returns the time until the next attempt, from the number of attempts since the first registration. */
function waitMs(first: number): number {
  const before = Math.max(0, attemptInfo().attempt - first);
  return Math.min(WAIT_MS.longest, WAIT_MS.first * 2 ** Math.min(before, 10) * (1 + JITTER * Math.random()));
}

/** Returns the call by reference: without the hints that only help the process that makes it. */
function referenceOf(call: CallToPark, model: AskedModel, { client }: ProviderBatches, { tags }: AgentSnapshot): BatchedCall {
  const { workflowExecution, activityId } = activityInfo();
  const { results: _, earlierIds: __, news: ___, awaitsWorker: ____, ...input } = call.input as CallModelInput;
  return {
    workflowId: workflowExecution?.workflowId ?? '',
    runId: workflowExecution?.runId ?? '',
    activityId,
    activity: call.activity,
    model: model.name,
    digest: requestDigest(model.request),
    bytes: jsonBytes(model.request),
    input,
    ...(client.byTags && tags !== undefined ? { tags } : {}),
  };
}

/** Registers a call with a collector, which is started if necessary. Returns what the call waits for, as text for a person. */
async function register(reference: BatchedCall, { provider, policy }: ProviderBatches, collector: number): Promise<string> {
  const { taskQueue } = activityInfo();
  const workflowId = collectorId(provider, collector, taskQueue);
  const input: CollectorInput = { provider, policy };
  await getClient().workflow.signalWithStart(BATCH_COLLECTOR, {
    workflowId,
    taskQueue,
    args: [input],
    signal: COLLECTOR_SIGNALS.register,
    signalArgs: [reference],
    staticSummary: `collects model calls of "${provider}" into batches`,
  });
  return `Waits for a batch of collector "${workflowId}"`;
}

/** The length of a digest: 132 bits in base64url. */
const DIGEST_LENGTH = 22;

/** Returns a digest of a request as built only from the conversation: equal requests have equal digests on every worker. */
export function requestDigest(request: ModelRequest): string {
  const plain = JSON.parse(JSON.stringify(request)) as JsonValue;
  return createHash('sha256').update(canonicalJson(plain)).digest('base64url').slice(0, DIGEST_LENGTH);
}
