import { createHash } from 'node:crypto';
import { asyncLocalStorage, Context, getClient } from '@temporalio/activity';
import { WorkflowNotFoundError } from '@temporalio/client';
import { decodeArrayFromPayloads } from '@temporalio/common/lib/internal-non-workflow/index.js';
import { type BatchDetails, batchedCallKey, type BatchedCall, registrationIn } from '../../src/core/domain/batch.ts';
import { isJsonObject, type JsonObject } from '../../src/core/domain/json.ts';
import { activityDetails, uncountedAttemptsIn } from '../../src/core/domain/missing-definitions.ts';
import { refusalDetails } from '../../src/core/domain/model.ts';
import { addSpent, spentIn } from '../../src/core/domain/usage.ts';

/** A call of a batch whose activity waits. */
export interface PendingCall {
  call: BatchedCall;
  /** The details of its last heartbeat. */
  details: JsonObject;
  /** What its attempts have noted about its wait. Absent: no attempt has ended so far, or the call is being made. */
  batch: BatchDetails | undefined;
}

/** The server's state of an activity that is being cancelled: `PENDING_ACTIVITY_STATE_CANCEL_REQUESTED`. */
const IS_CANCELLED = 3;

/** Returns the call as the server has it; undefined if its activity has ended or is cancelled. */
export async function pendingCall(call: BatchedCall): Promise<PendingCall | undefined> {
  const client = getClient();
  try {
    const { raw } = await client.workflow.getHandle(call.workflowId, call.runId).describe();
    const pending = (raw.pendingActivities ?? []).find(({ activityId }) => activityId === call.activityId);
    if (pending === undefined || pending.activityType?.name !== call.activity || pending.state === IS_CANCELLED) return undefined;
    const [given] = await decodeArrayFromPayloads(client.options.loadedDataConverter, pending.heartbeatDetails?.payloads);
    const details = isJsonObject(given) ? given : {};
    return { call, details, batch: registrationIn(details) };
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return undefined;
    throw error;
  }
}

/**
 * Does a part of the work of another activity: of a call of a batch, whose own attempt waits for its next one. Everything that asks for
 * the current activity gets that of the call.
 */
export function withinCall<Result>({ call, details }: PendingCall, work: () => Promise<Result>): Promise<Result> {
  const host = Context.current();
  const { workflowId, runId, activityId, activity } = call;
  const now = Date.now();
  const known = activityDetails(details);
  const spent = addSpent(spentIn(details), call.spent);
  const noted = { ...(isJsonObject(known) ? known : {}), ...(spent === undefined ? {} : { spent }) };
  const info: Context['info'] = {
    ...host.info,
    activityId,
    activityType: activity,
    // The attempt counts as the first one that was made.
    attempt: 1 + uncountedAttemptsIn(details) + (refusalDetails(details)?.count ?? 0),
    heartbeatDetails: uncountedAttemptsIn(details) === 0 ? noted : { ...details, details: noted },
    workflowExecution: { workflowId, runId },
    scheduledTimestampMs: now,
    currentAttemptScheduledTimestampMs: now,
    retryPolicy: {},
  };
  const { cancelled, cancellationSignal, client, log, metricMeter } = host;
  const context = new Context(info, cancelled, cancellationSignal, () => undefined, client, log, metricMeter, {});
  return asyncLocalStorage.run(context, work);
}

/** Returns the id by which the provider knows a call. */
export function customId(call: Pick<BatchedCall, 'runId' | 'activityId'>): string {
  return createHash('sha256').update(batchedCallKey(call)).digest('hex').slice(0, 32);
}
