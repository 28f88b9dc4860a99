import type { ActivityRequest } from '../../core/activity-requests/activity-request.ts';
import type { ScheduleActivity } from '../../core/activity-requests/activity-request.ts';
import { type ActivityHost, ScheduledActivity } from './scheduled-activity.ts';

/** The time that abandoned calls may take to end, in real milliseconds. */
const GRACE_MS = 500;

/** Performs the activities of a run in memory, in place of Temporal, and can cancel them. */
export class MemoryActivities {
  readonly #host: ActivityHost;
  readonly #running = new Set<ScheduledActivity<unknown, unknown>>();
  readonly #attempts = new Set<Promise<unknown>>();
  #count = 0;
  #isCancelled = false;

  constructor(host: ActivityHost) {
    this.#host = host;
  }

  /** Performs an activity and returns its outcome. */
  readonly perform: ScheduleActivity = (call) => this.begin(call).ended;

  /** Does the same for an activity that the cancellation of the run does not affect. */
  readonly performAnyway: ScheduleActivity = (call) => this.#ended(this.#schedule(call), call);

  /** Does the same, and returns a function that cancels this activity alone. */
  begin<Input, Output, Outcome>(call: ActivityRequest<Input, Output, Outcome>): { ended: Promise<Outcome>; cancel: () => void } {
    const activity = this.#schedule(call);
    // A cancelled run starts nothing more.
    if (this.#isCancelled) activity.cancel();
    return { ended: this.#ended(activity, call), cancel: () => activity.cancel() };
  }

  /** Cancels the run and all running activities. */
  cancel(): void {
    this.#isCancelled = true;
    for (const activity of this.#running) activity.cancel();
  }

  /** Cancels all running activities of a turn. The session goes on. */
  interrupt(): void {
    for (const activity of this.#running) activity.cancel();
  }

  /** Ends all running activities, because their worker has died. */
  workerDied(): void {
    for (const activity of this.#running) activity.workerDied();
  }

  /**
   * Waits until nothing is running, for a short time at most: a tool that ignores its signal must not hold up the
   * test.
   */
  async settled(): Promise<void> {
    const timeUp = Promise.withResolvers<void>();
    const timer = setTimeout(timeUp.resolve, GRACE_MS);
    await Promise.race([Promise.allSettled(this.#attempts), timeUp.promise]);
    clearTimeout(timer);
  }

  #schedule<Input, Output, Outcome>(call: ActivityRequest<Input, Output, Outcome>): ScheduledActivity<Input, Output> {
    return new ScheduledActivity<Input, Output>(String(++this.#count), call, this.#host);
  }

  async #ended<Input, Output, Outcome>(
    activity: ScheduledActivity<Input, Output>,
    { returned, failed }: ActivityRequest<Input, Output, Outcome>,
  ): Promise<Outcome> {
    // Added before it starts, because its worker may die at that moment.
    this.#running.add(activity);
    const { outcome, attempts } = activity.run();
    const ended = attempts.catch(() => undefined);
    this.#attempts.add(ended);
    void ended.then(() => this.#attempts.delete(ended));
    try {
      return await outcome.then(returned, failed);
    } finally {
      this.#running.delete(activity);
      this.#host.time.changed();
    }
  }
}
