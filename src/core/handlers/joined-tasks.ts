/** The number of history events up to the start of the first workflow task of an execution. */
const FIRST_TASK_LENGTH = 3;

/** The facts about an activation from which workflow tasks can be inferred. */
export interface ActivationContents {
  isReplaying: boolean;
  /** The number of history events that the worker has applied. */
  historyLength: number;
  hasUpdate: boolean;
  /** True if it starts the execution. */
  hasStart: boolean;
  /** True if it contains any job besides Updates, including the start. */
  hasOthers: boolean;
}

/**
 * Detects, for one cached copy of an execution, if its newest activation may join two workflow tasks that a replay separates, or
 * the other way round. Then the run must not accept an Update.
 *
 * A worker that loads an execution joins a workflow task that produced no command with a following one that an Update caused,
 * because it treats the first as a heartbeat of local activities. Once the Update is accepted, a replay separates the two. The jobs
 * of the first task are then handled before the Update, although they were handled after it at first.
 */
export class JoinedTasks {
  /** True until a new or replayed copy has had its first activation outside of a replay. */
  #isFresh = true;
  /** The number of local calls that have not ended. */
  #localCalls = 0;
  #refusesUpdates = false;

  /** Notes an activation that is not a query. */
  activated({ isReplaying, historyLength, hasUpdate, hasStart, hasOthers }: ActivationContents, localCallsEnded: number): void {
    const isFirstTask = hasStart && historyLength <= FIRST_TASK_LENGTH;
    const mayJoin = this.#isFresh && hasOthers && !isFirstTask;
    // A workflow task lasts as long as its local calls: an Update then comes only with a task that followed a heartbeat.
    this.#refusesUpdates = !isReplaying && hasUpdate && (mayJoin || this.#localCalls > 0);
    this.#isFresh = isReplaying;
    this.#localCalls -= localCallsEnded;
  }

  /** Notes the end of an activation that is not a query, with the number of local calls that it starts. */
  concluded(localCallsBegun: number): void {
    this.#localCalls += localCallsBegun;
  }

  /** True if the callers must send the Updates of this activation again. Their refusal leaves no event. */
  get refusesUpdates(): boolean {
    return this.#refusesUpdates;
  }
}
