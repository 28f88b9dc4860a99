import { CancelledFailure } from '@temporalio/common';
import { Inbox } from '../core/loop/state/inbox.ts';
import type { RunState } from '../core/loop/state/run-state.ts';
import { inOrderOfHandling, takeInboundMessage } from './inbound-messages.ts';
import type { RecordedInboundMessage, RecordedActivity, RecordedExecution } from './recorded-execution.ts';

/** The end of an activity. */
export type Ended<Output> = { output: Output; failure?: undefined } | { failure: Error; output?: undefined };

/** An activity that the loop waits for. */
interface Running {
  resolve: () => void;
  /** After a cancellation, too. */
  isWaitedFor: boolean;
}

/** A condition that the loop waits for. */
interface Waiting {
  isMet: () => boolean;
  /** Milliseconds since the epoch. */
  deadlineAt: number;
  resolve: () => void;
}

/**
 * The workflow tasks of one execution, one after the other: each brings what came to the run since the one before, in
 * the order in which Temporal hands it to a workflow. First what was sent to the run, then what has ended.
 */
export class RecordedTasks {
  /** The run, once there is one: its offset is the one of the next event. */
  state: RunState | undefined;
  readonly inbox: Inbox;
  readonly #recorded: RecordedExecution;
  readonly #runId: string;
  readonly #arrivals: RecordedInboundMessage[];
  /** Tasks that bring something, the next one last. */
  readonly #tasks: number[];
  readonly #running = new Map<RecordedActivity<unknown, unknown>, Running>();
  readonly #waiting = new Set<Waiting>();
  /** Local calls whose end nobody has seen yet, in its order, and what the clock of the workflow shows from there on. */
  readonly #localCalls: Map<RecordedActivity<unknown, unknown>, number>;
  #task = 0;
  /** What the clock of the workflow shows at least: the end of a local call moves it on within a task. Milliseconds since the epoch. */
  #clock = 0;
  #arrived = 0;
  #ended = 0;

  constructor(runId: string, recorded: RecordedExecution) {
    this.#runId = runId;
    this.#recorded = recorded;
    this.inbox = new Inbox(structuredClone(recorded.carry?.inbox));
    this.#arrivals = inOrderOfHandling(recorded.inboundMessages);
    this.#tasks = tasksOf(recorded);
    this.#localCalls = new Map(recorded.localCalls.map((call) => [call, call.input.endedAt ?? 0]));
  }

  /** Of the task at hand, counted from 1 on. */
  get number(): number {
    return this.#task;
  }

  now(): number {
    return Math.max(this.#clock, this.#recorded.taskTimes[this.#task - 1] ?? this.#recorded.startedAt);
  }

  cancelRequested(): boolean {
    return (this.#recorded.cancel?.task ?? Infinity) <= this.#task;
  }

  /** Goes on to a task, with everything that came before it or with it. Without a number, to the last one. */
  reach(task = this.#recorded.taskTimes.length): void {
    while ((this.#tasks.at(-1) ?? Infinity) <= task) this.next();
    this.#task = task;
  }

  /** Goes on to the next task that brings something; false where there is none. What waits for it goes on in a moment. */
  next(): boolean {
    const task = this.#tasks.pop();
    if (task === undefined) return false;
    this.#task = task;
    for (const call of this.#localCalls.keys()) if ((call.task ?? task) < task) this.#seeLocalCall(call);
    // Those that were asked for before come with the task, and move its clock before anything else sees it.
    const ending = this.#endingLocalCalls();
    for (let arrival = this.#arrivals[this.#arrived]; arrival?.task === task; arrival = this.#arrivals[this.#arrived]) {
      takeInboundMessage(
        { runId: this.#runId, inbox: this.inbox, ...(this.state === undefined ? {} : { state: this.state }) },
        arrival,
        this.now(),
      );
      this.#arrived += 1;
    }
    const { ended } = this.#recorded;
    for (let activity = ended[this.#ended]; activity?.task === task; activity = ended[this.#ended]) {
      this.#running.get(activity)?.resolve();
      this.#ended += 1;
    }
    for (const { resolve } of ending) resolve();
    this.release();
    return true;
  }

  /**
   * Lets those go on whose condition holds now, whose deadline has passed, and whom a cancellation does not let wait.
   * False where there are none: the task has nothing more to give.
   */
  release(): boolean {
    const isCancelled = this.cancelRequested();
    const isTimed = this.#recorded.timers.has(this.#task);
    const released = [
      ...[...this.#waiting].filter(({ isMet, deadlineAt }) => isCancelled || isMet() || (isTimed && deadlineAt <= this.now())),
      ...[...this.#running.values()].filter(({ isWaitedFor }) => isCancelled && !isWaitedFor),
    ];
    for (const { resolve } of released) resolve();
    return released.length > 0;
  }

  /** Lets the local calls end that did so in this task. False where there are none. */
  endLocalCalls(): boolean {
    const ending = this.#endingLocalCalls();
    for (const { resolve } of ending) resolve();
    return ending.length > 0;
  }

  /** The end of an activity, in the task that saw it. One that is not waited for ends with the cancellation of the run. */
  async endOf<Output>(
    recorded: RecordedActivity<unknown, Output> | undefined,
    { isWaitedFor }: { isWaitedFor: boolean },
  ): Promise<Ended<Output>> {
    // Nothing is begun once the run is cancelled.
    const isRefused = recorded === undefined && this.cancelRequested();
    const activity = recorded ?? { input: undefined, scheduledIn: this.#task };
    if (!isRefused && !this.#hasEnded(activity)) {
      await new Promise<void>((resolve) => {
        const ends = (): void => {
          this.#running.delete(activity);
          if (this.#hasCome(activity)) this.#seeLocalCall(activity);
          resolve();
        };
        this.#running.set(activity, { resolve: ends, isWaitedFor });
      });
    }
    if (!this.#hasEnded(activity)) return { failure: new CancelledFailure('cancelled') };
    const { output, failure } = activity;
    return failure === undefined ? { output: output as Output } : { failure };
  }

  /** Until the condition holds, a timer has fired after the deadline (milliseconds since the epoch), or the run is cancelled. */
  async until(isMet: () => boolean, deadlineAt = Infinity): Promise<void> {
    if (this.cancelRequested() || isMet() || deadlineAt <= this.now()) return;
    await new Promise<void>((resolve) => {
      const waiting: Waiting = {
        isMet,
        deadlineAt,
        resolve: () => {
          this.#waiting.delete(waiting);
          resolve();
        },
      };
      this.#waiting.add(waiting);
    });
  }

  #hasEnded(activity: RecordedActivity<unknown, unknown>): boolean {
    return this.#hasCome(activity) && !this.#localCalls.has(activity);
  }

  /** The local calls that end now, in their order, up to one that nobody has asked for yet: it is what comes of the others. */
  #endingLocalCalls(): Running[] {
    const ending: Running[] = [];
    for (const call of this.#localCalls.keys()) {
      const running = this.#hasCome(call) ? this.#running.get(call) : undefined;
      if (running === undefined) break;
      this.#seeLocalCall(call);
      ending.push(running);
    }
    return ending;
  }

  #seeLocalCall(call: RecordedActivity<unknown, unknown>): void {
    this.#clock = Math.max(this.#clock, this.#localCalls.get(call) ?? 0);
    this.#localCalls.delete(call);
  }

  /** True where the task that saw the end is there, or over. */
  #hasCome({ task = Infinity }: RecordedActivity<unknown, unknown>): boolean {
    return task <= this.#task;
  }
}

/** The last one first. */
function tasksOf({ inboundMessages, ended, localCalls, timers, cancel }: RecordedExecution): number[] {
  const tasks = new Set(
    [...inboundMessages, ...ended, ...localCalls, ...(cancel === undefined ? [] : [cancel])].flatMap(({ task }) => task ?? []),
  );
  for (const task of timers) tasks.add(task);
  return [...tasks].toSorted((a, b) => b - a);
}
