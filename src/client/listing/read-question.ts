import type { Client } from '@temporalio/client';
import { decodeArrayFromPayloads } from '@temporalio/common/lib/internal-non-workflow/index.js';
import { GRPC, grpcCode } from '../../temporal/grpc-code.ts';
import type { RunListEntry } from './list-runs.ts';

/**
 * Returns the beginning of what a run was asked at its start, from the summary that the server has with the run, and no list. Undefined if
 * there is none, if it cannot be decoded, for example without the encryption key, and for a run that was deleted meanwhile.
 */
export async function readQuestion(client: Client, { runId, agentName = '' }: RunListEntry): Promise<string | undefined> {
  const { namespace, loadedDataConverter } = client.options;
  try {
    const { executionConfig } = await client.workflowService.describeWorkflowExecution({ namespace, execution: { workflowId: runId } });
    const payload = executionConfig?.userMetadata?.summary;
    const [summary] = payload ? await decodeArrayFromPayloads(loadedDataConverter, [payload]) : [];
    const before = `${agentName}: `;
    return typeof summary === 'string' && summary.startsWith(before) ? summary.slice(before.length) : undefined;
  } catch (error) {
    if (grpcCode(error) === undefined || grpcCode(error) === GRPC.notFound) return undefined;
    throw error;
  }
}
