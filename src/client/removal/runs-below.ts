import type { Client } from '@temporalio/client';
import { AGENT_RUN, PROGRAM_RUN } from '../../core/protocol.ts';
import { withoutMemos } from '../../temporal/without-memos.ts';
import { quoted } from '../listing/quoted.ts';

/**
 * Lists the runs below a run, the deepest first: also those that go on, and those whose parent the server has removed. Another run whose
 * id begins in the same way is none of them.
 */
export async function runsBelow(client: Client, runId: string): Promise<string[]> {
  const types = [AGENT_RUN, PROGRAM_RUN].map(quoted).join(', ');
  const query = `WorkflowType IN (${types}) AND WorkflowId STARTS_WITH ${quoted(`${runId}/`)}`;
  const parents = new Map<string, string | undefined>();
  for await (const { workflowId, parentExecution } of withoutMemos(client).workflow.list({ query })) {
    parents.set(workflowId, parentExecution?.workflowId ?? undefined);
  }
  const isBelow = (id: string): boolean => {
    const parent = parents.get(id);
    // A parent has a shorter id, so this comes to an end.
    return parent === runId || (parent !== undefined && parent.length < id.length && isBelow(parent));
  };
  return [...parents.keys()].filter(isBelow).toSorted(deepestFirst);
}

/** Compares ids so that a run comes after the runs below it: their ids begin with its own. */
export function deepestFirst(one: string, other: string): number {
  return other.length - one.length;
}
