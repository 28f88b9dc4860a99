/** What a run waits for, as the server shows it. */
export const CAUSES = ['heartbeat', 'task', 'sticky', 'backoff', 'slots'] as const;

export type Cause = (typeof CAUSES)[number];

/** A pending activity of a run, as the server describes it. Times are in milliseconds. */
export interface PendingCall {
  isStarted: boolean;
  /** The identity of the worker that has taken it, or had taken it last. */
  identity: string;
  /** The earliest time that a worker may take it. */
  dueMs: number;
}

/** The pending workflow task of a run. */
export interface PendingTask {
  isStarted: boolean;
  startedMs: number;
  /** True if it waits in the queue of one worker. */
  isSticky: boolean;
}

/** An open run at one moment. */
export interface OpenRun {
  atMs: number;
  calls: readonly PendingCall[];
  task?: PendingTask;
}

/** The workers at one moment. */
export interface Workers {
  /** The identities of those that live. */
  living: ReadonlySet<string>;
  /** The time of the last kill. */
  killedMs: number;
}

/**
 * Returns what a run waits for: a task that a dead worker has taken (`heartbeat` of a call, `task` of the workflow), the queue of a dead
 * worker (`sticky`), the time of the next attempt (`backoff`), or a worker that takes what is due (`slots`). Undefined for a run that a
 * living worker works for, and for one that waits for nothing that a worker does.
 */
export function causeOf({ atMs, calls, task }: OpenRun, { living, killedMs }: Workers): Cause | undefined {
  if (task !== undefined) {
    if (task.isStarted) return task.startedMs <= killedMs ? 'task' : undefined;
    return task.isSticky ? 'sticky' : 'slots';
  }
  const causes = calls.map((call): Cause | undefined => {
    if (call.isStarted) return living.has(call.identity) ? undefined : 'heartbeat';
    return call.dueMs > atMs ? 'backoff' : 'slots';
  });
  // As long as a living worker does one of several calls, the run waits for nothing else.
  return causes.includes(undefined) ? undefined : CAUSES.find((cause) => causes.includes(cause));
}

/** A run that was open when the last worker was killed. Times are in milliseconds after that kill. */
export interface RecoveredRun {
  /** The time when its wait ended. */
  backMs: number;
  endedMs: number;
  /** The time that it waited for each cause. */
  waits: Partial<Record<Cause, number>>;
}

/** What every run waits for between two tasks, for milliseconds: only if two successive looks agree, a crash is the reason. */
const OFTEN_SEEN: ReadonlySet<Cause | undefined> = new Set<Cause>(['sticky', 'slots']);

/** Looks at one run, in the order of time. */
export class WaitLog {
  readonly #killedMs: number;
  readonly #waits: Partial<Record<Cause, number>> = {};
  #last: { atMs: number; cause?: Cause | undefined };
  #backMs = 0;

  constructor(killedMs: number) {
    this.#killedMs = killedMs;
    this.#last = { atMs: killedMs };
  }

  /** Counts the time since the look before for the cause. */
  add(atMs: number, cause: Cause | undefined): void {
    const { atMs: lastMs, cause: lastCause } = this.#last;
    this.#last = { atMs, cause };
    if (cause === undefined || (OFTEN_SEEN.has(cause) && lastCause === undefined)) return;
    this.#waits[cause] = (this.#waits[cause] ?? 0) + atMs - lastMs;
    this.#backMs = atMs - this.#killedMs;
  }

  ended(atMs: number): RecoveredRun {
    return { backMs: this.#backMs, endedMs: atMs - this.#killedMs, waits: this.#waits };
  }
}
