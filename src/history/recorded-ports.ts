import { createHash } from 'node:crypto';
import { ActivityCancellationType } from '@temporalio/common';
import { activityPorts, toolRequestInBurst } from '../core/activity-requests/activity-ports.ts';
import type { ActivityRequest, RequestingRun } from '../core/activity-requests/activity-request.ts';
import { modelRequest } from '../core/activity-requests/agent-requests.ts';
import { burstRequest, checkpointOf } from '../core/activity-requests/burst-requests.ts';
import { childProblem, ENDED_SESSION, endOfFailure, messageProblem, readChildRequest } from '../core/activity-requests/child-requests.ts';
import {
  type ActivityName,
  type CallModelInput,
  hasTrait,
  isOwnActivity,
  type RunBurstInput,
} from '../core/activity-requests/contracts.ts';
import { type BurstingPorts, burstPorts, type EndedBurst } from '../core/bursts/burst-ports.ts';
import { makesBursts, modelKey, type StoredBurst, toolKey, withCheckpoint } from '../core/bursts/burst.ts';
import { type ChildEffects, followChild, forgetChild, hasChildEnded } from '../core/capabilities/children/children.ts';
import type { AgentSnapshot } from '../core/domain/agent.ts';
import type { Decision } from '../core/domain/approvals.ts';
import type { ChildCall, ChildOutcome } from '../core/domain/children.ts';
import { errorMessage, LonghaulError } from '../core/domain/errors.ts';
import { DEFAULT_CHILD_CHECK_MS } from '../core/domain/run-input.ts';
import type { InterpreterPorts } from '../core/interpret.ts';
import type { ContinueAsNewState } from '../core/kernel/continue-as-new.ts';
import type { Growth, Leaving, ModelCall } from '../core/kernel/ports.ts';
import type { RunState } from '../core/kernel/run-state.ts';
import { callIdAt } from '../core/program/program-index.ts';
import { begunWork } from '../core/sessions/run-session.ts';
import {
  activitiesNamed,
  childOf,
  type EndedAttempt,
  isFull,
  isFullFor,
  isHandoff,
  isToolActivity,
  type RecordedActivity,
  type RecordedExecution,
  type ToolCallInBurst,
  toolCallInBurst,
  toolCallsOf,
} from './recorded-execution.ts';
import type { ActivityEnd, RecordedTasks } from './recorded-tasks.ts';

type LocalCall = RecordedExecution['localCalls'][number];

/** Selects activities by their names. */
type Which = (name: string) => boolean;

/** The recorded activities of one execution, handed out as the loop requests them. */
class RecordedActivities {
  readonly #executionId: string;
  readonly #tasks: RecordedTasks;
  /**
   * The activities that the loop has not requested yet, by name, in the order in which the workflow requested them, except the one that
   * resolved the run's agent before the loop began.
   */
  readonly #left = new Map<string, RecordedExecution['activities']>();
  /** The local activities that the loop has not requested yet, in the order in which they ended. */
  readonly #localLeft: LocalCall[];
  readonly #running = new Set<{ name: string; input: unknown }>();
  /** The local activities that the loop has requested, if their attempts are known: the history does not have their inputs. */
  readonly localAttempts: EndedAttempt[] = [];

  constructor({ executionId, activities, localCalls }: RecordedExecution, tasks: RecordedTasks) {
    this.#executionId = executionId;
    this.#tasks = tasks;
    this.#localLeft = [...localCalls];
    for (const activity of activities) {
      if (activity.name === 'resolveAgent' && !isHandoff(activity)) continue;
      const named = this.#left.get(activity.name);
      if (named === undefined) this.#left.set(activity.name, [activity]);
      else named.push(activity);
    }
  }

  /** Returns the recorded outcome of a request, in the task in which the run received it. */
  perform<Input, Output, Outcome>(request: ActivityRequest<Input, Output, Outcome>): Promise<Outcome> {
    const isWaitedFor = request.options.cancellationType === ActivityCancellationType.WAIT_CANCELLATION_COMPLETED;
    return this.#outcomeOf(request, { isWaitedFor });
  }

  /** As `perform`, for a request that is not cancelled with the run. */
  performAnyway<Input, Output, Outcome>(request: ActivityRequest<Input, Output, Outcome>): Promise<Outcome> {
    return this.#outcomeOf(request, { isWaitedFor: true, isNeverRefused: true });
  }

  /** Throws `history_unreadable` if the run received the end of an activity that the loop did not request. */
  requireUsed(): void {
    for (const [name, named] of this.#left)
      if (named.some(({ task, input }) => task !== undefined && hasTrait('isDecisive', { name, input })))
        throw this.#diverged(`ends without the activity "${name}" that its history has`);
  }

  /** True if the loop has not requested all of these activities yet. */
  areLeft(which: Which): boolean {
    return [...this.#left].some(([name, named]) => named.length > 0 && which(name));
  }

  /** True if the loop has not requested all local activities yet. They run when requested, so the rest belong to this execution. */
  get areLocalLeft(): boolean {
    return this.#localLeft.length > 0;
  }

  /** True if this workflow task requested such an activity but the loop has not yet. */
  startsIn(task: number, which: Which): boolean {
    // Activities with the same name are in order, so a long history is not searched for each request.
    const isFirst = (named: RecordedExecution['activities']): boolean =>
      named.find(({ scheduledIn }) => scheduledIn >= task)?.scheduledIn === task;
    return [...this.#left].some(([name, named]) => which(name) && isFirst(named));
  }

  /** True if the loop waits for such an activity. */
  areRunning(which: (activity: { name: string; input: unknown }) => boolean): boolean {
    return [...this.#running].some(which);
  }

  async #outcomeOf<Input, Output, Outcome>(
    request: ActivityRequest<Input, Output, Outcome>,
    wait: { isWaitedFor: boolean; isNeverRefused?: boolean },
  ): Promise<Outcome> {
    const recorded = this.#take(request) ?? (request.tier === 'local' ? this.#takeLocal(request) : undefined);
    this.#running.add(request);
    const { output, failure }: ActivityEnd<unknown> = await this.#tasks.endOf(recorded, wait);
    this.#running.delete(request);
    if (failure !== undefined) return request.failed(failure);
    const again = request.again?.(output as Output);
    return again === undefined ? request.returned(output as Output) : this.#outcomeOf({ ...request, input: again }, wait);
  }

  #take<Input>({ name, key, input }: ActivityRequest<Input, never, unknown>): RecordedActivity<unknown, unknown> | undefined {
    const named = this.#left.get(name) ?? [];
    const wanted = key?.(input);
    const index = key === undefined ? 0 : named.findIndex((one) => key(one.input as Partial<Input>) === wanted);
    if (index >= 0) return named.splice(index, 1)[0];
    const other = named.find((one) => hasTrait('isDecisive', { name, input: one.input }));
    // A cancelled run starts nothing: the remaining activities belong to a later turn.
    if (other === undefined || this.#tasks.cancelRequested()) return undefined;
    const had = key?.(other.input as Partial<Input>) ?? '';
    throw this.#diverged(`requests the activity "${name}" for "${wanted ?? ''}", and its history has that for "${had}"`);
  }

  #diverged(how: string): LonghaulError {
    const events = this.#tasks.state?.window.through ?? 0;
    return new LonghaulError(
      'history_unreadable',
      `Execution "${this.#executionId}" cannot be read back: after ${events} events, the loop of this release ${how}. Read it with the ` +
        'release that ran it, or with a worker that answers its queries',
    );
  }

  /**
   * Takes a local activity. Its marker holds no input, so its output identifies it. The marker of a failure has none; it belongs to
   * the first activity that the workflow requested with this name and that no other request matches.
   */
  #takeLocal<Input>({ name, key, input }: ActivityRequest<Input, never, unknown>): LocalCall | undefined {
    const wanted = key?.(input);
    const named = this.#localLeft.filter((one) => one.input.name === name);
    const failed = named.filter(({ failure }) => failure !== undefined).toSorted((a, b) => a.input.seq - b.input.seq);
    const isWanted = (output: unknown): boolean => output !== undefined && key?.(output as Partial<Input>) === wanted;
    const returned = named.find(({ output }) => isWanted(output));
    if (returned !== undefined) this.#noteLocal(returned, input);
    const found = returned ?? failed[0];
    if (found !== undefined) this.#localLeft.splice(this.#localLeft.indexOf(found), 1);
    return found;
  }

  /** Records a local activity that ended with its first attempt. The time of a later attempt is unknown. */
  #noteLocal({ input: { name, attempt, scheduledAt: localAt, endedAt }, output }: LocalCall, input: unknown): void {
    if (attempt !== 1 || localAt === undefined || endedAt === undefined) return;
    const times = { localAt, scheduledAt: localAt, startedAt: localAt, endedAt: Math.max(localAt, endedAt) };
    this.localAttempts.push({ name, input, activityId: '', attempt, ...times, output });
  }
}

/** Selects the activities of these names. */
function withName(...names: ActivityName[]): Which {
  return (name) => isOwnActivity(name) && names.includes(name);
}

/** The event ids in the history: by offset, and for calls of a program by call id. */
interface RecordedIds {
  ids: ReadonlyMap<number, string>;
  callEvents: ReadonlyMap<string, string>;
}

const modelCalls = withName('callModel', 'runBurst');
const handoffs = withName('resolveAgent');
const stepAttempts = withName('askStep', 'useMemory');
const loads = withName('loadOutput');
const callsAndSegments: Which = (name) => isToolActivity(name) || name === 'runCode';

/** True for the activities that a tool call waits for: the call itself, a question about its outcome, and what processes its result. */
function isOfCall(activity: { name: string; input: unknown }): boolean {
  return isToolActivity(activity.name) || hasTrait('isOfCall', activity);
}

/**
 * A run that is read back: every answer comes from the history, in the workflow task in which the run received it. What each task
 * requested shows whether the run was about to continue as new.
 */
export class RecordedRun {
  /** Ids of the calls that have waited for a decision. */
  readonly waited = new Set<string>();
  readonly #recorded: RecordedExecution;
  readonly #tasks: RecordedTasks;
  readonly #activities: RecordedActivities;
  readonly #ids: RecordedIds;
  readonly #children: RecordedChildren;
  /** The inputs of the model calls that the loop requested, including those in bursts, by key; the first if several share a key. */
  readonly modelCalls = new Map<string, CallModelInput>();
  /** The tool calls of a run that makes bursts, by their keys. */
  readonly toolCalls = new Map<string, ToolCallInBurst>();
  /** The burst whose end is not in the history. */
  burst: { begunAt: number } | undefined;
  /** The bursts that the run has not made yet. */
  readonly #bursts: RecordedActivity<RunBurstInput, StoredBurst>[];
  /** True if the execution continued as new, or was about to. */
  readonly #continues: boolean;
  /** True if outputs of a program were stored, which happens before it continues as new. */
  readonly #stores: boolean;

  constructor(recorded: RecordedExecution, tasks: RecordedTasks, ids: RecordedIds) {
    this.#recorded = recorded;
    this.#tasks = tasks;
    this.#activities = new RecordedActivities(recorded, tasks);
    this.#ids = ids;
    this.#children = new RecordedChildren(recorded, tasks, this.#activities);
    this.#bursts = activitiesNamed(recorded, 'runBurst');
    this.#continues = recorded.end?.type === 'continued' || activitiesNamed(recorded, 'archiveEvents').length > 0;
    this.#stores = activitiesNamed(recorded, 'storeOutputs').length > 0;
  }

  /** Returns the ports of the loop over the history. */
  ports(runId: string, snapshot: AgentSnapshot, state: RunState): BurstingPorts<InterpreterPorts> {
    const tasks = this.#tasks;
    const activities = this.#activities;
    const children = this.#children;
    const cancelRequested = (): boolean => tasks.cancelRequested();
    const run = { runId, snapshot, state, authorizing: new Map<string, Decision>() };
    const ports: InterpreterPorts = {
      ...activityPorts(run, (call) => activities.perform(call), cancelRequested),
      inbox: tasks.inbox,
      now: () => tasks.now(),
      uuid: () => this.eventId(state.window.through),
      callEventId: (callId) => this.#ids.callEvents.get(callId) ?? derivedEventId(this.#recorded.executionId, callId),
      runChild: (call) => children.run(call),
      childRunId: (prefix) => children.runIdOf(prefix),
      cancelRequested,
      until: (isMet, deadline) => tasks.until(isMet, deadline?.at),
      continueDue: (growth, leaving) => this.#continueDue(growth, leaving),
      // True exactly when history continues in the next execution, and the session did not wait before.
      continueBeforeSleep: () => this.#continues && tasks.isDecided,
      allows: (change) => this.allows(change),
      recorded: ({ approvals }) => {
        for (const { callId } of approvals.pending) this.waited.add(callId);
      },
      // The history already has the ends of model calls, turns and children.
      abortModelCall: () => undefined,
      withinTurn: (turn) => turn(),
      inBackground: begunWork,
      turnEnded: (keeper) => children.turnEnded(keeper),
      endChildren: async () => undefined,
      closeKept: async () => undefined,
    };
    const bursting = burstPorts(ports, {
      state: () => state,
      make: (call) => (makesBursts(run.snapshot) && !this.#isCancelledBefore(call) ? this.#burst(run, call) : undefined),
      // The history has the rest of the call as a separate call.
      continueModelCall: (call) => ports.callModel(call),
      continueTool: (invocation) => ports.runTool(invocation),
      settled: () => tasks.settled(),
      growth: () => 0,
    });
    const callModel = bursting.ports.callModel.bind(bursting.ports);
    bursting.ports.callModel = (call) => {
      const key = modelKey(call);
      if (!this.modelCalls.has(key)) this.modelCalls.set(key, modelRequest(run, call).input);
      return callModel(call);
    };
    const runTool = bursting.ports.runTool.bind(bursting.ports);
    bursting.ports.runTool = (invocation) => {
      if (makesBursts(run.snapshot)) this.toolCalls.set(toolKey(invocation), toolCallInBurst(toolRequestInBurst(run, invocation)));
      return runTool(invocation);
    };
    return bursting;
  }

  /** The attempts that ended local calls. */
  get localAttempts(): readonly EndedAttempt[] {
    return this.#activities.localAttempts;
  }

  /** True if the run was cancelled before this call, so no burst began with it: the next burst belongs to a later turn. */
  #isCancelledBefore({ through }: ModelCall): boolean {
    return this.#tasks.cancelRequested() && this.#bursts[0]?.input.through !== through;
  }

  /** Returns the burst that begins with a model call. Its input has its seed and time. */
  async #burst(run: RequestingRun & { state: RunState }, call: ModelCall): Promise<EndedBurst | undefined> {
    const { seed = '', now: begunAt = this.#tasks.now() } = this.#bursts.shift()?.input ?? {};
    this.burst = { begunAt };
    const record = await this.#activities.perform(burstRequest(run, call, { seed, now: begunAt, loop: '' }));
    this.burst = undefined;
    const known = withCheckpoint(record, checkpointOf(seed, this.#recorded.checkpoints));
    return known && { record: known, seed, begunAt };
  }

  /** True if the history records that the run shows the changed behavior. */
  allows(change: string): boolean {
    return this.#recorded.changes.has(change);
  }

  /** Returns the id of an event that the workflow created itself. */
  eventId(offset: number): string {
    return this.#ids.ids.get(offset) ?? derivedEventId(this.#recorded.executionId, offset);
  }

  /** Throws `history_unreadable` unless the loop has used everything that is recorded. */
  end(): void {
    this.#activities.requireUsed();
  }

  /**
   * True exactly when history continues in the next execution. If this task requested a call, continuing was not due;
   * if calls were running and another one was not requested, it was left to the next execution.
   */
  #continueDue(growth: Growth, leaving?: Leaving): boolean {
    const activities = this.#activities;
    const task = this.#tasks.number;
    if (activities.areLocalLeft || activities.startsIn(task, callsAndSegments)) return false;
    if (activities.startsIn(task, modelCalls) || activities.areLeft(handoffs) || this.#children.startsIn(task)) return false;
    if (leaving !== undefined) return this.#children.areLeft;
    if (this.#tasks.state?.program !== undefined) return !activities.areLeft(callsAndSegments) && this.#programContinues(growth);
    if (activities.areRunning(isOfCall) || this.#children.running > 0) return true;
    if (!this.#continues || activities.areLeft(modelCalls) || activities.areLeft(callsAndSegments)) return false;
    // A paused run may summarize just before it continues in the next execution.
    return this.#tasks.isDecided || (this.#tasks.inbox.paused && activities.startsIn(task, withName('summarize')));
  }

  /**
   * True if the program continues in the next execution and starts nothing more in this one: steps that history starts
   * later did not see a full history.
   */
  #programContinues(growth: Growth): boolean {
    const recorded = this.#recorded;
    const activities = this.#activities;
    if (!this.#continues && !this.#stores) return false;
    if (activities.areLeft(stepAttempts) || activities.areLeft(loads) || this.#children.areStepsLeft) return false;
    const task = this.#tasks.number;
    const size = recorded.taskSizes?.[task - 1];
    const limit = this.#tasks.state?.snapshot.continueAsNew;
    if (!isFullFor(growth, size, limit)) return false;
    // A run that continues notifies its children in the same task.
    const tells = [...recorded.children.values()].flatMap(({ told }) => told?.scheduledIn ?? []);
    if (tells.length > 0) return task >= Math.min(...tells);
    const isDraining =
      activities.areRunning((one) => stepAttempts(one.name) || isOfCall(one)) && [...recorded.timers].every((timer) => timer <= task);
    // A program that reads the result of a child may continue as new before it has that result, and may stay if there is room.
    const isReading = activities.areRunning(({ name }) => name === 'readResult') && isFull(size, growth, limit);
    return this.#tasks.isDecided || isDraining || isReading;
  }
}

/** The number of requests about a child that the loop has made. */
interface UsedRequests {
  nextTurns: number;
  interrupts: number;
}

/** The recorded children of a run that is read back, and its keeper. */
class RecordedChildren {
  /** The number of agents that tool calls wait for. */
  running = 0;
  readonly #recorded: RecordedExecution;
  readonly #tasks: RecordedTasks;
  readonly #activities: RecordedActivities;
  /** The agents of tool calls that the loop has not started yet. */
  readonly #agentsLeft: Set<string>;
  /** The children of steps that the program has not started yet, or not awaited. */
  readonly #stepsLeft: Set<string>;
  /** The number of further turns that tool calls have requested, by session id. */
  readonly #asked = new Map<string, number>();
  readonly #used = new Map<string, UsedRequests>();
  #reports = 0;

  constructor(recorded: RecordedExecution, tasks: RecordedTasks, activities: RecordedActivities) {
    this.#recorded = recorded;
    this.#tasks = tasks;
    this.#activities = activities;
    const isProgram = recorded.program !== undefined || recorded.continuedState?.snapshot.program !== undefined;
    const started = [...recorded.children].flatMap(([runId, child]) => (child.started === undefined ? [] : [runId]));
    this.#agentsLeft = new Set(isProgram ? [] : started);
    this.#stepsLeft = new Set(recorded.children.keys());
  }

  /** Returns the run id of the agent that a call has started; only the prefix if it has not started. */
  runIdOf(prefix: string): string {
    const found = [...this.#agentsLeft].find((runId) => runId.startsWith(prefix));
    this.#agentsLeft.delete(found ?? '');
    return found ?? prefix;
  }

  /** Follows a child to its recorded end. */
  async run(call: ChildCall): Promise<ChildOutcome> {
    const { of, runId, next } = call;
    const { childCheckMs = DEFAULT_CHILD_CHECK_MS } = this.#tasks.state?.snapshot.timing ?? {};
    this.#stepsLeft.delete(runId);
    // A run that decides to continue before a child has started leaves it as soon as it starts: the child's notification shows this.
    const isLeft = (): boolean => call.isLeft() || this.#isTold(runId);
    const outcome = followChild(this.#effects(call), { ...call, isLeft }, childCheckMs);
    if (of === undefined) return outcome;
    this.running += 1;
    if (next !== undefined) this.#asked.set(runId, (this.#asked.get(runId) ?? 0) + 1);
    const ended = await outcome;
    this.running -= 1;
    return ended;
  }

  /** Waits until the keeper of this session was notified of the end of a turn. */
  async turnEnded(keeper: string): Promise<void> {
    const recorded = childOf(this.#recorded, keeper).reports[this.#reports];
    this.#reports += 1;
    await this.#tasks.endOf(recorded, { isWaitedFor: true, isNeverRefused: true });
  }

  /** True if the history starts or continues an agent in this task, which the loop has not done yet. */
  startsIn(task: number): boolean {
    const { children } = this.#recorded;
    if ([...this.#agentsLeft].some((runId) => children.get(runId)?.started?.scheduledIn === task)) return true;
    return [...children].some(([runId, { nextTurns }]) =>
      nextTurns.slice(this.#asked.get(runId) ?? 0).some(({ scheduledIn }) => scheduledIn === task),
    );
  }

  get areStepsLeft(): boolean {
    return this.#stepsLeft.size > 0;
  }

  /** True if by the current task the run has left its agents to the next execution: it notifies those that it has started. */
  get areLeft(): boolean {
    const { children, end } = this.#recorded;
    if ([...children.keys()].some((runId) => this.#isTold(runId))) return true;
    return end?.type === 'continued' && this.#agentsLeft.size === 0 && this.#tasks.isDecided;
  }

  /** True if the run has asked a child by the current task to report its end to the next execution. */
  #isTold(runId: string): boolean {
    return (this.#recorded.children.get(runId)?.told?.scheduledIn ?? Infinity) <= this.#tasks.number;
  }

  /** Returns the effects of the wait for a child. Requests about a session are counted over all its turns. */
  #effects({ runId, turn }: ChildCall): ChildEffects {
    const tasks = this.#tasks;
    const child = childOf(this.#recorded, runId);
    const used = this.#used.get(runId) ?? { nextTurns: 0, interrupts: 0 };
    this.#used.set(runId, used);
    const anyway = { isWaitedFor: true, isNeverRefused: true };
    return {
      start: async (start) => {
        const problem = childProblem(start);
        if (problem !== undefined) return problem;
        const { failure } = await tasks.endOf(child.started, anyway);
        if (failure === undefined && turn === undefined) forgetChild(tasks.inbox, runId);
        return failure === undefined ? undefined : errorMessage(failure);
      },
      sendNext: async (next) => {
        const problem = messageProblem(next);
        if (problem !== undefined) return problem;
        const { failure } = await tasks.endOf(child.nextTurns[used.nextTurns++], anyway);
        return failure === undefined ? undefined : ENDED_SESSION;
      },
      end: () => {
        const { closed } = child;
        if (closed === undefined || (closed.task ?? Infinity) > tasks.number) return undefined;
        const { output, failure } = closed;
        return output === undefined ? endOfFailure(failure) : { type: 'ended', result: output };
      },
      hasReported: () => hasChildEnded(tasks.inbox, runId),
      isCancelled: () => tasks.cancelRequested(),
      tell: async () => (await tasks.endOf(child.told, anyway)).failure === undefined,
      cancel: async () => {
        await tasks.endOf(turn === undefined ? child.cancelled : child.interrupts[used.interrupts++], anyway);
      },
      read: () => this.#activities.performAnyway(readChildRequest({ runId })),
      wait: (isMet, deadline) => tasks.untilMet(isMet, deadline?.at),
      now: () => tasks.now(),
    };
  }
}

/**
 * Returns the ids of the events that the workflow created itself, by offset, as far as history records them: the
 * inputs of model calls and summaries name some, and the state of the next execution names those that it carries
 * over.
 */
export function recordedEventIds(recorded: RecordedExecution, next: ContinueAsNewState | undefined): Map<number, string> {
  const calls = [...activitiesNamed(recorded, 'callModel'), ...activitiesNamed(recorded, 'runBurst')];
  const ids = new Map<number, string>();
  for (const { input } of [...activitiesNamed(recorded, 'summarize'), ...calls]) ids.set(input.through - 1, input.lastEventId);
  for (const { input } of calls) {
    const earlier = input.earlierIds ?? [];
    for (const [index, id] of earlier.entries()) if (id !== '') ids.set(input.through - 1 - earlier.length + index, id);
  }
  if (next === undefined) return ids;
  ids.set(next.window.through - 1, next.window.lastEventId);
  for (const { offset, id } of next.window.events) ids.set(offset, id);
  for (const [offset, id] of next.otherIds ?? []) ids.set(offset, id);
  return ids;
}

/**
 * Returns the ids of the events of calls of a program, by the ids of the calls, as far as activities and the state of the next execution
 * name them.
 */
export function recordedCallEvents(recorded: RecordedExecution, next: ContinueAsNewState | undefined): Map<string, string> {
  const asked = [...toolCallsOf(recorded), ...activitiesNamed(recorded, 'reevaluateApproval')];
  const calls = asked.map(({ input }): [string, string] => [input.callId, input.eventId]);
  const waiting = activitiesNamed(recorded, 'notifyWaiting').map(
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

/** Returns an id for an event whose id is not in the history. It is the same each time the run is read back. */
function derivedEventId(executionId: string, offset: number | string): string {
  const hex = createHash('sha256').update(`${executionId}/${offset}`).digest('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20, 32)].join('-');
}
