/**
 * Milliseconds after a replay during which the newest events may have come with a query instead of a workflow task. Such a query arrives at
 * once, while the end of a workflow task takes a call to the server. The time is longer than a busy worker stalls.
 */
const DOUBT_MS = 1_000;

/** The position of an activation in the history of its execution. */
export interface ActivationPosition {
  isReplaying: boolean;
  /** The number of history events that the worker has applied. */
  historyLength: number;
  /** The start time of the newest workflow task. Events without a workflow task leave it unchanged. */
  taskTime: string;
  /**
   * True if it contains a job that only a history event can cause: not the end of a local call, or of a call that the workflow itself gave
   * up.
   */
  hasNews: boolean;
}

/** The newest events handled outside of a replay, while it is unknown whether they came with a workflow task. */
interface Doubt {
  /** True if they certainly came without a workflow task. */
  certain: boolean;
  /** Milliseconds since the epoch. */
  since: number;
  /** The activities that they scheduled. A query from one of them proves that the server has the commands. */
  activityIds: Set<string>;
}

/**
 * Infers, for one cached copy of an execution, whether its newest events came with a workflow task or with the replay for a query, because
 * the worker does not say. After a replay for a query, the run must not act on them: no later replay could repeat it.
 */
export class TaskDoubt {
  readonly #now: () => number;
  #doubt: Doubt | undefined;
  #last: ActivationPosition | undefined;
  /** True once this copy has been replayed, until it gets a new event. */
  #isReplayed = false;
  #isEnding = false;

  /** `now`: the worker's clock, in milliseconds since the epoch. */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** Records an activation that is not a query. */
  activated(position: ActivationPosition): void {
    const last = this.#last;
    this.#last = position;
    if (position.isReplaying) {
      this.#isReplayed = true;
      return;
    }
    const certain = position.taskTime === last?.taskTime;
    // A workflow task may come in several activations. The length alone does not show it: after a task whose only Update was
    // refused, the next two events lead to the same length again.
    if (certain && position.historyLength === last?.historyLength && !position.hasNews) return;
    this.#doubt = certain || this.#isReplayed ? { certain, since: this.#now(), activityIds: new Set() } : undefined;
    this.#isReplayed = false;
  }

  /** Records the end of an activation that is not a query, with the activities that it schedules, and whether it ends the execution. */
  concluded(activityIds: Iterable<string>, { ends = false }: { ends?: boolean } = {}): void {
    this.#isEnding ||= ends && this.#last?.isReplaying !== true;
    if (this.#doubt === undefined) return;
    this.#doubt.since = this.#now();
    for (const id of activityIds) this.#doubt.activityIds.add(id);
  }

  /**
   * True if the workflow has ended in a way that the server may refuse: if an event has arrived meanwhile, the workflow task is repeated
   * with that event. Once the server has recorded the end, the worker forgets this copy.
   */
  get isEnding(): boolean {
    return this.#isEnding;
  }

  /** True if a query that came without a workflow task must be refused. `activityId`: the activity that sent it. */
  refuses(activityId: string | undefined): boolean {
    if (this.#doubt === undefined) return false;
    const { certain, since, activityIds } = this.#doubt;
    if (certain) return true;
    return this.#now() - since < DOUBT_MS && (activityId === undefined || !activityIds.has(activityId));
  }

  /** Records that a query was answered: the server has recorded everything handled so far. */
  answered(): void {
    this.#doubt = undefined;
    this.#isReplayed = false;
  }
}

/** A text that only a workflow bundle with this guard contains. */
export const BUNDLE_MARK = 'longhaul query guard: no query advances a run';
