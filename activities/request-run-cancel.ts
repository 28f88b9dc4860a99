import { activityInfo, getClient } from '@temporalio/activity';
import { requestCancel } from '../src/client/request-cancel.ts';
import type { RequestCancelInput } from '../src/protocol.ts';
import { failingAs } from './failure.ts';

/**
 * Asks the server to cancel the workflow that this activity belongs to: a workflow may close as Canceled only then. Not
 * bound to the execution, because a run that has gone on in the next is the same run. What the server refuses is tried again.
 */
export const requestRunCancel: (input: RequestCancelInput) => Promise<void> = failingAs('server_unreachable', async ({ reason }) => {
  await requestCancel(getClient(), activityInfo().workflowExecution?.workflowId ?? '', reason);
});
