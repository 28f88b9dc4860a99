import type { Client } from '@temporalio/client';
import { decodeArrayFromPayloads } from '@temporalio/common/lib/internal-non-workflow/index.js';
import { GRPC, grpcCode } from '../../temporal/server-calls.ts';

/** Returns a member of the memo of a run; undefined if it has none, and if there is no such run. */
export async function readMemo({ workflowService, options }: Client, runId: string, name: string): Promise<unknown> {
  const { namespace, loadedDataConverter } = options;
  try {
    // The description of the SDK decodes all members: one that it cannot decode would fail the whole.
    const { workflowExecutionInfo } = await workflowService.describeWorkflowExecution({ namespace, execution: { workflowId: runId } });
    const payload = workflowExecutionInfo?.memo?.fields?.[name];
    const [value] = payload === undefined ? [] : await decodeArrayFromPayloads(loadedDataConverter, [payload]);
    return value;
  } catch (error) {
    if (grpcCode(error) === GRPC.notFound) return undefined;
    throw error;
  }
}
