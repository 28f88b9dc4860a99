import type { Client } from '@temporalio/client';
import { randomUUID } from 'node:crypto';
import { encodesText } from '../codec/encodes-text.ts';
import { type CancelReasonInput, SIGNALS } from '../core/protocol.ts';
import { GRPC, grpcCode } from './grpc-code.ts';

/**
 * Asks the server to cancel a run. The reason of such a request is clear text: where the client encrypts, it goes ahead
 * as a signal, whose payload is encrypted. Returns `already_ended` where there is nothing left to cancel.
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
