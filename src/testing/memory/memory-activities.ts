import type { ActivityRequest } from '../../core/activity-requests/activity-request.ts';
import type { ScheduleActivity } from '../../core/activity-requests/activity-ports.ts';
import { type ActivitySurroundings, ScheduledActivity } from './scheduled-activity.ts';

/** How long calls that nobody waits for any more may take to end, in real milliseconds. */
const GRACE_MS = 500;

/** What a run in memory has of Temporal: performs its activities, and can give them up. */
export class MemoryActivities {
  readonly #around: ActivitySurroundings;
  readonly #running = new Set<ScheduledActivity<unknown, unknown>>();
  readonly #attempts = new Set<Promise<unknown>>();
  #count = 0;
  #isCancelled = false;

  constructor(around: ActivitySurroundings) {
    this.#around = around;
  }

  /** Performs an activity, and gives what its end means. */
  readonly perform: ScheduleActivity = (call) => this.begin(call).ended;

  /** The same for an activity that no cancellation of the run keeps from being performed. */
  readonly performAnyway: ScheduleActivity = (call) => this.#ended(this.#schedule(call), call);

  /** The same, with the way to give it up alone. */
  begin<Input, Output, Outcome>(call: ActivityRequest<Input, Output, Outcome>): { ended: Promise<Outcome>; cancel: () => void } {
    const activity = this.#schedule(call);
    // Whoever cancels a run starts nothing more.
    if (this.#isCancelled) activity.cancel();
    return { ended: this.#ended(activity, call), cancel: () => activity.cancel() };
  }

  /** The run is cancelled, and all that it has begun. */
  cancel(): void {
    this.#isCancelled = true;
    for (const activity of this.#running) activity.cancel();
  }

  /** The worker is gone that has begun what goes on. */
  workerDied(): void {
    for (const activity of this.#running) activity.workerDied();
  }

  /** Until nothing goes on, or a moment has passed: a tool that does not listen must not hold up the test. */
  async settled(): Promise<void> {
    const timeUp = Promise.withResolvers<void>();
    const timer = setTimeout(timeUp.resolve, GRACE_MS);
    await Promise.race([Promise.allSettled(this.#attempts), timeUp.promise]);
    clearTimeout(timer);
  }

  #schedule<Input, Output, Outcome>(call: ActivityRequest<Input, Output, Outcome>): ScheduledActivity<Input, Output> {
    return new ScheduledActivity<Input, Output>(String(++this.#count), call, this.#around);
  }

  async #ended<Input, Output, Outcome>(
    activity: ScheduledActivity<Input, Output>,
    { returned, failed }: ActivityRequest<Input, Output, Outcome>,
  ): Promise<Outcome> {
    // Its worker may die in the moment in which it begins.
    this.#running.add(activity);
    const { outcome, attempts } = activity.run();
    const ended = attempts.catch(() => undefined);
    this.#attempts.add(ended);
    void ended.then(() => this.#attempts.delete(ended));
    try {
      return await outcome.then(returned, failed);
    } finally {
      this.#running.delete(activity);
      this.#around.time.changed();
    }
  }
}
