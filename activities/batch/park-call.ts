import { activityInfo, cancellationSignal, getClient, log } from '@temporalio/activity';
import type { AgentSnapshot } from '../../src/core/domain/agent.ts';
import {
  type BatchDetails,
  type BatchedCall,
  batchedCallKey,
  type CallPlace,
  type CollectorInput,
  registrationIn,
} from '../../src/core/domain/batch.ts';
import { BATCH_COLLECTOR, COLLECTOR_QUERIES, COLLECTOR_SIGNALS, collectorId } from '../../src/core/protocol-names.ts';
import { jsonBytes } from '../../src/core/domain/byte-budgets.ts';
import { errorMessage } from '../../src/core/domain/errors.ts';
import type { AskStepInput, CallModelInput } from '../../src/core/protocol.ts';
import { lastDetails } from '../attempts/attempt.ts';
import { permanentFailure } from '../attempts/failure.ts';
import { ParkedAttempt } from '../attempts/parked-attempt.ts';
import { type AskedModel, type AskedModels, ModelOrder } from '../model-calls/fallback.ts';
import type { ActivityRuntime } from '../runtime.ts';
import { requestDigest } from './request-digest.ts';
import type { ProviderBatches } from './worker-batches.ts';

/** A model call that may wait for a batch. */
export interface CallToPark {
  activity: BatchedCall['activity'];
  input: CallModelInput | AskStepInput;
  snapshot: AgentSnapshot;
  asked: AskedModels;
  /** The key of the call in the queues of models. */
  key: string;
  /** Asks the memory, if the call says so. It is asked once: what it has is kept with the call. */
  recall?: (signal: AbortSignal) => Promise<object | undefined>;
}

/** The waits between two registrations: each is twice as long as the one before. */
const WAIT_MS = { first: 60_000, longest: 30 * 60_000 };

/** The wait if the server has not taken the registration. */
const AGAIN_MS = 5_000;

/** The time after the deadline of a batch in which its collector tells what has become of the call. */
const GRACE_MS = 60 * 60_000;

/**
 * Registers a call with the collector of its provider, and ends the attempt: the collector completes the activity once the batch is
 * answered. Each attempt registers it again, unless the collector has it, so that nothing is lost with a collector or a worker.
 * Returns if the call is to be made now, because no collector has answered for longer than its deadline.
 */
export async function parkForBatch(runtime: ActivityRuntime, call: CallToPark): Promise<void> {
  const { asked, snapshot, key } = call;
  if (runtime.batches === undefined) return;
  const model = new ModelOrder(asked, {}, key).current;
  const batches = runtime.batches.of(model.name);
  const { provider, policy } = batches;
  const known = registrationIn(lastDetails());
  const now = Date.now();
  let since = known?.since ?? now;
  if (now - since > policy.windowMs + policy.deadlineMs + GRACE_MS) {
    if (policy.onExpired === 'fail') throw permanentFailure('model_timeout', `No batch has answered the call to model "${model.name}"`);
    log.warn(`No batch has answered a call to model "${model.name}" in time: it is made now`, { collector: known?.collector });
    if (policy.onExpired === 'interactive') return;
    since = now;
  }
  const recalled = known?.recalled ?? (await call.recall?.(cancellationSignal()));
  const collector = known?.collector ?? runtime.batches.collectorOf(provider);
  const noted: BatchDetails = {
    provider,
    since,
    times: (known?.times ?? 0) + 1,
    collector,
    ...(recalled === undefined ? {} : { recalled }),
  };
  const reference = referenceOf(call, model, batches, snapshot);
  const parked = (message: string, ms: number): ParkedAttempt => new ParkedAttempt(message, ms, { batch: { ...noted } });
  let place: string;
  try {
    place = await register(runtime, { reference, batches, noted, isKnown: known !== undefined });
  } catch (error) {
    throw parked(`Not registered for a batch of provider "${provider}" yet: ${errorMessage(error)}`, AGAIN_MS);
  }
  throw parked(place, waitMs(noted.times));
}

function waitMs(times: number): number {
  return Math.min(WAIT_MS.longest, WAIT_MS.first * 2 ** Math.min(times - 1, 10));
}

/** Returns the call by reference: without the hints that only help the process which makes it. */
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

interface Registration {
  reference: BatchedCall;
  batches: ProviderBatches;
  noted: BatchDetails;
  isKnown: boolean;
}

/** Registers a call with a collector that has room, unless one has it. Returns what it waits for, for a person. */
async function register(runtime: ActivityRuntime, { reference, batches, noted, isKnown }: Registration): Promise<string> {
  const { provider, policy } = batches;
  const { taskQueue } = activityInfo();
  const client = getClient();
  const place = isKnown ? await placeOf(collectorId(provider, noted.collector, taskQueue), reference) : undefined;
  if (place?.state === 'waiting') return `Waits for a batch of collector "${collectorId(provider, noted.collector, taskQueue)}"`;
  if (place?.state === 'in_batch') {
    const id = place.id === undefined ? '' : ` (${place.id})`;
    return `Waits for batch ${place.seq}${id} of collector "${collectorId(provider, noted.collector, taskQueue)}"`;
  }
  if (place?.isFull) noted.collector = runtime.batches?.isFull(provider, noted.collector) ?? noted.collector;
  const workflowId = collectorId(provider, noted.collector, taskQueue);
  const input: CollectorInput = { provider, policy };
  await client.workflow.signalWithStart(BATCH_COLLECTOR, {
    workflowId,
    taskQueue,
    args: [input],
    signal: COLLECTOR_SIGNALS.register,
    signalArgs: [reference],
    staticSummary: `collects model calls of "${provider}" into batches`,
  });
  return `Waits for a batch of collector "${workflowId}"`;
}

/** The time for which an answer of a collector is waited for. Without one, the call is registered again, which changes nothing. */
const ANSWER_MS = 2_000;

async function placeOf(workflowId: string, call: BatchedCall): Promise<CallPlace | undefined> {
  const client = getClient();
  try {
    const handle = client.workflow.getHandle(workflowId);
    return await client.withDeadline(Date.now() + ANSWER_MS, () =>
      handle.query<CallPlace, [string]>(COLLECTOR_QUERIES.call, batchedCallKey(call)),
    );
  } catch {
    return undefined;
  }
}
