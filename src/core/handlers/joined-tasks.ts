/** Events up to the beginning of the first workflow task of an execution. */
const FIRST_TASK_LENGTH = 3;

/** What an activation brings, as far as it tells of workflow tasks. */
export interface Brought {
  isReplaying: boolean;
  /** Events that the worker has applied. */
  historyLength: number;
  hasUpdate: boolean;
  /** True if the execution begins with it. */
  hasStart: boolean;
  /** True if it brings anything besides Updates: the start, too. */
  hasOthers: boolean;
}

/**
 * Knows of one cached copy of an execution whether its newest activation may join two workflow tasks that a replay takes
 * apart, or the other way round: then no Update may be accepted.
 *
 * A worker that loads an execution takes a workflow task that led to no command, and the next one that an Update led to,
 * for one (it treats the first as a heartbeat of local activities). Once the Update is accepted, a replay takes them for
 * two. What comes with the first task is then handled before the Update, where it was handled after it.
 */
export class JoinedTasks {
  /** True until a copy that was made, or replayed, has had its first activation outside of a replay. */
  #isFresh = true;
  /** Local calls that have not ended. */
  #localCalls = 0;
  #refusesUpdates = false;

  /** Notes an activation that is no query. */
  activated({ isReplaying, historyLength, hasUpdate, hasStart, hasOthers }: Brought, localCallsEnded: number): void {
    const isFirstTask = hasStart && historyLength <= FIRST_TASK_LENGTH;
    const mayJoin = this.#isFresh && hasOthers && !isFirstTask;
    // While a local call goes on, its workflow task lasts: an Update comes only with one that followed a heartbeat.
    this.#refusesUpdates = !isReplaying && hasUpdate && (mayJoin || this.#localCalls > 0);
    this.#isFresh = isReplaying;
    this.#localCalls -= localCallsEnded;
  }

  /** Notes the end of an activation that is no query, with the number of local calls that it begins. */
  concluded(localCallsBegun: number): void {
    this.#localCalls += localCallsBegun;
  }

  /** True if the Updates of this activation must be sent again. Their refusal leaves no event. */
  get refusesUpdates(): boolean {
    return this.#refusesUpdates;
  }
}
