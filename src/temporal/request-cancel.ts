import type { Client } from '@temporalio/client';
import { randomUUID } from 'node:crypto';
import { type CancelReasonInput, SIGNALS } from '../core/protocol.ts';
import { GRPC, grpcCode } from './grpc-code.ts';
import type { FailureConverter, LoadedDataConverter } from '@temporalio/common';

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
