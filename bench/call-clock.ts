/** What the clock needs of an activity's context: the little that every version of the SDK agrees on. */
interface CallContext {
  info: { workflowExecution?: { workflowId: string }; activityType: string; attempt: number };
}

/** An activity interceptor, likewise. */
type CallInterceptor = (context: CallContext) => {
  inbound: { execute<Input, Output>(input: Input, next: (input: Input) => Promise<Output>): Promise<Output> };
};

/**
 * Notes when each call of a run starts, and counts the calls that were tried again. A call is an activity, and the
 * note is taken where the worker hands it to its function: the same place for everything that is compared.
 */
export class CallClock {
  /** Further attempts, of all runs. Where there are some, the figures contain their waits. */
  retries = 0;
  readonly #starts = new Map<string, number[]>();
  readonly #calls: ReadonlySet<string>;

  /** `calls` are the activity types that are model or tool calls. */
  constructor(calls: Iterable<string>) {
    this.#calls = new Set(calls);
  }

  /** To be registered with every worker that is measured. */
  readonly interceptor: CallInterceptor = ({ info }) => ({
    inbound: {
      execute: (input, next) => {
        const runId = info.workflowExecution?.workflowId;
        if (runId !== undefined && this.#calls.has(info.activityType)) this.#note(runId, info.attempt);
        return next(input);
      },
    },
  });

  /** The start times of the run's calls in milliseconds, which are then forgotten. */
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
