import { setTimeout as sleep } from 'node:timers/promises';
import { activityInfo, Context, getClient } from '@temporalio/activity';
import type { ActivitySerializationContext, Payload } from '@temporalio/common';
import { encodeToPayloadsWithContext } from '@temporalio/common/lib/internal-non-workflow/index.js';
import { defined } from '../../src/core/domain/json.ts';
import { GRPC, grpcCode } from '../../src/temporal/server-calls.ts';

/** The time in which a heartbeat of the SDK has reached the server, in milliseconds. */
const SDK_HEARTBEAT_MS = 300;

/** The activity that the details belong to: a converter of the user may depend on it. */
type OfActivity = Omit<ActivitySerializationContext, 'type' | 'isLocal'>;

/** Returns the context in which the details of a burst are encoded and decoded. */
export function contextOf(activity: OfActivity): ActivitySerializationContext {
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
