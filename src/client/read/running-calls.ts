import type { Client, WorkflowExecutionDescription } from '@temporalio/client';
import { decodeArrayFromPayloads, decodeOptionalFailureToOptionalError } from '@temporalio/common/lib/internal-non-workflow/index.js';
import type { RunningCall } from '../../core/domain/run/run-views.ts';
import { activityDetails } from '../../core/domain/errors/worker-wait.ts';
import { ACTIVITIES } from '../../core/protocol.ts';

type Pending = NonNullable<WorkflowExecutionDescription['raw']['pendingActivities']>[number];

/** The calls of a run that are going on, as the server knows them: with the progress that their last heartbeat told, and the attempt. */
export async function runningCalls(client: Client, { raw }: Pick<WorkflowExecutionDescription, 'raw'>): Promise<RunningCall[]> {
  const pending = (raw.pendingActivities ?? []).filter(({ activityType }) => isCall(activityType?.name));
  return Promise.all(pending.map((one) => runningCall(client, one)));
}

/** The activities of Longhaul's own that depend on what is outside: the model, and what the worker's options name. */
const SHOWN: readonly string[] = [ACTIVITIES.callModel, ACTIVITIES.archiveEvents, ACTIVITIES.notifyWaiting, ACTIVITIES.notifyEnded];

/** True for those, and for tools. */
function isCall(name: string | null | undefined): boolean {
  const others: readonly unknown[] = Object.values(ACTIVITIES).filter((own) => !SHOWN.includes(own));
  return !others.includes(name);
}

async function runningCall(client: Client, pending: Pending): Promise<RunningCall> {
  const { activityType, attempt, heartbeatDetails, lastFailure } = pending;
  const converter = client.options.loadedDataConverter;
  const name = activityType?.name ?? '';
  // What Longhaul's own beat with is for their next attempts (what was spent, when it began): no progress of anything.
  const [details] = SHOWN.includes(name) ? [] : await decodeArrayFromPayloads(converter, heartbeatDetails?.payloads);
  const progress = activityDetails(details);
  const failure = await decodeOptionalFailureToOptionalError(converter, lastFailure);
  return {
    name,
    attempt: attempt ?? 1,
    ...(progress === undefined || progress === null ? {} : { progress: progress as NonNullable<RunningCall['progress']> }),
    ...(failure === undefined ? {} : { lastFailure: failure.message }),
  };
}
