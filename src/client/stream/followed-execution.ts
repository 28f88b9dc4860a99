/** The executions of a run that the server has. */
export interface KnownExecutions {
  ids: readonly string[];
  /** True if the first one of the run is among them: the server removes the oldest ones first. */
  isComplete: boolean;
}

/** Thrown inside a feed whose run has been sent back to an earlier step: its readers begin again from their places. */
export class SentBack extends Error {
  override readonly name = 'SentBack';
}

/** The sources of the executions of a run. */
interface ExecutionSources {
  newest(): Promise<{ executionId: string }>;
  executions(): Promise<KnownExecutions>;
}

/** The execution of a run that a feed reads. */
export class FollowedExecution {
  readonly #sources: ExecutionSources;
  readonly #left = new Set<string>();
  #id: string | undefined;

  constructor(sources: ExecutionSources) {
    this.#sources = sources;
  }

  /** The Temporal run id of the execution. Undefined before the feed has begun. */
  get id(): string | undefined {
    return this.#id;
  }

  /** Begins with an execution. */
  begin(id: string): void {
    this.#id = id;
  }

  /** Goes on to the newest execution. Throws `SentBack` unless it continues the one before: `retry` has put it in its place. */
  async goOn(newest: string): Promise<void> {
    if (newest === this.#id) return;
    const before = this.#id;
    const { ids } = await this.#sources.executions();
    if (before !== undefined && !ids.includes(before)) throw new SentBack('The run was sent back');
    if (before !== undefined) this.#left.add(before);
    this.#id = newest;
  }

  /** True for the newest execution: no call goes on from one execution to the next. Throws as `goOn`. */
  async isNewest(id: string): Promise<boolean> {
    if (id !== this.#id && !this.#left.has(id)) {
      const { executionId } = await this.#sources.newest();
      await this.goOn(executionId);
      if (id !== this.#id) this.#left.add(id);
    }
    return id === this.#id;
  }
}
