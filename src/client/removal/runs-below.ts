import type { Client } from '@temporalio/client';
import { WorkflowNotFoundError } from '@temporalio/common';
import { withoutMemos } from '../../temporal/without-memos.ts';
import { quoted } from '../listing/quoted.ts';
import { IS_RUN } from '../listing/run-types.ts';

/** The place of a run in its tree, by the ids of runs. */
export interface TreePlace {
  parent?: string | undefined;
  /** The run at the top of the tree: the run itself, if it was started by a client. */
  root?: string | undefined;
}

/** Lists the runs below a run, the deepest first: also those that go on, and those whose parent the server has removed. */
export async function runsBelow(client: Client, runId: string): Promise<string[]> {
  const query = `${IS_RUN} AND WorkflowId STARTS_WITH ${quoted(`${runId}/`)}`;
  const places = new Map<string, TreePlace>();
  for await (const { workflowId, parentExecution, rootExecution } of withoutMemos(client).workflow.list({ query })) {
    places.set(workflowId, { parent: parentExecution?.workflowId ?? undefined, root: rootExecution?.workflowId ?? undefined });
  }
  return below(runId, places, places.size === 0 ? undefined : await rootOf(client, runId));
}

/**
 * Chooses the runs below a run from all whose ids begin with its own, the deepest first. A run is below if its parents lead to the run.
 * If the server has removed one of them, the ids and the tree decide. So another run whose id begins in
 * the same way is none of them. `root`: that of the run; undefined if the server has removed the run.
 */
export function below(runId: string, places: ReadonlyMap<string, TreePlace>, root?: string): string[] {
  const isBelow = (id: string): boolean => {
    const { parent, root: itsRoot } = places.get(id) ?? {};
    if (parent === undefined) return false;
    if (parent === runId) return true;
    // A parent has a shorter id, so this comes to an end.
    if (places.has(parent)) return parent.length < id.length && isBelow(parent);
    return parent.startsWith(`${runId}/`) && itsRoot !== undefined && [runId, root].includes(itsRoot);
  };
  return [...places.keys()].filter(isBelow).toSorted(deepestFirst);
}

/** Compares ids so that a run comes after the runs below it: their ids begin with its own. */
export function deepestFirst(one: string, other: string): number {
  return other.length - one.length;
}

async function rootOf(client: Client, runId: string): Promise<string | undefined> {
  try {
    const { rootExecution } = await withoutMemos(client).workflow.getHandle(runId).describe();
    return rootExecution?.workflowId ?? undefined;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return undefined;
    throw error;
  }
}
