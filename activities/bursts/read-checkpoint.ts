import { activityInfo, getClient } from '@temporalio/activity';
import { decodeArrayFromPayloads } from '@temporalio/common/lib/internal-non-workflow/index.js';
import type { ReadCheckpointInput } from '../../src/core/activity-requests/contracts.ts';
import { type Checkpoint, checkpointIn } from '../../src/core/bursts/stored-burst.ts';
import { defined } from '../../src/core/domain/defined.ts';
import { ACTIVITIES } from '../../src/core/protocol.ts';
import { failingAs } from '../attempts/failure.ts';
import { contextOf } from './checkpoints.ts';

/** The server's state of an activity of which no worker makes an attempt now: `PENDING_ACTIVITY_STATE_SCHEDULED`. */
const WAITS = 1;

/**
 * Returns what the server has stored of a burst between two of its attempts; null if a worker is at it, which returns all of it, or if nothing
 * is stored. It asks the server and not the run, whose workflow task waits for the answer.
 */
export const readCheckpoint: (input: ReadCheckpointInput) => Promise<Checkpoint | null> = failingAs(
  'server_unreachable',
  async ({ seed }) => {
    const { workflowService, options } = getClient();
    const { workflowExecution: execution = null, namespace } = activityInfo();
    const { pendingActivities } = await workflowService.describeWorkflowExecution({ namespace, execution });
    for (const { activityType, state, activityId, heartbeatDetails } of pendingActivities ?? []) {
      if (activityType?.name !== ACTIVITIES.runBurst || state !== WAITS) continue;
      const context = contextOf({ namespace, activityId: activityId ?? '', ...defined({ workflowId: execution?.workflowId }) });
      const [details] = await decodeArrayFromPayloads(options.loadedDataConverter, heartbeatDetails?.payloads, context);
      const stored = checkpointIn(details);
      if (stored?.seed === seed) return stored;
    }
    return null;
  },
);
