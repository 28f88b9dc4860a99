import type { Client, WorkflowExecutionDescription } from '@temporalio/client';
import { decodeArrayFromPayloads, decodeOptionalFailureToOptionalError } from '@temporalio/common/lib/internal-non-workflow/index.js';
import type { RunningCall } from '../domain/run-views.ts';
import { ACTIVITIES } from '../protocol.ts';

type Pending = NonNullable<WorkflowExecutionDescription['raw']['pendingActivities']>[number];

/** The calls of a run that are going on, as the server knows them: with the progress that their last heartbeat told. */
export async function runningCalls(client: Client, { raw }: Pick<WorkflowExecutionDescription, 'raw'>): Promise<RunningCall[]> {
  const pending = (raw.pendingActivities ?? []).filter(({ activityType }) => isCall(activityType?.name));
  return Promise.all(pending.map((one) => runningCall(client, one)));
}

/** Calls of tools and of the model; not what the run does around them. */
function isCall(name: string | null | undefined): boolean {
  const others: readonly unknown[] = Object.values(ACTIVITIES).filter((own) => own !== ACTIVITIES.callModel);
  return !others.includes(name);
}

async function runningCall(client: Client, pending: Pending): Promise<RunningCall> {
  const { activityType, attempt, heartbeatDetails, lastFailure } = pending;
  const converter = client.options.loadedDataConverter;
  const name = activityType?.name ?? '';
  // What a model call beats with is what its attempts have cost so far: no progress of anything.
  const [progress] = name === ACTIVITIES.callModel ? [] : await decodeArrayFromPayloads(converter, heartbeatDetails?.payloads);
  const failure = await decodeOptionalFailureToOptionalError(converter, lastFailure);
  return {
    name,
    attempt: attempt ?? 1,
    ...(progress === undefined || progress === null ? {} : { progress: progress as NonNullable<RunningCall['progress']> }),
    ...(failure === undefined ? {} : { lastFailure: failure.message }),
  };
}
