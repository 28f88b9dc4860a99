import type { Client } from '@temporalio/client';
import type { ArchiveSink } from '../../archive/archive-sink.ts';
import { errorCode, LonghaulError } from '../../core/domain/errors/error.ts';
import type { PayloadStore } from '../../payload-store/payload-store.ts';
import { isGone } from '../../history/execution-chain.ts';
import { RunChain } from '../read/chain.ts';
import { withoutMemos } from '../../temporal/without-memos.ts';

/** The stores that hold parts of a run beside the server. */
export interface RunStores {
  /** The store of results that were too large for the conversation. */
  payloadStore?: PayloadStore | undefined;
  archive?: ArchiveSink | undefined;
}

/** The result of a deletion: `not_found` if the server had nothing of the run. */
export type DeleteOutcome = 'deleted' | 'not_found';

/**
 * Removes the spilled results of a run, its archive, and all its executions, which the server then removes in the
 * background, within a minute or so. Deleting again is no error, and finishes a deletion that was interrupted: the newest
 * execution, which leads to the others, goes last. Throws `run_open` for a run that goes on.
 */
export async function deleteRun(client: Client, runId: string, { payloadStore, archive }: RunStores): Promise<DeleteOutcome> {
  const { namespace } = client.options;
  const executionIds = await endedExecutions(client, runId);
  await payloadStore?.deleteRun({ namespace, runId });
  await archive?.deleteRun({ namespace, runId });
  for (const executionId of executionIds) await deleteExecution(client, runId, executionId);
  return executionIds.length === 0 ? 'not_found' : 'deleted';
}

/** Returns the ids of the executions, the oldest first. */
async function endedExecutions(client: Client, runId: string): Promise<string[]> {
  const chain = new RunChain(client, runId);
  try {
    const newest = await chain.newest();
    if (!newest.closed) {
      throw new LonghaulError('run_open', `Run "${runId}" is still going on: cancel it first, and delete it when it has ended`);
    }
    const known = (await chain.executions()).map(({ executionId }) => executionId);
    const listed = await listedExecutions(client, runId);
    return [...new Set([...listed.filter((one) => !known.includes(one)), ...known, newest.executionId])];
  } catch (error) {
    if (errorCode(error) === 'run_not_found') return [];
    throw error;
  }
}

/** Lists all executions, including those that no other leads to, such as those that a reset ended. */
async function listedExecutions(client: Client, runId: string): Promise<string[]> {
  const executionIds: string[] = [];
  const query = `WorkflowId = '${runId.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
  for await (const info of withoutMemos(client).workflow.list({ query })) executionIds.push(info.runId);
  return executionIds;
}

async function deleteExecution(client: Client, workflowId: string, runId: string): Promise<void> {
  try {
    const { namespace } = client.options;
    await client.workflowService.deleteWorkflowExecution({ namespace, workflowExecution: { workflowId, runId } });
  } catch (error) {
    if (!isGone(error)) throw error;
  }
}
