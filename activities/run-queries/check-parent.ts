import { getClient } from '@temporalio/activity';
import type { CheckParentInput, CheckParentOutput } from '../../src/core/protocol.ts';
import { failingAs } from '../failures/failure.ts';
import { hasEnded } from './has-ended.ts';

/** Reports if the parent of a run has ended. */
export const checkParent: (input: CheckParentInput) => Promise<CheckParentOutput> = failingAs(
  'server_unreachable',
  async ({ runId, firstRunId }) => ({ ended: await hasEnded(getClient(), runId, firstRunId) }),
);
