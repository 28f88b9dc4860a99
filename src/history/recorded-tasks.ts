import { CancelledFailure } from '@temporalio/common';
import { rememberParentSession, openingKind } from '../core/first-start.ts';
import { defined } from '../core/domain/json.ts';
import type { MessageReceiver } from '../core/handlers/decisions.ts';
import { SIGNAL_KINDS, takeSignal, takeUpdate, UPDATE_KINDS } from '../core/handlers/requests.ts';
import { Inbox } from '../core/kernel/inbox.ts';
import type { RunState } from '../core/kernel/run-state.ts';
import type { RecordedActivity, RecordedExecution, RecordedInboundMessage } from './recorded-execution.ts';
import { interruptOf } from '../core/sessions/open-session.ts';

export type ActivityEnd<Output> = { output: Output; failure?: undefined } | { failure: Error; output?: undefined };

/** An activity that the loop waits for. */
interface RunningActivity {
  resolve: () => void;
  /** True if the loop waits for its end even after a cancellation. */
  isWaitedFor: boolean;
}

/** A condition that the loop waits for. */
interface WaitingCondition {
  isMet: () => boolean;
  /** Milliseconds since the epoch. */
  deadlineAt: number;
  /** True if the cancellation of the run ends the wait. */
  endsByCancel: boolean;
  resolve: () => void;
}

/**
 * The workflow tasks of one execution, in order. Each delivers the events since the previous task, in the order in
 * which Temporal delivers them to a workflow: first messages to the run, then the ends of activities.
 */
export class RecordedTasks {
  /** The state of the run, once it exists. Its offset is the offset of the next event. */
  state: RunState | undefined;
  readonly inbox: Inbox;
  readonly #recorded: RecordedExecution;
  readonly #runId: string;
  readonly #inboundMessages: RecordedInboundMessage[];
  /** The tasks that deliver events, the next one last. */
  readonly #tasks: number[];
  readonly #running = new Map<RecordedActivity<unknown, unknown>, RunningActivity>();
  readonly #waiting = new Set<WaitingCondition>();
  /**
   * Local calls whose end the loop has not seen yet, in the order of their ends, with the time of the workflow's
   * clock from then on.
   */
  readonly #localCalls: Map<RecordedActivity<unknown, unknown>, number>;
  #task = 0;
  /**
   * The earliest time that the workflow's clock shows, in milliseconds since the epoch: the end of a local call
   * advances it within a task.
   */
  #clock = 0;
  #handledMessages = 0;
  #ended = 0;
  /** The number of events with which the next execution begins, if there is one. */
  readonly #nextOffset: number | undefined;

  constructor(runId: string, recorded: RecordedExecution, nextOffset?: number) {
    this.#nextOffset = nextOffset;
    this.#runId = runId;
    this.#recorded = recorded;
    this.inbox = new Inbox(structuredClone(recorded.continuedState?.inbox));
    if (recorded.input !== undefined) rememberParentSession(this.inbox, { input: recorded.input });
    this.#inboundMessages = inOrderOfHandling(recorded.inboundMessages);
    this.#tasks = tasksOf(recorded);
    this.#localCalls = new Map(recorded.localCalls.map((call) => [call, call.input.endedAt ?? 0]));
  }

  /** The number of the current task, from 1. */
  get number(): number {
    return this.#task;
  }

  /**
   * True if the loop has ended in this execution by the current task. If it continues only once its parent has received
   * the notification, the loop may have ended earlier: then no event follows before the first one of the next execution.
   */
  get isDecided(): boolean {
    const { decidedIn = Infinity, toldIn = Infinity } = this.#recorded;
    return this.#task >= decidedIn || (this.#task >= toldIn && this.state?.window.through === this.#nextOffset);
  }

  now(): number {
    return Math.max(this.#clock, this.#recorded.taskTimes[this.#task - 1] ?? this.#recorded.startedAt);
  }

  /** True once the run is cancelled, or the turn of a session is interrupted. */
  cancelRequested(): boolean {
    return interruptOf(this.inbox) !== undefined || (this.#recorded.cancel?.task ?? Infinity) <= this.#task;
  }

  /** Advances to a task, and delivers everything up to it. Without a number, to the last task. */
  reach(task = this.#recorded.taskTimes.length): void {
    while ((this.#tasks.at(-1) ?? Infinity) <= task) this.next();
    this.#task = task;
  }

  /**
   * Advances to the next task that delivers events, or returns false if there is none. Code that waits for them
   * continues asynchronously.
   */
  next(): boolean {
    const task = this.#tasks.pop();
    if (task === undefined) return false;
    this.#task = task;
    for (const call of this.#localCalls.keys()) if ((call.task ?? task) < task) this.#seeLocalCall(call);
    // Local calls that were requested earlier end with the task, and advance its clock before other code runs.
    const ending = this.#endingLocalCalls();
    for (
      let message = this.#inboundMessages[this.#handledMessages];
      message?.task === task;
      message = this.#inboundMessages[this.#handledMessages]
    ) {
      takeInboundMessage(this.#receiver, message, this.now());
      this.#handledMessages += 1;
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
   * Releases waits whose condition holds, whose deadline has passed, or that a cancellation ends. Returns false if
   * there are none: the task has nothing more to deliver.
   */
  release(): boolean {
    const isCancelled = this.cancelRequested();
    const isTimed = this.#recorded.timers.has(this.#task);
    const released = [
      ...[...this.#waiting].filter(
        ({ isMet, deadlineAt, endsByCancel }) => (isCancelled && endsByCancel) || isMet() || (isTimed && deadlineAt <= this.now()),
      ),
      ...[...this.#running].flatMap(([{ givenUpIn }, running]) =>
        !running.isWaitedFor && (isCancelled || givenUpIn === this.#task) ? [running] : [],
      ),
    ];
    for (const { resolve } of released) resolve();
    return released.length > 0;
  }

  /** Ends the local calls that ended in this task. Returns false if there are none. */
  endLocalCalls(): boolean {
    const ending = this.#endingLocalCalls();
    for (const { resolve } of ending) resolve();
    return ending.length > 0;
  }

  /**
   * Returns the end of an activity, in the task that saw it. Unless it is waited for, the cancellation of the run
   * ends it. A cancelled run starts nothing, but for work that is never refused.
   */
  async endOf<Output>(
    recorded: RecordedActivity<unknown, Output> | undefined,
    { isWaitedFor, isNeverRefused = false }: { isWaitedFor: boolean; isNeverRefused?: boolean },
  ): Promise<ActivityEnd<Output>> {
    const isRefused = recorded === undefined && this.cancelRequested() && !isNeverRefused;
    const activity = recorded ?? { input: undefined, scheduledIn: this.#task };
    if (!isRefused && !this.#hasEnded(activity)) {
      await new Promise<void>((resolve) => {
        const ends = (): void => {
          this.#running.delete(activity);
          if (this.#isEndVisible(activity)) this.#seeLocalCall(activity);
          resolve();
        };
        this.#running.set(activity, { resolve: ends, isWaitedFor });
      });
    }
    if (!this.#hasEnded(activity)) return { failure: new CancelledFailure('cancelled') };
    const { output, failure } = activity;
    return failure === undefined ? { output: output as Output } : { failure };
  }

  /**
   * Waits until the condition holds, a timer has fired after the deadline (milliseconds since the epoch), or the run
   * is cancelled.
   */
  async until(isMet: () => boolean, deadlineAt = Infinity): Promise<void> {
    if (this.cancelRequested()) return;
    await this.#wait(isMet, { deadlineAt, endsByCancel: true });
  }

  /** As `until`, but not ended by a cancellation. */
  async untilMet(isMet: () => boolean, deadlineAt = Infinity): Promise<void> {
    await this.#wait(isMet, { deadlineAt, endsByCancel: false });
  }

  /** Resolves once the loop has done everything that it can do in this task with what it has. */
  async settled(): Promise<void> {
    let isDue = false;
    const due = this.untilMet(() => isDue);
    isDue = true;
    await due;
  }

  async #wait(isMet: () => boolean, { deadlineAt, endsByCancel }: Pick<WaitingCondition, 'deadlineAt' | 'endsByCancel'>): Promise<void> {
    if (isMet() || deadlineAt <= this.now()) return;
    await new Promise<void>((resolve) => {
      const waiting: WaitingCondition = {
        isMet,
        deadlineAt,
        endsByCancel,
        resolve: () => {
          this.#waiting.delete(waiting);
          resolve();
        },
      };
      this.#waiting.add(waiting);
    });
  }

  get #receiver(): MessageReceiver {
    const { input, program } = this.#recorded;
    const { principal } = program ?? input ?? {};
    const before = { ...defined({ principal }), ...(input === undefined ? {} : { agentName: input.agent, ...openingKind({ input }) }) };
    return { runId: this.#runId, inbox: this.inbox, ...(this.state === undefined ? before : { state: this.state }) };
  }

  #hasEnded(activity: RecordedActivity<unknown, unknown>): boolean {
    return this.#isEndVisible(activity) && !this.#localCalls.has(activity);
  }

  /**
   * Removes and returns the local calls that end now, in order, up to the first one that the loop has not requested
   * yet: their ends lead to that request.
   */
  #endingLocalCalls(): RunningActivity[] {
    const ending: RunningActivity[] = [];
    for (const call of this.#localCalls.keys()) {
      const running = this.#isEndVisible(call) ? this.#running.get(call) : undefined;
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

  /** True if the current task or an earlier one saw the end. */
  #isEndVisible({ task = Infinity }: RecordedActivity<unknown, unknown>): boolean {
    return task <= this.#task;
  }
}

/** Returns the numbers of the tasks that deliver events, the last one first. */
function tasksOf({ inboundMessages, ended, localCalls, timers, cancel }: RecordedExecution): number[] {
  const tasks = new Set(
    [...inboundMessages, ...ended, ...localCalls, ...(cancel === undefined ? [] : [cancel])].flatMap(({ task }) => task ?? []),
  );
  for (const task of timers) tasks.add(task);
  return [...tasks].toSorted((a, b) => b - a);
}

/** Applies a message as the workflow's handlers do. A recorded Update was accepted; a signal may be refused. */
function takeInboundMessage(run: MessageReceiver, { by, name, argument }: RecordedInboundMessage, now: number): void {
  if (by === 'update' && isKind(UPDATE_KINDS, name)) takeUpdate(run, name, argument, now);
  if (by === 'signal' && isKind(SIGNAL_KINDS, name)) takeSignal(run, name, argument, now);
}

/**
 * Returns messages in the order in which the workflow handled them. At the start of an execution, handlers are
 * registered by name, Updates before signals, and messages that came earlier are handled in that order.
 */
function inOrderOfHandling(messages: readonly RecordedInboundMessage[]): RecordedInboundMessage[] {
  const order = [
    ...Object.keys(UPDATE_KINDS).map((name) => `update ${name}`),
    ...Object.keys(SIGNAL_KINDS).map((name) => `signal ${name}`),
  ];
  const rank = ({ by, name }: RecordedInboundMessage): number => order.indexOf(`${by} ${name}`);
  const isFirst = ({ task }: RecordedInboundMessage): boolean => task === 1;
  const first = messages.filter(isFirst).toSorted((a, b) => rank(a) - rank(b));
  return [...first, ...messages.filter((message) => !isFirst(message))];
}

function isKind<Kinds extends object>(kinds: Kinds, name: string): name is Extract<keyof Kinds, string> {
  return Object.hasOwn(kinds, name);
}
