import { modelFailure, modelOutcome, summaryFailure, toolFailure, toolOutcome } from '../activity-outcome.ts';
import type { QueuedMessage } from '../domain/queued-message.ts';
import { LonghaulError } from '../domain/error.ts';
import { Inbox } from '../loop/inbox.ts';
import type { LoopChange, ModelCall, ModelCallOutcome, RunPorts, SummaryOutcome, ToolInvocation, ToolOutcome } from '../loop/ports.ts';
import type { RunState } from '../loop/run-state.ts';
import { type CancelReasonInput, type SendInput, SIGNALS, UPDATES } from '../protocol.ts';
import { messageProblem } from '../schema/message-schema.ts';
import { derivedEventId } from './event-ids.ts';
import { type Arrival, placeOf, type RecordedActivity, type RecordedExecution } from './recorded-execution.ts';

/** The loop has come to where history ends. */
export class NotYetRecorded extends Error {}

/**
 * The ports of a run that is read back: every answer is taken from history. Where the loop stands in it is told by the
 * number of the workflow task that saw what the loop waited for last: what came with that task or before is known then.
 */
export class RecordedPorts implements RunPorts {
  /** The run, once there is one: its offset is the one of the next event. */
  state: RunState | undefined;
  readonly inbox: Inbox;
  readonly #recorded: RecordedExecution;
  readonly #ids: ReadonlyMap<number, string>;
  readonly #arrivals: Arrival[];
  #task = 0;
  #modelCalls = 0;
  #summaries = 0;
  #toolCalls = 0;
  #arrived = 0;

  constructor(recorded: RecordedExecution, ids: ReadonlyMap<number, string>) {
    this.#recorded = recorded;
    this.#ids = ids;
    this.inbox = new Inbox(structuredClone(recorded.carry?.inbox));
    this.#arrivals = inOrderOfHandling(recorded.arrivals);
    this.#advance(recorded.resolved?.task);
  }

  now(): number {
    return this.#recorded.taskTimes[this.#task - 1] ?? this.#recorded.startedAt;
  }

  uuid(): string {
    const offset = this.state?.window.through ?? 0;
    return this.#ids.get(offset) ?? derivedEventId(this.#recorded.executionId, offset);
  }

  async callModel({ through }: ModelCall): Promise<ModelCallOutcome> {
    const recorded = this.#recorded.modelCalls[this.#modelCalls];
    if (recorded !== undefined && recorded.input.through !== through) throw this.#diverged(`a model call after ${through} events`);
    this.#modelCalls += 1;
    const ended = this.#waitFor(recorded);
    if (ended === 'cancelled') return { type: 'cancelled' };
    return ended.failure === undefined ? modelOutcome(ended.output) : modelFailure(this.#model(), ended.failure);
  }

  async summarise(): Promise<SummaryOutcome> {
    const recorded = this.#recorded.summaries[this.#summaries];
    this.#summaries += 1;
    const ended = this.#waitFor(recorded);
    if (ended === 'cancelled') return { type: 'cancelled' };
    return ended.failure === undefined ? { type: 'summary', ...ended.output } : summaryFailure(this.#model(), ended.failure);
  }

  async runTool({ offset, index, tool }: ToolInvocation): Promise<ToolOutcome> {
    const recorded = this.#recorded.toolCalls.get(placeOf(offset, index));
    if (recorded !== undefined) this.#toolCalls += 1;
    const cancelledIn = this.#recorded.cancel?.task ?? Infinity;
    // A tool is not waited for once the run is cancelled.
    const ended = recorded?.task !== undefined && recorded.task > cancelledIn ? this.#cancelled() : this.#waitFor(recorded);
    if (ended === 'cancelled') return { type: 'cancelled' };
    return ended.failure === undefined ? toolOutcome(ended.output) : toolFailure(tool, ended.failure);
  }

  cancelRequested(): boolean {
    return (this.#recorded.cancel?.task ?? Infinity) <= this.#task;
  }

  takeMessages(): QueuedMessage[] {
    return this.inbox.take();
  }

  paused(): boolean {
    return this.inbox.paused;
  }

  async idle(): Promise<void> {
    const next = Math.min(this.#arrivals[this.#arrived]?.task ?? Infinity, this.#recorded.cancel?.task ?? Infinity);
    if (next === Infinity) throw new NotYetRecorded();
    this.#advance(next);
  }

  /** True exactly where history goes on in the next execution: nothing more was asked for in this one. */
  continueDue(): boolean {
    const { end, archived, decidedIn = Infinity, modelCalls, toolCalls, summaries } = this.#recorded;
    if (end?.type !== 'continued' && !archived) return false;
    if (this.#modelCalls < modelCalls.length || this.#toolCalls < toolCalls.size) return false;
    // A paused run that is about to go on in the next execution may summarise before.
    return this.#task >= decidedIn || summaries[this.#summaries]?.scheduledIn === this.#task;
  }

  allows(change: LoopChange): boolean {
    return this.#recorded.changes.has(change);
  }

  /** The loop has come to where nothing more is recorded. Throws `history_unreadable` where there is more. */
  end(): void {
    const { modelCalls, summaries } = this.#recorded;
    const isLeft = [...modelCalls.slice(this.#modelCalls), ...summaries.slice(this.#summaries)].some(({ task }) => task !== undefined);
    if (isLeft) throw this.#diverged(`its end after ${this.state?.window.through ?? 0} events`);
    this.#catchUp();
  }

  /** Takes in everything that has come since the loop last went on. */
  #catchUp(): void {
    this.#advance(this.#recorded.taskTimes.length);
  }

  /** The end of an activity: what has none was cancelled, or is still to come. */
  #waitFor<Output>(recorded: RecordedActivity<unknown, Output> | undefined): Ended<Output> | 'cancelled' {
    if (recorded?.task === undefined) return this.#cancelled();
    this.#advance(recorded.task);
    const { output, failure } = recorded;
    return failure === undefined ? { output: output as Output } : { failure };
  }

  #diverged(where: string): LonghaulError {
    return new LonghaulError(
      'history_unreadable',
      `Execution ${this.#recorded.executionId} cannot be read back: the loop of this release comes to ${where}, and its history does not. ` +
        'Read it with the release that ran it, or with a worker that answers its queries',
    );
  }

  #cancelled(): 'cancelled' {
    const { cancel } = this.#recorded;
    if (cancel?.task === undefined) throw new NotYetRecorded();
    this.#advance(cancel.task);
    return 'cancelled';
  }

  #advance(task: number | undefined): void {
    if (task === undefined || task <= this.#task) return;
    for (const arrival of this.#arrivals.slice(this.#arrived)) {
      if (arrival.task > task) break;
      this.#task = arrival.task;
      this.#take(arrival);
      this.#arrived += 1;
    }
    this.#task = task;
  }

  /** As the handlers of the workflow do it: an Update was accepted, a signal may not fit. */
  #take({ by, name, argument }: Arrival): void {
    if (by === 'update') this.inbox.countUpdate();
    if (by === 'signal' && name === SIGNALS.cancelReason) this.inbox.cancelReason = (argument as CancelReasonInput | undefined)?.reason;
    if (by === 'update' && name === UPDATES.pause) this.inbox.paused = true;
    if (by === 'update' && name === UPDATES.resume) this.inbox.paused = false;
    if (name !== UPDATES.send || (by === 'signal' && !this.#takesSignal(argument))) return;
    const { id, content } = argument as SendInput;
    this.inbox.add({ id, content, timestamp: this.now() / 1000 });
  }

  #takesSignal(argument: unknown): boolean {
    return messageProblem(argument) === undefined && this.inbox.hasRoomFor(argument as SendInput) && !this.inbox.busy;
  }

  #model(): string {
    return this.state?.snapshot.model ?? '';
  }
}

type Ended<Output> = { output: Output; failure?: undefined } | { failure: Error; output?: undefined };

/**
 * Handlers are registered by name when an execution begins, Updates before signals, and what came before that is
 * handled then.
 */
function inOrderOfHandling(arrivals: readonly Arrival[]): Arrival[] {
  const order = [UPDATES.send, UPDATES.pause, UPDATES.resume];
  const rank = ({ by, name }: Arrival): number => (by === 'signal' ? order.length : order.findIndex((one) => one === name));
  const isFirst = ({ task }: Arrival): boolean => task === 1;
  const first = arrivals.filter(isFirst).toSorted((a, b) => rank(a) - rank(b));
  return [...first, ...arrivals.filter((arrival) => !isFirst(arrival))];
}
