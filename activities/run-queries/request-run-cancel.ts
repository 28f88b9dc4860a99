import { activityInfo, getClient } from '@temporalio/activity';
import { requestCancel } from '../../src/temporal/request-cancel.ts';
import type { RequestCancelInput } from '../../src/core/protocol.ts';
import { failingAs } from '../failures/failure.ts';

/**
 * Asks the server to cancel the workflow that this activity belongs to: a workflow may close as Canceled only then. Not
 * bound to the execution, because a run that has gone on in the next is the same run. What the server refuses is tried again.
 */
export const requestRunCancel: (input: RequestCancelInput) => Promise<void> = failingAs('server_unreachable', async ({ reason }) => {
  await requestCancel(getClient(), activityInfo().workflowExecution?.workflowId ?? '', reason);
});
