import type { Client } from '@temporalio/client';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { executionChain } from '../../history/execution-chain.ts';
import { executionHistory, historyJson } from '../../history/execution-history.ts';
import { listExecutions, type ListFilter } from '../../client/listing/list-runs.ts';
import type { ReplayedExecution, ReplayedRun } from './replayed-run.ts';

/** Which runs to replay, and where to keep their histories, if anywhere. */
export interface ServerRuns extends ListFilter {
  workflowType?: string;
  /** A folder. */
  save?: string;
}

/** The newest runs of a namespace that a filter finds, each with all its executions. */
export async function* runsOnServer(client: Client, runs: ServerRuns): AsyncGenerator<ReplayedRun> {
  if (runs.save !== undefined) await mkdir(runs.save, { recursive: true });
  for await (const { workflowId, runId } of listExecutions(client, runs)) {
    const { executionIds, complete } = await executionChain(client, workflowId, runId);
    yield { runId: workflowId, complete, executions: executionIds.map((id) => execution(client, workflowId, id, runs.save)) };
  }
}

function execution(client: Client, workflowId: string, executionId: string, save: string | undefined): ReplayedExecution {
  return {
    executionId,
    load: async () => {
      const history = await executionHistory(client, workflowId, executionId);
      if (save !== undefined) await writeFile(join(save, fileName(workflowId, executionId)), `${historyJson(history)}\n`);
      return history;
    },
  };
}

/** Ids of workflows are texts of any kind; names of files are not. */
function fileName(workflowId: string, executionId: string): string {
  return `${workflowId.replace(/[^\w.-]+/g, '_').slice(0, 150)}.${executionId}.json`;
}
