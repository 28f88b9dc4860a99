import { activityInfo, Context, getClient, log } from '@temporalio/activity';
import type { ActivitySerializationContext, Payload } from '@temporalio/common';
import {
  decodeArrayFromPayloads,
  encodeToPayloadsWithContext,
  extstoreInboundOptions,
} from '@temporalio/common/lib/internal-non-workflow/index.js';
import type { ReadCheckpointInput } from '../../src/core/activity-requests/contracts.ts';
import { type Checkpoint, checkpointIn } from '../../src/core/bursts/burst.ts';
import { errorMessage } from '../../src/core/domain/errors.ts';
import { defined } from '../../src/core/domain/json.ts';
import { ACTIVITIES } from '../../src/core/protocol.ts';
import { GRPC, grpcCode } from '../../src/temporal/server-calls.ts';
import { failingAs } from '../attempts/failure.ts';
import { realSleep } from '../../src/temporal/real-timers.ts';

/** The time within which an SDK heartbeat has reached the server, in milliseconds. */
const SDK_HEARTBEAT_MS = 300;

/** The activity that the details belong to: a user's converter may depend on it. */
type OfActivity = Omit<ActivitySerializationContext, 'type' | 'isLocal'>;

/** Returns the context for encoding and decoding a burst's details. */
function contextOf(activity: OfActivity): ActivitySerializationContext {
  return { type: 'activity', ...activity, isLocal: false };
}

/** The attempts at a checkpoint's request. After them, nothing more may depend on the unstored outcomes. */
const ATTEMPTS = 2;

/** The time limit of such a request, in milliseconds. */
const REQUEST_MS = 5_000;

/** Callbacks for whether the server has stored the details of a request. */
export interface Acknowledgement {
  stored(): void;
  failed(): void;
}

interface CheckpointOptions {
  /** Milliseconds between two heartbeats that store nothing new. */
  everyMs: number;
  /** Returns the details that the server stores. */
  details: () => object;
  /** Called directly before the details of a request are read: reports taken here are stored with them. */
  storing: () => Acknowledgement;
  /** Called when the server says that the run has cancelled the activity. */
  onCancel: () => void;
}

/**
 * The checkpoints of a burst: heartbeats whose acknowledgement is waited for. They are separate requests, because the SDK delays its
 * heartbeats and does not report their outcome. The SDK also has its own timeout for heartbeats, after which it discards the activity's
 * result, so some are also sent through it, with the newest details.
 */
export class Checkpoints {
  readonly #info = activityInfo();
  readonly #context = Context.current();
  readonly #client = getClient();
  readonly #details: () => object;
  readonly #take: () => Acknowledgement;
  readonly #onCancel: () => void;
  readonly #everyMs: number;
  readonly #timer: NodeJS.Timeout;
  readonly #begun = performance.now();
  #isDirty = false;
  #storing: Promise<void> | undefined;
  /** The request in flight: one at a time, so that the server ends up with the newest details. */
  #sending: Promise<void> | undefined;
  #sentAt = performance.now();
  #sdkSentAt = -Infinity;
  #ticks = 0;

  constructor({ everyMs, details, storing, onCancel }: CheckpointOptions) {
    this.#everyMs = everyMs;
    this.#details = details;
    this.#take = storing;
    this.#onCancel = onCancel;
    this.#timer = setInterval(() => this.#tick(), everyMs);
  }

  /** True once a heartbeat was due: from then on, a lost worker would be noticed late. */
  get isLong(): boolean {
    return performance.now() - this.#begun > this.#everyMs;
  }

  /** Marks that there are details that the server lacks. */
  changed(): void {
    this.#isDirty = true;
  }

  /** Resolves once the server has stored everything so far, and rejects if it does not; undefined if everything is stored already. */
  stored(): Promise<void> | undefined {
    if (!this.#isDirty) return this.#storing;
    this.#isDirty = false;
    const storing = this.#store().finally(() => {
      if (this.#storing === storing) this.#storing = undefined;
    });
    // Whoever waits for it sees the failure.
    storing.catch(() => undefined);
    return (this.#storing = storing);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  async #store(): Promise<void> {
    // An SDK heartbeat in flight must not replace this one.
    const sinceMs = performance.now() - this.#sdkSentAt;
    if (sinceMs < SDK_HEARTBEAT_MS) await realSleep(SDK_HEARTBEAT_MS - sinceMs);
    for (let attempt = 1; ; attempt += 1) {
      try {
        await this.#sending?.catch(() => undefined);
        return await this.#send();
      } catch (error) {
        if (grpcCode(error) === GRPC.notFound || attempt >= ATTEMPTS) throw error;
      }
    }
  }

  #tick(): void {
    this.#ticks += 1;
    if (this.#ticks % 2 === 0) {
      this.#sdkSentAt = performance.now();
      this.#context.heartbeat(this.#details());
    } else if (this.#sending === undefined && performance.now() - this.#sentAt >= this.#everyMs / 2) {
      // It reports that the burst is alive, and learns whether it must end.
      void this.#send().catch(() => undefined);
    }
  }

  #send(): Promise<void> {
    const sending = this.#request().finally(() => {
      if (this.#sending === sending) this.#sending = undefined;
    });
    return (this.#sending = sending);
  }

  async #request(): Promise<void> {
    const taken = this.#take();
    const details = this.#details();
    const isCancelled = await this.#heartbeat(details).catch((error: unknown) => {
      taken.failed();
      throw error;
    });
    taken.stored();
    if (isCancelled) this.#onCancel();
  }

  /** Sends a heartbeat. Returns true if the run has cancelled the activity. */
  async #heartbeat(details: object): Promise<boolean> {
    const { options, connection } = this.#client;
    const { taskToken, activityId, workflowExecution, namespace } = this.#info;
    const context = contextOf({ namespace, activityId, ...defined({ workflowId: workflowExecution?.workflowId }) });
    this.#sentAt = performance.now();
    const payloads: Payload[] | undefined = await encodeToPayloadsWithContext(options.loadedDataConverter, context, [details]);
    const { cancelRequested } = await this.#client.withDeadline(Date.now() + REQUEST_MS, () =>
      connection.workflowService.recordActivityTaskHeartbeat({
        namespace,
        taskToken,
        details: { payloads: payloads ?? null },
        identity: options.identity,
      }),
    );
    return cancelRequested;
  }
}

/**
 * The server's states of an activity without a running attempt: `PENDING_ACTIVITY_STATE_SCHEDULED`, and `PENDING_ACTIVITY_STATE_PAUSED`, if
 * an operator has paused it.
 */
const WAITS: readonly unknown[] = [1, 4];

/** Attempts to ask the server. */
const READ_ATTEMPTS = 2;

/** Milliseconds of one attempt: both end while the run still waits. */
const ATTEMPT_MS = 900;

/**
 * Returns the stored outcomes of a burst between two of its attempts; null if a worker is running an attempt, which will return all of
 * them, or if nothing is stored. It asks the server and not the run, whose workflow task waits for the answer.
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

/** Returns the bursts of this execution without a running attempt. */
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
      if (attempt < READ_ATTEMPTS) continue;
      log.warn(`The stored outcomes of a burst were not looked up, so its calls may be made again: ${errorMessage(error)}`);
      throw error;
    }
  }
}

/** Returns the stored outcomes of a burst; undefined if they cannot be decoded, which says nothing about other bursts. */
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
    log.warn(`The stored outcomes of a burst cannot be read, so its calls may be made again: ${errorMessage(error)}`);
    return undefined;
  }
}
