import type { Client } from '@temporalio/client';
import type { RunResultFields } from '../core/domain/run/result.ts';
import { readExecution } from './read-run.ts';

/** Returns the result of a run as it returned it, with an output of any size. Undefined if the server has removed its history. */
export async function recordedResult(client: Client, runId: string): Promise<RunResultFields | undefined> {
  const { runId: executionId } = await client.workflow.getHandle(runId).describe();
  return (await readExecution(client, runId, executionId))?.run.result;
}
