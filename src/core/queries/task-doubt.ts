/**
 * Milliseconds for which the first events after a replay are not trusted to have come with a workflow task: a query that
 * brought them is asked at once, while the end of a workflow task takes a call to the server. Longer than a busy worker stalls.
 */
const DOUBT_MS = 1_000;

/** Where an activation stands in the history of its execution. */
export interface ActivationPlace {
  isReplaying: boolean;
  /** Events that the worker has applied. */
  historyLength: number;
  /** When the newest workflow task began. Events that came without one leave it as it was. */
  taskTime: string;
  /** True if it brings something that only an event of the history can: not the end of a local call, nor of one that the workflow gave up itself. */
  hasNews: boolean;
}

/** The newest events that were handled outside of a replay, while it is unknown that a workflow task brought them. */
interface Doubt {
  /** True if no workflow task began with them. */
  certain: boolean;
  /** Milliseconds since the epoch. */
  since: number;
  /** The activities that they led to. One that asks proves that the server has the commands. */
  activityIds: Set<string>;
}

/**
 * Knows of one cached copy of an execution whether its newest events came with a workflow task, or with the replay for a
 * query: the worker does not say. In the second case nothing may follow, since no replay could repeat it.
 */
export class TaskDoubt {
  readonly #now: () => number;
  #doubt: Doubt | undefined;
  #last: ActivationPlace | undefined;
  /** True once this copy was replayed, until something new comes to it. */
  #isReplayed = false;

  /** `now`: the clock of the worker, in milliseconds since the epoch. */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** Notes an activation that is no query. */
  activated(place: ActivationPlace): void {
    const last = this.#last;
    this.#last = place;
    if (place.isReplaying) {
      this.#isReplayed = true;
      return;
    }
    const certain = place.taskTime === last?.taskTime;
    // A workflow task may come in several activations. The length alone does not tell: that of a task whose only Update was
    // refused is counted again, by the next two events.
    if (certain && place.historyLength === last?.historyLength && !place.hasNews) return;
    this.#doubt = certain || this.#isReplayed ? { certain, since: this.#now(), activityIds: new Set() } : undefined;
    this.#isReplayed = false;
  }

  /** Notes the end of an activation that is no query, with the activities that it schedules. */
  concluded(activityIds: Iterable<string>): void {
    if (this.#doubt === undefined) return;
    this.#doubt.since = this.#now();
    for (const id of activityIds) this.#doubt.activityIds.add(id);
  }

  /** True if a query that came without a workflow task must be refused; `activityId` is that of the activity that asks. */
  refuses(activityId: string | undefined): boolean {
    if (this.#doubt === undefined) return false;
    const { certain, since, activityIds } = this.#doubt;
    if (certain) return true;
    return this.#now() - since < DOUBT_MS && (activityId === undefined || !activityIds.has(activityId));
  }

  /** Notes that a query is answered: what was handled so far is the server's too. */
  answered(): void {
    this.#doubt = undefined;
    this.#isReplayed = false;
  }
}

/** A text that a workflow bundle has in it which asks this. */
export const BUNDLE_MARK = 'longhaul query guard: no query advances a run';
