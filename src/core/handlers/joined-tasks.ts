/** The number of history events up to the start of the first workflow task of an execution. */
const FIRST_TASK_LENGTH = 3;

/** The facts about an activation that reveal its workflow tasks. */
export interface ActivationContents {
  isReplaying: boolean;
  /** The number of history events that the worker has applied. */
  historyLength: number;
  hasUpdate: boolean;
  /** True if it starts the execution. */
  hasStart: boolean;
  /** True if it contains any job other than Updates, including the start. */
  hasOthers: boolean;
}

/**
 * Detects, for one cached copy of an execution, whether its newest activation may join two workflow tasks that a replay separates, or vice
 * versa. Then the run must not accept an Update.
 *
 * A worker that loads an execution joins a workflow task without commands with a following one that was caused by an Update, because it
 * treats the first as a heartbeat of local activities. Once the Update is accepted, a replay separates the two. The first task's jobs are
 * then handled before the Update, although they were originally handled after it.
 */
export class JoinedTasks {
  /** True until a new or replayed copy has had its first activation outside of a replay. */
  #isFresh = true;
  /** The number of local calls in progress. */
  #localCalls = 0;
  #refusesUpdates = false;

  /** Records an activation that is not a query. */
  activated({ isReplaying, historyLength, hasUpdate, hasStart, hasOthers }: ActivationContents, localCallsEnded: number): void {
    const isFirstTask = hasStart && historyLength <= FIRST_TASK_LENGTH;
    const mayJoin = this.#isFresh && hasOthers && !isFirstTask;
    // A workflow task lasts as long as its local calls: an Update then only arrives with a task after a heartbeat.
    this.#refusesUpdates = !isReplaying && hasUpdate && (mayJoin || this.#localCalls > 0);
    this.#isFresh = isReplaying;
    this.#localCalls -= localCallsEnded;
  }

  /** Records the end of an activation that is not a query, with the number of local calls that it starts. */
  concluded(localCallsBegun: number): void {
    this.#localCalls += localCallsBegun;
  }

  /** True if callers must send the Updates of this activation again. Their refusal leaves no event. */
  get refusesUpdates(): boolean {
    return this.#refusesUpdates;
  }
}
