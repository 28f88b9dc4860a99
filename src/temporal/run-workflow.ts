import { randomUUID } from 'node:crypto';
import { Client, type WorkflowExecutionDescription, WorkflowFailedError, type WorkflowHandle } from '@temporalio/client';
import {
  ApplicationFailure,
  type FailureConverter,
  type LoadedDataConverter,
  type PayloadConverter,
  TerminatedFailure,
  TimeoutFailure,
  WorkflowNotFoundError,
} from '@temporalio/common';
import { errorMessage, LonghaulError } from '../core/domain/errors.ts';
import { isRunResult, type RunResultFields } from '../core/domain/result.ts';
import type { RunStatus } from '../core/domain/run.ts';
import { WAITS_STREAM } from '../core/domain/stream.ts';
import { type CancelReasonInput, RESULT_MEMO, SIGNALS } from '../core/protocol.ts';
import { GRPC, grpcCode } from './server-calls.ts';

/**
 * Waits until the run closes and returns its result, for every status. Once the run has closed, this needs no worker. Of a run that was
 * started again under its id, the newest execution is waited for: to read one that has closed, name it.
 * Throws `run_not_found`, `run_terminated` and `run_timed_out`.
 */
export async function runOutcome(client: Client, runId: string, executionId?: string): Promise<RunResultFields> {
  const handle = client.workflow.getHandle(runId, executionId);
  try {
    const result: unknown = await handle.result();
    if (isRunResult(result)) return result;
    throw new LonghaulError('internal', `Workflow "${runId}" closed without a RunResult: is it a run of Longhaul?`);
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) throw runNotFound(client, runId);
    if (!(error instanceof WorkflowFailedError)) throw error;
    return resultOfFailure(handle, error);
  }
}

export function runNotFound(client: Client, runId: string): LonghaulError {
  return new LonghaulError(
    'run_not_found',
    `Namespace "${client.options.namespace}" has no run "${runId}": "npx longhaul list" shows those it has`,
  );
}

async function resultOfFailure(run: WorkflowHandle, { cause }: WorkflowFailedError): Promise<RunResultFields> {
  const { workflowId: runId } = run;
  if (cause instanceof TerminatedFailure) {
    throw new LonghaulError('run_terminated', `Run "${runId}" was terminated by an operator (${cause.message}): it has no result`, {
      cause,
    });
  }
  if (cause instanceof TimeoutFailure) {
    throw new LonghaulError('run_timed_out', `Run "${runId}" was ended by a timeout of its workflow: it has no result`, { cause });
  }
  if (cause instanceof ApplicationFailure) {
    const [details] = cause.details ?? [];
    if (isRunResult(details)) return details;
  }
  const { memo } = await run.describe();
  const kept = memo?.[RESULT_MEMO];
  if (isRunResult(kept)) return kept;
  throw new LonghaulError('internal', `Run "${runId}" closed without a RunResult: ${errorMessage(cause)}`, { cause });
}

/** The state of a run on the server: open, ended, or not there. */
export type RunState = 'open' | 'closed' | 'gone';

/** True if this Temporal status of the newest execution means that the run has ended. During a switch, it may be the previous execution. */
export function hasEndedAs(status: string): boolean {
  return status !== 'RUNNING' && status !== 'CONTINUED_AS_NEW';
}

/** Converts Temporal's status of a workflow to the status of a run. A run that was ended from outside has failed. */
export function statusOf(execution: string): RunStatus {
  switch (execution) {
    case 'COMPLETED':
      return 'completed';
    case 'CANCELLED':
      return 'cancelled';
    case 'FAILED':
    case 'TERMINATED':
    case 'TIMED_OUT':
      return 'error';
    default:
      return 'running';
  }
}

export async function runState(client: Client, runId: string, executionId?: string): Promise<RunState> {
  const found = await findExecution(client, runId, executionId);
  if (found === undefined) return 'gone';
  const isClosed = executionId === undefined ? hasEndedAs(found.status.name) : found.status.name !== 'RUNNING';
  return isClosed ? 'closed' : 'open';
}

/** Describes an execution of a workflow, by default the newest one; undefined if the server does not have it. */
export async function findExecution(
  client: Client,
  workflowId: string,
  executionId?: string,
): Promise<WorkflowExecutionDescription | undefined> {
  try {
    return await withoutMemos(client).workflow.getHandle(workflowId, executionId).describe();
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return undefined;
    throw error;
  }
}

/** Describes the newest execution of a workflow. Throws `run_not_found`. */
export async function describeRun(client: Client, workflowId: string): Promise<WorkflowExecutionDescription> {
  const found = await findExecution(client, workflowId);
  if (found === undefined) throw runNotFound(client, workflowId);
  return found;
}

/**
 * Asks the server to cancel a run. The reason in such a request is clear text, so a client that encrypts sends it
 * first as a signal, whose payload is encrypted. Returns `already_ended` if the run has ended.
 */
export async function requestCancel(client: Client, runId: string, reason: string): Promise<'requested' | 'already_ended'> {
  const { namespace, identity, loadedDataConverter } = client.options;
  const isSecret = encodesText(loadedDataConverter);
  try {
    if (isSecret) await client.workflow.getHandle(runId).signal<[CancelReasonInput]>(SIGNALS.cancelReason, { reason });
    await client.workflowService.requestCancelWorkflowExecution({
      namespace,
      workflowExecution: { workflowId: runId },
      identity,
      requestId: randomUUID(),
      reason: isSecret ? '' : reason,
    });
    return 'requested';
  } catch (error) {
    if (grpcCode(error) === GRPC.notFound || (error instanceof Error && error.name === 'WorkflowNotFoundError')) return 'already_ended';
    throw error;
  }
}

/**
 * True if text outside payloads, such as the reason of a cancellation, must not reach the server. That is so if
 * messages of failures are moved into payloads, by this package's converter or the user's own.
 */
function encodesText({ failureConverter }: LoadedDataConverter): boolean {
  const { options } = failureConverter as FailureConverter & { options?: { encodeCommonAttributes?: unknown } };
  return options?.encodeCommonAttributes === true;
}

const memolessClients = new WeakMap<Client, Client>();

/**
 * Returns the same client for descriptions and lists of workflows, with memos left undecoded. Any client of the
 * namespace can write memos, and one that cannot be decoded would fail the whole answer, even of a list.
 */
export function withoutMemos(client: Client): Client {
  const made = memolessClients.get(client) ?? memolessClient(client);
  memolessClients.set(client, made);
  return made;
}

function memolessClient(client: Client): Client {
  const { namespace, identity, interceptors, loadedDataConverter } = client.options;
  const payloadConverter: PayloadConverter = {
    toPayload: (value, context, hint) => loadedDataConverter.payloadConverter.toPayload(value, context, hint),
    fromPayload: <Value>(): Value => undefined as Value,
  };
  const dataConverter = { ...loadedDataConverter, payloadCodecs: [], payloadConverter };
  return new Client({ connection: client.connection, namespace, identity, interceptors, dataConverter });
}

/** Ids that are literal path segments of the HTTP service: a run with such an id could not be reached there. */
export const TAKEN_RUN_IDS: readonly string[] = ['counts'];

/**
 * Returns the id of a new run. Throws `invalid_input` as `checkRunId`, for an id that is a literal path segment of the HTTP service,
 * and for the id under which sinks carry entries about all runs.
 */
export function checkNewRunId(runId: unknown): string {
  const checked = checkRunId(runId);
  if (checked === WAITS_STREAM)
    throw new LonghaulError(
      'invalid_input',
      `The run id is "${checked}", under which sinks of live output announce waits: choose another one`,
    );
  if (!TAKEN_RUN_IDS.includes(checked)) return checked;
  const path = `/v1/runs/${checked}`;
  throw new LonghaulError('invalid_input', `The run id is "${checked}", and "${path}" is something else over HTTP: choose another run id`);
}

/** Returns the id of a run. Throws `invalid_input` for a value that is not a text, is empty, or has a lone surrogate. */
export function checkRunId(runId: unknown): string {
  if (typeof runId === 'string' && runId.trim() !== '' && runId.isWellFormed()) return runId;
  throw new LonghaulError(
    'invalid_input',
    `The run id is ${JSON.stringify(runId) ?? 'missing'}: write the id of a run, as "start" returned it`,
  );
}
