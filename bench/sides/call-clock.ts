/** The parts of an activity's context that the clock needs, which are the same in every version of the SDK. */
interface CallContext {
  info: { workflowExecution?: { workflowId: string }; activityType: string; attempt: number };
}

/** An activity interceptor, as every version of the SDK has it. */
type CallInterceptor = (context: CallContext) => {
  inbound: { execute<Input, Output>(input: Input, next: (input: Input) => Promise<Output>): Promise<Output> };
};

/**
 * Records the start time of each call of a run, and counts the retried calls. A call is an activity, and it starts when the worker passes
 * it to its function: the same for all compared sides.
 */
export class CallClock {
  /** Number of further attempts in all runs. If there are any, the figures contain their waits. */
  retries = 0;
  readonly #starts = new Map<string, number[]>();
  readonly #calls: ReadonlySet<string>;

  /** `calls` are the activity types that are model or tool calls. */
  constructor(calls: Iterable<string>) {
    this.#calls = new Set(calls);
  }

  /** Must be registered with every worker that is measured. */
  readonly interceptor: CallInterceptor = ({ info }) => ({
    inbound: {
      execute: (input, next) => {
        const runId = info.workflowExecution?.workflowId;
        if (runId !== undefined && this.#calls.has(info.activityType)) this.#note(runId, info.attempt);
        return next(input);
      },
    },
  });

  /** Returns the start times of the run's calls in milliseconds, and deletes them. */
  take(runId: string): number[] {
    const starts = this.#starts.get(runId) ?? [];
    this.#starts.delete(runId);
    return starts;
  }

  #note(runId: string, attempt: number): void {
    const starts = this.#starts.get(runId);
    if (attempt > 1) this.retries += 1;
    else if (starts === undefined) this.#starts.set(runId, [performance.now()]);
    else starts.push(performance.now());
  }
}
