import type {
  ActivityInterceptorsFactory,
  CustomSlotSupplier,
  SlotMarkUsedContext,
  SlotPermit,
  SlotReleaseContext,
  SlotReserveContext,
  WorkflowSlotInfo,
} from '@temporalio/worker';

/** Bounds of the admission of runs that the worker has to load, in tasks at a time and in milliseconds. */
const ADMISSION = {
  /** The limit that a crowd begins with: the worker knows nothing yet of what its tasks take. */
  first: 4,
  least: 1,
  /** More would not make a worker faster, whose CPU does one task after the other, and be too many once the tasks become longer. */
  most: 16,
  /** A task that takes no longer says that there is room for more. */
  shortMs: 1_000,
  /** A task that takes longer says that there are too many. The server gives a task to another worker after 10 seconds. */
  longMs: 2_000,
} as const;

/** A slot, from its reservation to its release. */
interface Slot extends SlotPermit {
  /** True if it is for the task of a run that another worker, or none, has in memory. */
  isLoading: boolean;
  use?: {
    sinceMs: number;
    /** The number of tasks in progress when this one began, with it. */
    among: number;
    /** The number of local calls that had begun, if none was running; undefined otherwise. */
    localCalls: number | undefined;
  };
}

/** A poller that waits for a slot. */
interface Waiting {
  isLoading: boolean;
  grant: (slot: Slot) => void;
}

/**
 * The slots of a worker for workflow tasks. The server counts the time of a task from the moment at which the worker takes it, and a worker
 * that takes 200 runs which it has to load cannot finish the last ones in time: another worker, or itself, would do them again. So it takes
 * few of them at first, and more while its tasks are short. Tasks of runs that it has in memory are never held back.
 */
export class WorkflowTaskSlots implements CustomSlotSupplier<WorkflowSlotInfo> {
  readonly type = 'custom';
  /** Counts local calls: a task that waits for one needs no CPU, so it takes no room. */
  readonly countLocalCalls: ActivityInterceptorsFactory;
  readonly #most: number;
  readonly #now: () => number;
  /** The slots that pollers and tasks have, and those of them that tasks have. */
  readonly #issued = { loading: 0, loaded: 0 };
  readonly #inUse = { loading: 0, loaded: 0 };
  readonly #waiting: Waiting[] = [];
  readonly #local = { running: 0, begun: 0 };
  #limit: number = ADMISSION.first;

  /** `most`: the slots of all tasks. */
  constructor(most: number, now: () => number = () => performance.now()) {
    this.#most = most;
    this.#now = now;
    this.countLocalCalls = ({ info }) =>
      info.isLocal
        ? {
            inbound: {
              execute: async (input, next) => {
                this.#local.running += 1;
                this.#local.begun += 1;
                this.#grantWaiting();
                try {
                  return await next(input);
                } finally {
                  this.#local.running -= 1;
                }
              },
            },
          }
        : {};
  }

  /** The number of tasks in progress up to which the worker takes runs that it has to load. */
  get limit(): number {
    return this.#limit;
  }

  reserveSlot({ isSticky }: SlotReserveContext, abortSignal: AbortSignal): Promise<Slot> {
    const isLoading = !isSticky;
    if (this.#hasRoom(isLoading)) return Promise.resolve(this.#issue(isLoading));
    return new Promise((resolve, reject) => {
      const waiting: Waiting = {
        isLoading,
        grant: (slot) => {
          abortSignal.removeEventListener('abort', abort);
          resolve(slot);
        },
      };
      const abort = (): void => {
        this.#waiting.splice(this.#waiting.indexOf(waiting), 1);
        reject(abortSignal.reason as Error);
      };
      this.#waiting.push(waiting);
      abortSignal.addEventListener('abort', abort, { once: true });
    });
  }

  tryReserveSlot({ isSticky }: SlotReserveContext): Slot | null {
    return this.#hasRoom(!isSticky) ? this.#issue(!isSticky) : null;
  }

  markSlotUsed({ permit }: SlotMarkUsedContext<WorkflowSlotInfo>): void {
    const slot = permit as Slot;
    const { loading, loaded } = this.#inUse;
    // The worker was idle: that many short tasks fitted before says nothing about those that come now.
    if (loading + loaded === 0) this.#limit = Math.min(this.#limit, ADMISSION.first);
    this.#inUse[kindOf(slot)] += 1;
    const { running, begun } = this.#local;
    slot.use = { sinceMs: this.#now(), among: loading + loaded + 1, localCalls: running === 0 ? begun : undefined };
  }

  releaseSlot({ permit }: SlotReleaseContext<WorkflowSlotInfo>): void {
    const slot = permit as Slot;
    this.#issued[kindOf(slot)] -= 1;
    if (slot.use !== undefined) {
      this.#inUse[kindOf(slot)] -= 1;
      // A task that waits for a local call says nothing about the worker.
      if (slot.use.localCalls === this.#local.begun) this.#learn(slot.isLoading, slot.use);
    }
    this.#grantWaiting();
  }

  #learn(isLoading: boolean, { sinceMs, among }: NonNullable<Slot['use']>): void {
    const tookMs = this.#now() - sinceMs;
    if (tookMs > ADMISSION.longMs) {
      const fitting = Math.floor((among * ADMISSION.longMs) / tookMs);
      this.#limit = Math.min(this.#limit, Math.max(ADMISSION.least, fitting));
    } else if (isLoading && tookMs <= ADMISSION.shortMs && among >= this.#limit / 2) {
      // A limit that was far from being reached has not been tried.
      this.#limit = Math.min(ADMISSION.most, this.#limit + 1);
    }
  }

  /** True if one more slot may be issued. Each kind has at least one: a worker without a poller of a kind would not see its tasks. */
  #hasRoom(isLoading: boolean): boolean {
    const { loading, loaded } = this.#issued;
    const [same, other] = isLoading ? [loading, loaded] : [loaded, loading];
    if (same === 0) return true;
    if (loading + loaded >= this.#most - (other === 0 ? 1 : 0)) return false;
    return !isLoading || loading + this.#inUse.loaded < this.#limit + this.#local.running;
  }

  #issue(isLoading: boolean): Slot {
    const slot = { isLoading };
    this.#issued[kindOf(slot)] += 1;
    return slot;
  }

  #grantWaiting(): void {
    for (let index = 0; index < this.#waiting.length;) {
      const { isLoading, grant } = this.#waiting[index] as Waiting;
      if (this.#hasRoom(isLoading)) {
        this.#waiting.splice(index, 1);
        grant(this.#issue(isLoading));
      } else index += 1;
    }
  }
}

function kindOf({ isLoading }: Slot): 'loading' | 'loaded' {
  return isLoading ? 'loading' : 'loaded';
}
