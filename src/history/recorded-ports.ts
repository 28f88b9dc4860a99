import {
  authorizationFailure,
  modelFailure,
  modelOutcome,
  notifyFailure,
  summaryFailure,
  summaryOutcome,
  toolFailure,
  toolOutcome,
  requirementFailure,
  verifiedOutcome,
  verifyFailure,
} from '../core/activity-requests/activity-outcome.ts';
import { earlierFailure } from '../core/activity-requests/program-requests.ts';
import type { ApprovalRequirement, Decision } from '../core/domain/approvals/approval.ts';
import { LonghaulError } from '../core/domain/errors/error.ts';
import type { Inbox } from '../core/loop/state/inbox.ts';
import type {
  Authorization,
  Growth,
  Leaving,
  LoopChange,
  ModelCall,
  ModelCallOutcome,
  NotifyOutcome,
  SegmentCall,
  SegmentOutcome,
  SummaryOutcome,
  ToolInvocation,
  ToolOutcome,
  WaitDeadline,
} from '../core/loop/ports.ts';
import type { ChildCall, ChildOutcome } from '../core/domain/children/child-call.ts';
import type {
  AskCall,
  AskOutcome,
  EarlierOutcome,
  MemoryCall,
  MemoryOutcome,
  ProgramPorts,
} from '../core/program/interpreter/program-ports.ts';
import type { RunState } from '../core/loop/state/run-state.ts';
import { derivedEventId } from './event-ids.ts';
import { RecordedAgents } from './children/recorded-agents.ts';
import { RecordedSteps } from './program/recorded-steps.ts';
import type { RecordedTasks } from './recorded-tasks.ts';
import type { RunToolOutput } from '../core/protocol.ts';
import { recordedSegment } from './recorded-segments.ts';
import { callKey, type RecordedExecution } from './recorded-execution.ts';

type LocalCall = RecordedExecution['localCalls'][number];

/** The ids of events that are in the history: by their offset, and those of the calls of a program by the ids of the calls. */
export interface RecordedIds {
  ids: ReadonlyMap<number, string>;
  callEvents: ReadonlyMap<string, string>;
}

/**
 * The ports of a run that is read back: every answer is taken from history, in the workflow task in which the run
 * received it. Knowing what each task requested tells a run that was about to continue as new from one that was not.
 */
export class RecordedPorts implements ProgramPorts {
  readonly inbox: Inbox;
  /** Ids of the calls that have waited for a decision. */
  readonly waited = new Set<string>();
  readonly #recorded: RecordedExecution;
  readonly #tasks: RecordedTasks;
  readonly #ids: ReadonlyMap<number, string>;
  readonly #callEvents: ReadonlyMap<string, string>;
  /** Local calls that the loop has not requested yet. */
  readonly #localCallsLeft: Set<LocalCall>;
  /** The number of other tool calls and segments of code that the loop has not requested yet, by the task that requested them. */
  readonly #toolCallsLeft = new Map<number, number>();
  #modelCalls = 0;
  #summaries = 0;
  #authorizations = 0;
  #notifications = 0;
  #toolsRunning = 0;
  readonly #steps: RecordedSteps;
  readonly #agents: RecordedAgents;

  constructor(recorded: RecordedExecution, tasks: RecordedTasks, { ids, callEvents }: RecordedIds) {
    this.#recorded = recorded;
    this.#tasks = tasks;
    this.#ids = ids;
    this.#callEvents = callEvents;
    this.inbox = tasks.inbox;
    this.#localCallsLeft = new Set(recorded.localCalls);
    this.#steps = new RecordedSteps(recorded, tasks);
    for (const { scheduledIn } of [...recorded.toolCalls.values(), ...recorded.segments.values()]) this.#countToolCall(scheduledIn, 1);
    this.#agents = new RecordedAgents(recorded, tasks);
  }

  now(): number {
    return this.#tasks.now();
  }

  uuid(): string {
    return this.eventId(this.#state?.window.through ?? 0);
  }

  callEventId(callId: string): string {
    return this.#callEvents.get(callId) ?? derivedEventId(this.#recorded.executionId, callId);
  }

  /** Returns the id of an event that the workflow created itself. */
  eventId(offset: number): string {
    return this.#ids.get(offset) ?? derivedEventId(this.#recorded.executionId, offset);
  }

  async callModel({ through }: ModelCall): Promise<ModelCallOutcome> {
    const recorded = this.#recorded.modelCalls[this.#modelCalls];
    if (recorded !== undefined && recorded.input.through !== through) throw this.#diverged(`a model call after ${through} events`);
    this.#modelCalls += 1;
    const ended = await this.#tasks.endOf(recorded, { isWaitedFor: true });
    const outcome = ended.failure === undefined ? modelOutcome(ended.output) : modelFailure(this.#model(), ended.failure);
    return outcome.type === 'cancelled' && !this.cancelRequested() ? { ...outcome, type: 'interrupted' } : outcome;
  }

  async summarise(): Promise<SummaryOutcome> {
    const recorded = this.#recorded.summaries[this.#summaries];
    this.#summaries += 1;
    const ended = await this.#tasks.endOf(recorded, { isWaitedFor: true });
    const model = this.#state?.snapshot.window?.summaryModel ?? this.#model();
    return ended.failure === undefined ? summaryOutcome(ended.output) : summaryFailure(model, ended.failure);
  }

  async runTool(invocation: ToolInvocation): Promise<ToolOutcome> {
    const { tool } = invocation;
    const recorded = this.#recorded.toolCalls.get(this.#keyOf(invocation));
    if (recorded !== undefined) this.#countToolCall(recorded.scheduledIn, -1);
    this.#toolsRunning += 1;
    const ended = await this.#tasks.endOf(recorded ?? this.#localCall(invocation), { isWaitedFor: false });
    this.#toolsRunning -= 1;
    return ended.failure === undefined ? toolOutcome(ended.output as RunToolOutput) : toolFailure(tool, ended.failure);
  }

  runSegment(call: SegmentCall): Promise<SegmentOutcome> {
    return recordedSegment(this.#recorded, this.#tasks, call, {
      localCallsLeft: this.#localCallsLeft,
      requested: ({ scheduledIn }) => this.#countToolCall(scheduledIn, -1),
    });
  }

  ask(call: AskCall): Promise<AskOutcome> {
    return this.#steps.ask(call);
  }

  useMemory(call: MemoryCall): Promise<MemoryOutcome> {
    return this.#steps.useMemory(call);
  }

  runChild(call: ChildCall): Promise<ChildOutcome> {
    return this.#agents.during(call, this.#steps.runChild(call));
  }

  childRunId(prefix: string): string {
    return this.#agents.runIdOf(prefix);
  }

  async readEarlier(): Promise<EarlierOutcome> {
    const ended = await this.#tasks.endOf(this.#recorded.earlierRead, { isWaitedFor: true });
    return ended.failure === undefined ? { type: 'read', earlier: ended.output } : earlierFailure(ended.failure);
  }

  readonly storeOutputs: ProgramPorts['storeOutputs'] = () => this.#steps.outputs.storeOutputs();
  readonly loadOutput: ProgramPorts['loadOutput'] = (stored) => this.#steps.outputs.loadOutput(stored);

  async verify(invocation: ToolInvocation, reason: string): Promise<ToolOutcome> {
    const recorded = this.#recorded.verifications.get(this.#keyOf(invocation));
    this.#toolsRunning += 1;
    const ended = await this.#tasks.endOf(recorded, { isWaitedFor: false });
    this.#toolsRunning -= 1;
    return ended.failure === undefined ? verifiedOutcome(ended.output, reason) : verifyFailure(ended.failure, reason);
  }

  async askTerms(invocation: ToolInvocation): Promise<ApprovalRequirement | undefined> {
    const recorded = this.#recorded.termsRequests.get(this.#keyOf(invocation));
    const ended = await this.#tasks.endOf(recorded, { isWaitedFor: false });
    return ended.failure === undefined ? (ended.output ?? undefined) : requirementFailure(invocation.eventId, invocation.index);
  }

  async authorize({ id }: Decision): Promise<Authorization> {
    const recorded = this.#recorded.authorizations[this.#authorizations];
    if (recorded !== undefined && recorded.input.decision.id !== id) throw this.#diverged(`the check of decision "${id}"`);
    this.#authorizations += 1;
    const ended = await this.#tasks.endOf(recorded, { isWaitedFor: false });
    return ended.failure === undefined ? ended.output : authorizationFailure(ended.failure);
  }

  async notify(): Promise<NotifyOutcome> {
    const recorded = this.#recorded.notifications[this.#notifications];
    this.#notifications += 1;
    const { failure } = await this.#tasks.endOf(recorded, { isWaitedFor: false });
    return failure === undefined ? { type: 'notified' } : notifyFailure(failure);
  }

  cancelRequested(): boolean {
    return this.#tasks.cancelRequested();
  }

  until(isMet: () => boolean, deadline?: WaitDeadline): Promise<void> {
    return this.#tasks.until(isMet, deadline?.at);
  }

  /**
   * True exactly when history continues in the next execution. If this task requested a call, continuing was not due;
   * if calls were running and another one was not requested, it was left to the next execution.
   */
  continueDue(growth: Growth, leaving?: Leaving): boolean {
    const { end, archivings, decidedIn = Infinity, modelCalls, summaries } = this.#recorded;
    // A local call runs as soon as it is requested. One that is left will be requested in this execution.
    if (this.#localCallsLeft.size > 0) return false;
    if (this.#toolCallsLeft.has(this.#tasks.number) || modelCalls[this.#modelCalls]?.scheduledIn === this.#tasks.number) return false;
    if (this.#agents.startsIn(this.#tasks.number)) return false;
    if (leaving !== undefined) return this.#agents.areLeft;
    if (this.#state?.program !== undefined)
      return this.#toolCallsLeft.size === 0 && this.#steps.continues(growth, { toolsRunning: this.#toolsRunning > 0 });
    if (this.#toolsRunning > 0 || this.#agents.running > 0) return true;
    if ((end?.type !== 'continued' && archivings.length === 0) || this.#modelCalls < modelCalls.length || this.#toolCallsLeft.size > 0)
      return false;
    // A paused run may summarise just before it continues in the next execution.
    return this.#tasks.number >= decidedIn || (this.inbox.paused && summaries[this.#summaries]?.scheduledIn === this.#tasks.number);
  }

  recorded({ approvals }: RunState): void {
    for (const { callId } of approvals.pending) this.waited.add(callId);
  }

  allows(change: LoopChange): boolean {
    return this.#recorded.changes.has(change);
  }

  /** Checks that the loop has used everything that is recorded. Throws `history_unreadable` if anything is left. */
  end(): void {
    const { modelCalls, summaries, authorizations } = this.#recorded;
    const left = [
      ...modelCalls.slice(this.#modelCalls),
      ...summaries.slice(this.#summaries),
      ...authorizations.slice(this.#authorizations),
    ];
    if (left.some(({ task }) => task !== undefined)) throw this.#diverged(`its end after ${this.#state?.window.through ?? 0} events`);
  }

  /**
   * Returns the outcome of a local call. The marker of a failure does not say which call it belongs to: it is the
   * first one that the workflow requested by that name and that is not assigned to another call.
   */
  #localCall(invocation: ToolInvocation): LocalCall | undefined {
    const { tool } = invocation;
    if (tool.tier !== 'local') return undefined;
    const left = [...this.#localCallsLeft];
    const key = this.#keyOf(invocation);
    const failures = left.filter(({ input, failure }) => failure !== undefined && input.name === tool.name);
    const call =
      left.find(({ input: { name }, output }) => name === tool.name && output !== undefined && callKey(this.#recorded, output) === key) ??
      failures.toSorted((one, other) => one.input.seq - other.input.seq)[0];
    if (call !== undefined) this.#localCallsLeft.delete(call);
    return call;
  }

  #keyOf({ offset, index, call }: ToolInvocation): string {
    return callKey(this.#recorded, { at: [offset, index], callId: call.toolCallId });
  }

  #countToolCall(task: number, more: 1 | -1): void {
    const left = (this.#toolCallsLeft.get(task) ?? 0) + more;
    if (left === 0) this.#toolCallsLeft.delete(task);
    else this.#toolCallsLeft.set(task, left);
  }

  #diverged(point: string): LonghaulError {
    return new LonghaulError(
      'history_unreadable',
      `Execution ${this.#recorded.executionId} cannot be read back: the loop of this release reaches ${point}, but its history does not. ` +
        'Read it with the release that ran it, or with a worker that answers its queries',
    );
  }

  get #state(): RunState | undefined {
    return this.#tasks.state;
  }

  #model(): string {
    return this.#state?.snapshot.model ?? '';
  }
}
