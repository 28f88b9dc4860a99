import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Client } from '@temporalio/client';
import { listExecutions, type ListFilter } from '../../client/list.ts';
import { executionChain, executionHistory, historyJson } from '../../history/history-events.ts';

/** The runs to replay, and the folder for their histories, if any. */
export interface ServerRuns extends ListFilter {
  workflowType?: string;
  /** The folder to save histories in. */
  save?: string;
}

/** Yields the newest runs of a namespace that match a filter, each with all its executions. */
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

/** Returns a file name for an execution: workflow ids may contain any character, file names may not. */
function fileName(workflowId: string, executionId: string): string {
  return `${workflowId.replace(/[^\w.-]+/g, '_').slice(0, 150)}.${executionId}.json`;
}

/** A run to replay, from files or a server. */
export interface ReplayedRun {
  runId: string;
  /** The file that it was read from. */
  file?: string;
  /** False if the server has removed earlier executions. */
  complete: boolean;
  /** The oldest first; loaded one at a time, because a history may be large. */
  executions: ReplayedExecution[];
}

/** One execution of such a run. */
export interface ReplayedExecution {
  /** Temporal's run id, if known. */
  executionId?: string;
  /** Loads its history: the server's, or the JSON of a file. */
  load(): Promise<unknown>;
}
