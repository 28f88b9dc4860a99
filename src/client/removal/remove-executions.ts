import type { Client } from '@temporalio/client';
import { errorCode } from '../../core/domain/errors.ts';
import { isGone } from '../../history/history-events.ts';
import { withoutMemos } from '../../temporal/without-memos.ts';
import { quoted } from '../listing/quoted.ts';
import { RunChain } from '../read/chain.ts';
import { IS_RUN } from '../listing/run-types.ts';

/**
 * Has the server remove the executions of a run that has ended, which it does in the background, within a minute or so: all of them, or
 * those that are meant. The newest one, which leads to the others, goes last. Returns their ids; none if the server has nothing of the run.
 */
export async function removeExecutionsOf(
  client: Client,
  runId: string,
  isMeant: (executionId: string) => boolean | Promise<boolean> = () => true,
): Promise<string[]> {
  const removed: string[] = [];
  for (const executionId of await executionsOf(client, runId)) {
    if ((await isMeant(executionId)) && (await removeExecution(client, runId, executionId))) removed.push(executionId);
  }
  return removed;
}

/** Returns the ids of the executions, the oldest first. */
async function executionsOf(client: Client, runId: string): Promise<string[]> {
  const listed = await listedExecutions(client, runId);
  try {
    const chain = new RunChain(client, runId);
    const known = (await chain.executions()).map(({ executionId }) => executionId);
    const { executionId: newest } = await chain.newest();
    return [...new Set([...listed.filter((one) => one !== newest && !known.includes(one)), ...known, newest])];
  } catch (error) {
    const code = errorCode(error);
    if (code !== 'run_not_found' && code !== 'not_a_run') throw error;
    // The newest one is removed, or is a workflow of the user's own that has taken the id, and others may not be.
    return listed;
  }
}

/** Lists all executions, including those that no other leads to, such as those that a reset ended. */
async function listedExecutions(client: Client, runId: string): Promise<string[]> {
  const query = `WorkflowId = ${quoted(runId)} AND ${IS_RUN}`;
  const executionIds: string[] = [];
  for await (const info of withoutMemos(client).workflow.list({ query })) executionIds.push(info.runId);
  return executionIds;
}

/** Returns false if the server does not have the execution. */
async function removeExecution(client: Client, workflowId: string, runId: string): Promise<boolean> {
  try {
    const { namespace } = client.options;
    await client.workflowService.deleteWorkflowExecution({ namespace, workflowExecution: { workflowId, runId } });
    return true;
  } catch (error) {
    if (isGone(error)) return false;
    throw error;
  }
}
