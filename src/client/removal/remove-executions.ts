import type { Client } from '@temporalio/client';
import { errorCode } from '../../core/domain/errors/error.ts';
import { isGone } from '../../history/execution-chain.ts';
import { withoutMemos } from '../../temporal/without-memos.ts';
import { quoted } from '../listing/quoted.ts';
import { RunChain } from '../read/chain.ts';

/**
 * Has the server remove all executions of a run that has ended, which it does in the background, within a minute or so. The newest one,
 * which leads to the others, goes last. Leaves out those that it was asked to remove before: each request is a task for the server.
 * Returns the ids of the others; none if the server has nothing of the run.
 */
export async function removeExecutions(client: Client, runId: string, asked: ReadonlySet<string> = new Set()): Promise<string[]> {
  const removed: string[] = [];
  for (const executionId of await executionsOf(client, runId)) {
    if (!asked.has(executionId) && (await removeExecution(client, runId, executionId))) removed.push(executionId);
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
    if (errorCode(error) !== 'run_not_found') throw error;
    // The newest one is removed, and others may not be.
    return listed;
  }
}

/** Lists all executions, including those that no other leads to, such as those that a reset ended. */
async function listedExecutions(client: Client, runId: string): Promise<string[]> {
  const executionIds: string[] = [];
  for await (const info of withoutMemos(client).workflow.list({ query: `WorkflowId = ${quoted(runId)}` })) executionIds.push(info.runId);
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
