import { activityInfo, getClient, log } from '@temporalio/activity';
import { decodeArrayFromPayloads, extstoreInboundOptions } from '@temporalio/common/lib/internal-non-workflow/index.js';
import type { ReadCheckpointInput } from '../../src/core/activity-requests/contracts.ts';
import { type Checkpoint, checkpointIn } from '../../src/core/bursts/burst.ts';
import { errorMessage } from '../../src/core/domain/errors.ts';
import { defined } from '../../src/core/domain/json.ts';
import { ACTIVITIES } from '../../src/core/protocol.ts';
import { failingAs } from '../attempts/failure.ts';
import { contextOf } from './checkpoints.ts';

/**
 * The server's states of an activity of which no worker makes an attempt now: `PENDING_ACTIVITY_STATE_SCHEDULED`, and
 * `PENDING_ACTIVITY_STATE_PAUSED`, in which an operator has paused it.
 */
const WAITS: readonly unknown[] = [1, 4];

/** Attempts to ask the server. */
const ATTEMPTS = 2;

/** Milliseconds of one of them: both end before the run no longer waits. */
const ATTEMPT_MS = 900;

/**
 * Returns what the server has stored of a burst between two of its attempts; null if a worker is at it, which returns all of it, or if nothing
 * is stored. It asks the server and not the run, whose workflow task waits for the answer.
 */
export const readCheckpoint: (input: ReadCheckpointInput) => Promise<Checkpoint | null> = failingAs(
  'server_unreachable',
  async ({ seed }) => {
    for (const activity of await waitingBursts()) {
      const stored = await checkpointOf(activity);
      if (stored?.seed === seed) return stored;
    }
    return null;
  },
);

type Description = Awaited<ReturnType<ReturnType<typeof getClient>['workflowService']['describeWorkflowExecution']>>;
type PendingActivity = NonNullable<Description['pendingActivities']>[number];

/** Returns the bursts of this execution of which no worker makes an attempt. */
async function waitingBursts(): Promise<PendingActivity[]> {
  const client = getClient();
  const { workflowExecution: execution = null, namespace } = activityInfo();
  for (let attempt = 1; ; attempt += 1) {
    try {
      const { pendingActivities } = await client.withDeadline(Date.now() + ATTEMPT_MS, () =>
        client.workflowService.describeWorkflowExecution({ namespace, execution }),
      );
      return (pendingActivities ?? []).filter(
        ({ activityType, state }) => activityType?.name === ACTIVITIES.runBurst && WAITS.includes(state),
      );
    } catch (error) {
      if (attempt < ATTEMPTS) continue;
      log.warn(`What the server has stored of a burst was not looked up, and its calls may be made again: ${errorMessage(error)}`);
      throw error;
    }
  }
}

/** Returns what is stored of a burst; undefined if it cannot be decoded, which says nothing about other bursts. */
async function checkpointOf({ activityId, heartbeatDetails }: PendingActivity): Promise<Checkpoint | undefined> {
  const { loadedDataConverter } = getClient().options;
  const { workflowExecution, namespace } = activityInfo();
  const context = contextOf({ namespace, activityId: activityId ?? '', ...defined({ workflowId: workflowExecution?.workflowId }) });
  try {
    const { transformPayloads } = extstoreInboundOptions(loadedDataConverter.externalStorage);
    const payloads = await transformPayloads(heartbeatDetails?.payloads ?? []);
    const [details] = await decodeArrayFromPayloads(loadedDataConverter, payloads, context);
    return checkpointIn(details);
  } catch (error) {
    log.warn(`What the server has stored of a burst cannot be read, and its calls may be made again: ${errorMessage(error)}`);
    return undefined;
  }
}
