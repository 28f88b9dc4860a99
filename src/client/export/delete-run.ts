import type { Client } from '@temporalio/client';
import type { ArchiveSink } from '../../archive/archive-sink.ts';
import { errorCode, LonghaulError } from '../../core/domain/errors/error.ts';
import type { PayloadStore } from '../../payload-store/payload-store.ts';
import { isGone } from '../../history/execution-chain.ts';
import { RunChain } from '../read/run-chain.ts';
import { withoutMemos } from '../../temporal/without-memos.ts';

/** What else has parts of a run. */
export interface RunStores {
  /** Where tools spilled results to. */
  payloadStore?: PayloadStore | undefined;
  archive?: ArchiveSink | undefined;
}

/** What became of a run that was to be deleted: `not_found` where the server had nothing of it. */
export type DeleteOutcome = 'deleted' | 'not_found';

/**
 * Removes what was spilled for a run, what is archived of it, and all its executions, which the server then removes in
 * the background, within a minute or so. Deleting again is no error, and finishes what was interrupted: the newest
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

/** The oldest first. */
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

/** Executions that no other leads to, such as those that a reset ended. */
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
