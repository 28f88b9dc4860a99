import type { Client, WorkflowExecutionDescription } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { optionalTsToDate } from '@temporalio/common/lib/time.js';
import { decodeArrayFromPayloads, decodeOptionalFailureToOptionalError } from '@temporalio/common/lib/internal-non-workflow/index.js';
import type { RunningCall } from '../../core/domain/run/views.ts';
import { activityDetails } from '../../core/domain/errors/worker-wait.ts';
import { refusedIn } from '../../core/domain/model/refused.ts';
import { ACTIVITIES } from '../../core/protocol.ts';

type Pending = NonNullable<WorkflowExecutionDescription['raw']['pendingActivities']>[number];

/** Returns the calls of a run that are in progress, as the server knows them: with the progress of their last heartbeat, and the attempt. */
export async function runningCalls(client: Client, { raw }: Pick<WorkflowExecutionDescription, 'raw'>): Promise<RunningCall[]> {
  const pending = (raw.pendingActivities ?? []).filter(({ activityType }) => isCall(activityType?.name));
  return Promise.all(pending.map((one) => runningCall(client, one)));
}

/** The server's state of an activity that no worker executes now: `PENDING_ACTIVITY_STATE_SCHEDULED`. */
const WAITS = 1;

/** Longhaul's own activities that depend on something outside: on the model, and on what the worker's options name. */
const SHOWN: readonly string[] = [
  ACTIVITIES.callModel,
  ACTIVITIES.summarise,
  ACTIVITIES.askStep,
  ACTIVITIES.useMemory,
  ACTIVITIES.storeOutputs,
  ACTIVITIES.loadOutput,
  ACTIVITIES.archiveEvents,
  ACTIVITIES.notifyWaiting,
  ACTIVITIES.notifyEnded,
];

/** True for those activities, and for tools. */
function isCall(name: string | null | undefined): boolean {
  const others: readonly unknown[] = Object.values(ACTIVITIES).filter((own) => !SHOWN.includes(own));
  return !others.includes(name);
}

async function runningCall(client: Client, pending: Pending): Promise<RunningCall> {
  const { activityType, attempt, heartbeatDetails, lastFailure } = pending;
  const converter = client.options.loadedDataConverter;
  const name = activityType?.name ?? '';
  // The heartbeats of Longhaul's own activities are for their next attempts (usage, start time): they report no progress.
  const [details] = SHOWN.includes(name) ? [] : await decodeArrayFromPayloads(converter, heartbeatDetails?.payloads);
  const progress = activityDetails(details);
  const failure = await decodeOptionalFailureToOptionalError(converter, lastFailure);
  return {
    name,
    attempt: attempt ?? 1,
    ...(progress === undefined || progress === null ? {} : { progress: progress as NonNullable<RunningCall['progress']> }),
    ...(failure === undefined ? {} : { lastFailure: failure.message }),
    ...refusedCall(pending, failure),
  };
}

/** Tells, for a model call that waits for its next attempt, when that is, and when the call is given up. The failure knows the latter. */
function refusedCall({ state, scheduledTime }: Pending, failure: unknown): Pick<RunningCall, 'refused'> {
  if (state !== WAITS || !(failure instanceof ApplicationFailure)) return {};
  const { count, givesUpAt } = refusedIn(failure.details?.[0]) ?? {};
  if (count === undefined || givesUpAt === undefined) return {};
  const next = optionalTsToDate(scheduledTime)?.toISOString();
  return {
    refused: { code: failure.type ?? 'model_error', times: count, ...(next === undefined ? {} : { nextAttemptAt: next }), givesUpAt },
  };
}
