import { createHash } from 'node:crypto';
import {
  authorizationFailure,
  modelFailure,
  modelOutcome,
  notifyFailure,
  summaryFailure,
  summaryOutcome,
} from '../core/activity-requests/activity-request.ts';
import { splitResolved, unresolved } from '../core/activity-requests/agent-requests.ts';
import { unreadMessage } from '../core/activity-requests/child-requests.ts';
import { guardrailFailure, guardrailOutcome } from '../core/activity-requests/hook-requests.ts';
import { earlierFailure } from '../core/activity-requests/program-requests.ts';
import type { ReviewedCalls } from '../core/domain/activity-messages.ts';
import type { ApprovalRequirement, Decision } from '../core/domain/approvals.ts';
import type { ChildCall, ChildOutcome, Resolved } from '../core/domain/children.ts';
import { LonghaulError } from '../core/domain/errors.ts';
import type { RecordedResponse } from '../core/domain/model.ts';
import type { MessageContent } from '../core/domain/sessions.ts';
import type {
  Authorization,
  Growth,
  GuardrailCheck,
  GuardrailOutcome,
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
  ToolResultOutcome,
  WaitDeadline,
} from '../core/loop/ports.ts';
import type { ContinueAsNewState } from '../core/loop/state/continue-as-new-state.ts';
import type { Inbox } from '../core/loop/state/inbox.ts';
import type { RunState } from '../core/loop/state/run-state.ts';
import { callIdAt } from '../core/program/program-index.ts';
import type { AskCall, AskOutcome, EarlierOutcome, MemoryCall, MemoryOutcome, ProgramPorts } from '../core/program/program-run.ts';
import { begunWork, type SessionPorts } from '../core/sessions/run-session.ts';
import { childOf, type RecordedExecution } from './recorded-execution.ts';
import { RecordedSteps } from './recorded-steps.ts';
import type { RecordedTasks } from './recorded-tasks.ts';
import { RecordedToolCalls } from './recorded-tool-calls.ts';

/** The ids of events that are in the history: by their offset, and those of the calls of a program by the ids of the calls. */
interface RecordedIds {
  ids: ReadonlyMap<number, string>;
  callEvents: ReadonlyMap<string, string>;
}

/**
 * The ports of a run that is read back: every answer is taken from history, in the workflow task in which the run
 * received it. Knowing what each task requested tells a run that was about to continue as new from one that was not.
 */
export class RecordedPorts implements ProgramPorts, SessionPorts {
  readonly inbox: Inbox;
  /** Ids of the calls that have waited for a decision. */
  readonly waited = new Set<string>();
  readonly #recorded: RecordedExecution;
  readonly #tasks: RecordedTasks;
  readonly #ids: ReadonlyMap<number, string>;
  readonly #callEvents: ReadonlyMap<string, string>;
  #modelCalls = 0;
  #summaries = 0;
  #handoffs = 0;
  #guardrailChecks = 0;
  #authorizations = 0;
  #notifications = 0;
  readonly #tools: RecordedToolCalls;
  readonly #steps: RecordedSteps;
  readonly #agents: RecordedAgents;
  readonly #keeper: RecordedKeeper;

  constructor(recorded: RecordedExecution, tasks: RecordedTasks, { ids, callEvents }: RecordedIds) {
    this.#recorded = recorded;
    this.#tasks = tasks;
    this.#ids = ids;
    this.#callEvents = callEvents;
    this.inbox = tasks.inbox;
    this.#tools = new RecordedToolCalls(recorded, tasks);
    this.#steps = new RecordedSteps(recorded, tasks);
    this.#agents = new RecordedAgents(recorded, tasks);
    this.#keeper = new RecordedKeeper(recorded, tasks);
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

  runTool(invocation: ToolInvocation): Promise<ToolOutcome> {
    return this.#tools.runTool(invocation);
  }

  reviewCalls(response: RecordedResponse): Promise<ReviewedCalls> {
    return this.#tools.reviewCalls(response);
  }

  afterCall(invocation: ToolInvocation, outcome: ToolResultOutcome): Promise<ToolResultOutcome> {
    return this.#tools.afterCall(invocation, outcome);
  }

  verify(invocation: ToolInvocation, reason: string): Promise<ToolOutcome> {
    return this.#tools.verify(invocation, reason);
  }

  askTerms(invocation: ToolInvocation): Promise<ApprovalRequirement | undefined> {
    return this.#tools.askTerms(invocation);
  }

  runSegment(call: SegmentCall): Promise<SegmentOutcome> {
    return this.#tools.runSegment(call);
  }

  async resolveHandoff(agent: string): Promise<Resolved> {
    const recorded = this.#recorded.handoffs[this.#handoffs];
    if (recorded !== undefined && recorded.input.agent !== agent) throw this.#diverged(`a handoff to agent "${agent}"`);
    this.#handoffs += 1;
    const ended = await this.#tasks.endOf(recorded, { isWaitedFor: false });
    if (ended.failure !== undefined) return unresolved(`Agent "${agent}"`, ended.failure);
    return { type: 'resolved', ...splitResolved(ended.output) };
  }

  switchAgent(): void {}

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

  async checkGuardrails({ type, through }: GuardrailCheck): Promise<GuardrailOutcome> {
    const recorded = this.#recorded.guardrailChecks[this.#guardrailChecks];
    if (recorded !== undefined && (recorded.input.through !== through || recorded.input.type !== type))
      throw this.#diverged(`a check of ${type} after ${through} events`);
    this.#guardrailChecks += 1;
    const ended = await this.#tasks.endOf(recorded, { isWaitedFor: true });
    return ended.failure === undefined ? guardrailOutcome(ended.output) : guardrailFailure(ended.failure);
  }

  abortModelCall(): void {
    // Its end is recorded.
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
    const { end, archivings, modelCalls, summaries, handoffs } = this.#recorded;
    if (this.#tools.areLocalLeft || this.#tools.startIn(this.#tasks.number)) return false;
    if (modelCalls[this.#modelCalls]?.scheduledIn === this.#tasks.number) return false;
    if (this.#handoffs < handoffs.length) return false;
    if (this.#agents.startsIn(this.#tasks.number)) return false;
    if (leaving !== undefined) return this.#agents.areLeft;
    if (this.#state?.program !== undefined)
      return !this.#tools.areLeft && this.#steps.continues(growth, { toolsRunning: this.#tools.areRunning });
    if (this.#tools.areRunning || this.#agents.running > 0) return true;
    if ((end?.type !== 'continued' && archivings.length === 0) || this.#modelCalls < modelCalls.length || this.#tools.areLeft) return false;
    // A paused run may summarise just before it continues in the next execution.
    return this.#tasks.isDecided || (this.inbox.paused && summaries[this.#summaries]?.scheduledIn === this.#tasks.number);
  }

  /** True exactly when history continues in the next execution, and the session did not wait before. */
  continueBeforeSleep(): boolean {
    const { end, archivings } = this.#recorded;
    return (end?.type === 'continued' || archivings.length > 0) && this.#tasks.isDecided;
  }

  refreshAgent(): Promise<Resolved> {
    return this.resolveHandoff(this.#state?.snapshot.name ?? '');
  }

  readonly withinTurn: SessionPorts['withinTurn'] = (turn) => turn();
  readonly inBackground: SessionPorts['inBackground'] = begunWork;
  readonly readMessage: SessionPorts['readMessage'] = () => this.#keeper.readMessage();
  readonly turnEnded: SessionPorts['turnEnded'] = (runId) => this.#keeper.turnEnded(runId);

  /** The ends of children are signals of the history. */
  async endChildren(): Promise<void> {}
  async closeKept(): Promise<void> {}

  recorded({ approvals }: RunState): void {
    for (const { callId } of approvals.pending) this.waited.add(callId);
  }

  allows(change: LoopChange): boolean {
    return this.#recorded.changes.has(change);
  }

  /** Checks that the loop has used everything that is recorded. Throws `history_unreadable` if anything is left. */
  end(): void {
    const { modelCalls, summaries, guardrailChecks, authorizations } = this.#recorded;
    const left = [
      ...modelCalls.slice(this.#modelCalls),
      ...summaries.slice(this.#summaries),
      ...guardrailChecks.slice(this.#guardrailChecks),
      ...authorizations.slice(this.#authorizations),
    ];
    if (left.some(({ task }) => task !== undefined)) throw this.#diverged(`its end after ${this.#state?.window.through ?? 0} events`);
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

/** The requests of a session to the run that keeps it, as history has recorded them. */
class RecordedKeeper {
  readonly #recorded: RecordedExecution;
  readonly #tasks: RecordedTasks;
  #messageReads = 0;
  #reports = 0;

  constructor(recorded: RecordedExecution, tasks: RecordedTasks) {
    this.#recorded = recorded;
    this.#tasks = tasks;
  }

  /** Returns the message of a call that was too large to be sent. */
  async readMessage(): Promise<MessageContent> {
    const recorded = this.#recorded.messageReads[this.#messageReads];
    this.#messageReads += 1;
    const ended = await this.#tasks.endOf(recorded, { isWaitedFor: true });
    return ended.failure === undefined ? { type: 'read', content: ended.output } : unreadMessage(ended.failure);
  }

  /** Waits until the run was told of the end of a turn. */
  async turnEnded(runId: string): Promise<void> {
    const recorded = childOf(this.#recorded, runId).reports[this.#reports];
    this.#reports += 1;
    await this.#tasks.endOf(recorded, { isWaitedFor: true, isNeverRefused: true });
  }
}

/** The agents that a run which is read back has started by tool calls. Those of the steps of a program are not among them. */
class RecordedAgents {
  /** The number of agents that the run waits for. */
  running = 0;
  readonly #recorded: RecordedExecution;
  readonly #tasks: RecordedTasks;
  /** The agents that the run has not started yet. */
  readonly #left: Set<string>;

  /** The number of further turns that the run has asked for, by the id of the session. */
  readonly #asked = new Map<string, number>();

  constructor(recorded: RecordedExecution, tasks: RecordedTasks) {
    this.#recorded = recorded;
    this.#tasks = tasks;
    const isProgram = recorded.program !== undefined || recorded.carry?.snapshot.program !== undefined;
    this.#left = new Set(isProgram ? [] : [...recorded.children].flatMap(([runId, { started }]) => (started === undefined ? [] : [runId])));
  }

  /** Returns the run id of the agent that a call has started. One that has not started gets the prefix alone. */
  runIdOf(prefix: string): string {
    const found = [...this.#left].find((runId) => runId.startsWith(prefix));
    this.#left.delete(found ?? '');
    return found ?? prefix;
  }

  /** Counts an agent until the wait for it ends. */
  async during({ of, runId, next }: ChildCall, outcome: Promise<ChildOutcome>): Promise<ChildOutcome> {
    if (of === undefined) return outcome;
    this.running += 1;
    if (next !== undefined) this.#asked.set(runId, (this.#asked.get(runId) ?? 0) + 1);
    const ended = await outcome;
    this.running -= 1;
    return ended;
  }

  /** True if history starts an agent in that task, or asks one again, which the run has not done yet. */
  startsIn(task: number): boolean {
    const { children } = this.#recorded;
    if ([...this.#left].some((runId) => children.get(runId)?.started?.scheduledIn === task)) return true;
    return [...children].some(([runId, { nextTurns }]) =>
      nextTurns.slice(this.#asked.get(runId) ?? 0).some(({ scheduledIn }) => scheduledIn === task),
    );
  }

  /** True if the run has left its agents to the next execution by the current task: it tells those that it has started itself. */
  get areLeft(): boolean {
    const task = this.#tasks.number;
    const { children, end } = this.#recorded;
    if ([...children.values()].some(({ told }) => (told?.scheduledIn ?? Infinity) <= task)) return true;
    return end?.type === 'continued' && this.#left.size === 0 && this.#tasks.isDecided;
  }
}

/**
 * Returns the ids of the events that the workflow created itself, by offset, as far as history records them: the
 * inputs of model calls and summaries name some, and the state of the next execution names those that it carries
 * over.
 */
export function recordedEventIds({ modelCalls, summaries }: RecordedExecution, next: ContinueAsNewState | undefined): Map<number, string> {
  const ids = new Map<number, string>();
  for (const { input } of [...summaries, ...modelCalls]) ids.set(input.through - 1, input.lastEventId);
  for (const { input } of modelCalls) {
    const earlier = input.earlierIds ?? [];
    for (const [index, id] of earlier.entries()) if (id !== '') ids.set(input.through - 1 - earlier.length + index, id);
  }
  if (next === undefined) return ids;
  ids.set(next.window.through - 1, next.window.lastEventId);
  for (const { offset, id } of next.window.events) ids.set(offset, id);
  return ids;
}

/**
 * Returns the ids of the events of calls of a program, by the ids of the calls, as far as activities and the state of the next execution
 * name them.
 */
export function recordedCallEvents(
  { toolCalls, termsRequests, notifications }: RecordedExecution,
  next: ContinueAsNewState | undefined,
): Map<string, string> {
  const calls = [...toolCalls.values(), ...termsRequests.values()].map(({ input }): [string, string] => [input.callId, input.eventId]);
  const waiting = notifications.map(
    ({
      input: {
        waiting: { callId, key },
      },
    }): [string, string] => [callId, key.split('/')[0] ?? ''],
  );
  const carried = (next?.program?.steps ?? []).flatMap(([at, { attempts, progress }]): [string, string][] => {
    const { call, callEventId } = progress ?? {};
    const reserved: [string, string][] = callEventId === undefined ? [] : [[callIdAt(at, attempts), callEventId]];
    return [...reserved, ...(call === undefined ? [] : [[call.callId, call.eventId] satisfies [string, string]])];
  });
  return new Map([...calls, ...waiting, ...carried]);
}

/** Returns an id for an event whose own id is not in history. It is the same each time the run is read back. */
function derivedEventId(executionId: string, offset: number | string): string {
  const hex = createHash('sha256').update(`${executionId}/${offset}`).digest('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20, 32)].join('-');
}
