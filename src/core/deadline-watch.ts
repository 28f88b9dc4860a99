import { sessionOf } from './domain/sessions.ts';
import type { WaitDeadline } from './domain/time.ts';
import type { Inbox } from './kernel/inbox.ts';
import { fixedDeadline } from './kernel/limits.ts';
import type { RunState } from './kernel/run-state.ts';

/** The run that a watch belongs to, and what the watch needs of its environment. */
export interface WatchedRun {
  /** Returns the state, or undefined before the run has one. */
  state(): RunState | undefined;
  readonly inbox: Inbox;
  /** Milliseconds since the epoch. */
  now(): number;
  /** Waits until the condition holds, the run is cancelled, or the deadline passes. */
  until(isMet: () => boolean, deadline: WaitDeadline): Promise<void>;
  /** Gives up the calls in flight. */
  giveUp(): void;
}

/**
 * Gives up the calls of a run that are in flight at its deadline, with whatever they wait for: a retry, a permit, a batch, a worker. The
 * loop then reaches the limit itself. It starts a single timer in an execution, and none in a run without a deadline, in one that asks a
 * person at its limits, or between the turns of a session.
 */
export class DeadlineWatch {
  readonly #run: WatchedRun;
  #isWatching = false;

  constructor(run: WatchedRun) {
    this.#run = run;
  }

  /** Begins to watch. Returns false if there is no deadline to watch, or it has passed. */
  begin(): boolean {
    const at = this.at;
    if (at === Infinity || at <= this.#run.now()) return false;
    if (!this.#isWatching) void this.#watch();
    return true;
  }

  /** The time when the deadline passes, with raises that are not applied yet, in milliseconds since the epoch; Infinity without one. */
  get at(): number {
    const { inbox } = this.#run;
    const state = this.#run.state();
    if (state === undefined || inbox.closed) return Infinity;
    const session = sessionOf(state);
    if (session !== undefined && session.turn === undefined) return Infinity;
    const raised = inbox.raises.map(({ limits: { deadlineMs } }) => deadlineMs ?? 0);
    return Math.max(fixedDeadline(state), ...raised.map((ms) => state.startedAt + ms));
  }

  async #watch(): Promise<void> {
    this.#isWatching = true;
    for (let at = this.at; at < Infinity; at = this.at) {
      await this.#run.until(() => this.at !== at, { at, summary: 'deadline of the run' });
      if (this.#run.now() >= this.at) {
        this.#run.giveUp();
        break;
      }
      // The wait was cancelled, along with the calls.
      if (this.at === at) break;
    }
    this.#isWatching = false;
  }
}
