import { setTimeout as sleep } from 'node:timers/promises';
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

/** The time in which a heartbeat of the SDK has reached the server, in milliseconds. */
const SDK_HEARTBEAT_MS = 300;

/** The activity that the details belong to: a converter of the user may depend on it. */
type OfActivity = Omit<ActivitySerializationContext, 'type' | 'isLocal'>;

/** Returns the context in which the details of a burst are encoded and decoded. */
function contextOf(activity: OfActivity): ActivitySerializationContext {
  return { type: 'activity', ...activity, isLocal: false };
}

/** Attempts at the request of a checkpoint. After them, nothing more may depend on what it would have stored. */
const ATTEMPTS = 2;

/** The time limit of such a request, in milliseconds. */
const REQUEST_MS = 5_000;

/** What is done once it is known whether the server has stored the details of a request. */
export interface Acknowledgement {
  stored(): void;
  failed(): void;
}

interface CheckpointOptions {
  /** Milliseconds between two heartbeats that store nothing new. */
  everyMs: number;
  /** What the server stores. */
  details: () => object;
  /** Called directly before the details of a request are read: what is taken here is stored if they are. */
  storing: () => Acknowledgement;
  /** Called when the server says that the run has cancelled the activity. */
  onCancel: () => void;
}

/**
 * The checkpoints of a burst: heartbeats whose acknowledgement is waited for. They are requests of their own, because the SDK delays its
 * heartbeats and says nothing about their fate. The SDK has a time-out of its own for those that it sends, after which it discards the result
 * of the activity: so it sends some, too, with the newest details.
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
  /** The request on its way: one at a time, so that the server has the newest details at last. */
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

  /** True once a heartbeat was due: a worker that is lost from now on would be noticed late. */
  get isLong(): boolean {
    return performance.now() - this.#begun > this.#everyMs;
  }

  /** Notes that there is more than the server has. */
  changed(): void {
    this.#isDirty = true;
  }

  /** Resolves once the server has stored everything so far; undefined if it has. Rejects if it does not store it. */
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
    // A heartbeat of the SDK that is on its way must not replace this one.
    const sinceMs = performance.now() - this.#sdkSentAt;
    if (sinceMs < SDK_HEARTBEAT_MS) await sleep(SDK_HEARTBEAT_MS - sinceMs);
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
      // It says that the burst is alive, and learns if it is to end.
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
 * The server's states of an activity of which no worker makes an attempt now: `PENDING_ACTIVITY_STATE_SCHEDULED`, and
 * `PENDING_ACTIVITY_STATE_PAUSED`, in which an operator has paused it.
 */
const WAITS: readonly unknown[] = [1, 4];

/** Attempts to ask the server. */
const READ_ATTEMPTS = 2;

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
      if (attempt < READ_ATTEMPTS) continue;
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
