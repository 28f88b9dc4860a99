import { activityInfo, getClient } from '@temporalio/activity';
import { requestCancel } from '../../src/temporal/request-cancel.ts';
import type { RequestCancelInput } from '../../src/core/protocol.ts';
import { failingAs } from '../failures/failure.ts';

/**
 * Asks the server to cancel the workflow that this activity belongs to: only then can a workflow close as Canceled. The
 * request does not name an execution, because a run that has continued as new is the same run. A refusal of the server
 * is retried.
 */
export const requestRunCancel: (input: RequestCancelInput) => Promise<void> = failingAs('server_unreachable', async ({ reason }) => {
  await requestCancel(getClient(), activityInfo().workflowExecution?.workflowId ?? '', reason);
});
