import type { Client, WorkflowExecutionDescription } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { decodeOptionalFailureToOptionalError } from '@temporalio/common/lib/internal-non-workflow/index.js';
import { isErrorCode } from '../../core/domain/errors.ts';
import { type Missing, missingIn } from '../../core/domain/missing-definitions.ts';

type Pending = NonNullable<WorkflowExecutionDescription['raw']['pendingActivities']>[number];

/** Returns what activities of a run wait for because no worker has had it so far. The server knows it from their last attempts: no event says so. */
export async function missingThings(client: Client, { raw }: Pick<WorkflowExecutionDescription, 'raw'>): Promise<Missing[]> {
  const all = await Promise.all((raw.pendingActivities ?? []).map((one) => missingFor(client, one)));
  return all.filter((one) => one !== undefined);
}

async function missingFor(client: Client, { lastFailure }: Pending): Promise<Missing | undefined> {
  const failure = await decodeOptionalFailureToOptionalError(client.options.loadedDataConverter, lastFailure);
  if (!(failure instanceof ApplicationFailure)) return undefined;
  const { kind, name, known, worker, since, until } = missingIn(failure.details?.[0]) ?? {};
  if (kind === undefined || name === undefined || since === undefined || until === undefined) return undefined;
  const code = isErrorCode(failure.type) ? failure.type : 'unknown_tool';
  return { kind, name, known: known ?? [], code, ...(worker === undefined ? {} : { worker }), since, until };
}

/** Returns what the run waits for as it reports it, with the newest information of the server: the worker that lacked it last. */
export function withNewest(reported: readonly Missing[], newest: readonly Missing[]): Missing[] {
  const isSame = (one: Missing, other: Missing): boolean => one.kind === other.kind && one.name === other.name;
  const known = reported.map((one) => ({ ...one, ...workerOf(newest.find((other) => isSame(one, other))) }));
  return [...known, ...newest.filter((one) => !reported.some((other) => isSame(one, other)))];
}

function workerOf(missing: Missing | undefined): Pick<Missing, 'worker'> {
  return missing?.worker === undefined ? {} : { worker: missing.worker };
}
