import { setImmediate } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { archiveFailure, notifyFailure } from '../core/activity-requests/activity-request.ts';
import { splitResolved } from '../core/activity-requests/agent-requests.ts';
import { recordOfBurst } from '../core/activity-requests/burst-requests.ts';
import type { AtEndInput, CallHooksOutput, RunBurstInput } from '../core/activity-requests/contracts.ts';
import { endedWithHooks } from '../core/activity-requests/hook-requests.ts';
import type { StoredBurst } from '../core/bursts/burst.ts';
import { beginArchiving, endArchiving, withNotArchived } from '../core/capabilities/archive.ts';
import { firstAgent, isFlow, keptAgents } from '../core/capabilities/handoffs.ts';
import { noteNotifyEndedFailure } from '../core/capabilities/notifications.ts';
import type { AgentSnapshot } from '../core/domain/agent.ts';
import { errorCode, errorMessage, LonghaulError } from '../core/domain/errors.ts';
import { defined } from '../core/domain/json.ts';
import type { LimitRaise } from '../core/domain/limits.ts';
import type { Event } from '../core/domain/record.ts';
import type { RunResultFields } from '../core/domain/result.ts';
import type { Principal } from '../core/domain/run.ts';
import { endedTurns, sessionOf, type TurnResultFields } from '../core/domain/sessions.ts';
import type { StepResult } from '../core/domain/tool-calls.ts';
import type { UnreadMessage } from '../core/domain/views.ts';
import { type FirstStart, firstState, withOpening } from '../core/first-start.ts';
import { interpret, type InterpreterPorts } from '../core/interpret.ts';
import { type ContinueAsNewState, fromContinueAsNewState } from '../core/kernel/continue-as-new.ts';
import type { Ending, RunPosition } from '../core/kernel/next-step.ts';
import { BEGINNING, closeRun, type LoopEnd } from '../core/kernel/run-loop.ts';
import type { RunState } from '../core/kernel/run-state.ts';
import type { ArchiveEventsInput, CallModelInput, CallModelOutput } from '../core/protocol.ts';
import { describeRun, runOutcome } from '../temporal/run-workflow.ts';
import {
  type ChainedExecution,
  type ExecutionBeginning,
  executionBeginning,
  nameOfInput,
  recordedExecution,
  type SeeEvent,
} from './execution-reader.ts';
import { isGone } from './history-events.ts';
import {
  activitiesNamed,
  type EndedAttempt,
  type ExecutionEnd,
  isHandoff,
  type LostActivity,
  type RecordedActivity,
  type RecordedExecution,
  type ToolCallInBurst,
} from './recorded-execution.ts';
import { recordedCallEvents, recordedEventIds, RecordedRun } from './recorded-ports.ts';
import { RecordedTasks } from './recorded-tasks.ts';

/** The record of one execution of a run, read from its history. */
export interface ReadExecution {
  /** Temporal's run id. */
  executionId: string;
  /** The previous execution; undefined for the first. */
  continuedFrom?: string;
  recorded: RecordedExecution;
  run: ReadBackRun;
  /** Offset of the first event. */
  firstOffset: number;
  events: Event[];
  /** Index of the first step. */
  firstStep: number;
  steps: StepResult[];
  /** The lost attempts, among the last two of each activity: their worker stopped answering. */
  losses: LostActivity[];
  /** The attempts that ended activities, as reported by workers. */
  endedAttempts: EndedAttempt[];
  /** Undefined while the execution is running. */
  end?: ExecutionEnd;
  /** The first offset and step of the next execution: this execution must have recorded everything before them. */
  next?: { firstOffset: number; firstStep: number };
}

/** True for the run of a flow that has begun. */
export function isOfFlow({ state }: ReadBackRun): boolean {
  return state !== undefined && isFlow(state);
}

/** Reads one execution, or returns undefined if the server does not have it. `see` is called with each event of its history. */
export async function readExecution(
  client: Client,
  runId: string,
  executionId: string,
  see?: SeeEvent,
): Promise<ReadExecution | undefined> {
  let recorded;
  try {
    recorded = await recordedExecution(client, runId, executionId, see);
  } catch (error) {
    if (isGone(error)) return undefined;
    throw error;
  }
  const { end, continuedFrom } = recorded;
  const continuedState = end?.type === 'continued' ? (await executionBeginning(client, runId, end.executionId))?.continuedState : undefined;
  const run = await readBack(runId, recorded, continuedState);
  const { state } = run;
  const steps = state?.steps ?? [];
  return {
    executionId,
    ...defined({ continuedFrom }),
    recorded,
    run,
    firstOffset: state?.firstOffset ?? 0,
    events: state?.context.events ?? [],
    firstStep: (state?.context.currentStep ?? 0) - steps.length,
    steps,
    losses: recorded.losses ?? [],
    endedAttempts: recorded.endedAttempts ?? [],
    ...defined({ end }),
    ...(continuedState === undefined
      ? {}
      : { next: { firstOffset: continuedState.window.through, firstStep: continuedState.currentStep } }),
  };
}

/**
 * The part of a run to read: from the execution that holds the given event or step, to the last one that begins
 * before `untilOffset`.
 */
interface ReadRange {
  fromOffset?: number;
  fromStep?: number;
  /** 1-based. */
  fromTurn?: number;
  untilOffset?: number;
}

/** Finds the executions of a run, oldest first. */
interface ExecutionLookUp {
  executions(): Promise<ChainedExecution[]>;
}

/**
 * Reads a run execution by execution, oldest first, so that only one is in memory. It includes executions that
 * begin while it reads, and starts with the oldest one left if the server has removed earlier ones.
 */
export async function* readRun(
  client: Client,
  runId: string,
  chain: ExecutionLookUp,
  range: ReadRange = {},
): AsyncGenerator<ReadExecution> {
  const { untilOffset = Infinity } = range;
  const executions = await chain.executions();
  let next = executions[firstIndex(executions, range)]?.executionId;
  while (next !== undefined) {
    const read = await readExecution(client, runId, next);
    const after = executionAfter(executions, next);
    if (read === undefined) {
      // This execution was removed after the chain was looked up; later ones still exist.
      next = after;
      continue;
    }
    if (read.firstOffset >= untilOffset) return;
    yield read;
    // If the next execution was reset, this one still names the execution that the reset replaced.
    next = after ?? (read.end?.type === 'continued' ? read.end.executionId : undefined);
  }
}

/** Returns the execution after another one, or undefined for the last known one. */
function executionAfter(executions: readonly ChainedExecution[], executionId: string): string | undefined {
  const index = executions.findIndex((one) => one.executionId === executionId);
  return index === -1 ? undefined : executions[index + 1]?.executionId;
}

/** Returns the index of the execution to begin with. */
function firstIndex(
  executions: readonly ChainedExecution[],
  { fromOffset = Infinity, fromStep = Infinity, fromTurn = Infinity }: ReadRange,
): number {
  if (fromOffset === Infinity && fromStep === Infinity && fromTurn === Infinity) return 0;
  return Math.max(
    0,
    executions.findLastIndex(
      ({ firstOffset, firstStep, firstTurn }) => firstOffset <= fromOffset && firstStep <= fromStep && firstTurn <= fromTurn,
    ),
  );
}

/** The state of a run that results from running the loop again over the history of one execution. */
export interface ReadBackRun {
  /** The agent that the input names; empty if the input names none. */
  agentName: string;
  /** The identity on whose behalf the run acts. */
  principal?: Principal;
  /** The start of the first execution of the run, in milliseconds since the epoch. */
  startedAt: number;
  /** The number of executions of the run up to this one. */
  executions: number;
  /** The number of messages in the queue. */
  queued: number;
  /** The messages in the queue. */
  unread: readonly UnreadMessage[];
  /** The accepted raises of limits that are not yet applied. Absent if the run has not begun. */
  raises?: readonly LimitRaise[];
  /** Ids of the calls that have waited for a decision in this execution, decided or not. */
  waited: ReadonlySet<string>;
  /** The burst that the run waits for, and the time at which it began, in milliseconds since the epoch. */
  burst?: { begunAt: number };
  /** The inputs of the model calls that the loop requested, including those in bursts, by key; the first if several share a key. */
  modelCalls: ReadonlyMap<string, CallModelInput>;
  /** The tool calls of a run that makes bursts, by their keys. */
  toolCalls: ReadonlyMap<string, ToolCallInBurst>;
  /** The attempts that ended local calls: only the markers of an execution have them. */
  localAttempts: readonly EndedAttempt[];
  /** The state with the events and steps of this execution only. Undefined if the agent was never resolved. */
  state?: RunState;
  /** Undefined if the run has not ended in this execution. */
  result?: RunResultFields;
}

/**
 * Runs the loop again over the record of one execution, with every answer taken from history. This gives the events,
 * steps and result of the run without a worker. Ids that only the workflow knew are taken from the inputs that name
 * them and from `next`, the state carried into the next execution; all others are derived from the offset.
 */
export async function readBack(runId: string, recorded: RecordedExecution, next?: ContinueAsNewState): Promise<ReadBackRun> {
  const { input, program, continuedState, startedAt } = recorded;
  const principal = continuedState === undefined ? (program ?? input)?.principal : continuedState.principal;
  const known = {
    agentName: nameOfBeginning({ nameOfInput: nameOfInput(recorded), ...defined({ continuedState }) }),
    ...defined({ principal }),
    startedAt: sessionOf(continuedState ?? {})?.startedAt ?? continuedState?.startedAt ?? startedAt,
    executions: (continuedState?.executions ?? 0) + 1,
  };
  const tasks = new RecordedTasks(runId, recorded, next?.window.through);
  const ids = recordedEventIds(recorded, next);
  const run = new RecordedRun(recorded, tasks, {
    ids,
    callEvents: recordedCallEvents(recorded, next),
  });
  const beginning = beginningOf(runId, recorded, { tasks, run });
  if (beginning === undefined) {
    tasks.reach();
    return { ...known, ...queueOf(tasks), ...callsOf(run) };
  }
  const { state, position } = beginning;
  const { ports, end: endBursts } = run.ports(runId, state.snapshot, state);
  const replay = { tasks, run, ports, endBursts };
  const first = await replayLoop(replay, state, position);
  const end =
    first?.type === 'continue' && wasCancelled(recorded)
      ? await finishCancelled(replay, state, { position: first.position, recorded })
      : first;
  readArchivings(recorded, state);
  readEndNotification(recorded, state);
  // The id of a call of a program is made before its offset is known.
  for (const [index, event] of state.context.events.entries()) event.id = ids.get(state.firstOffset + index) ?? event.id;
  // A run that has decided to end refuses later messages.
  tasks.inbox.closed = end?.type === 'finished';
  tasks.reach();
  const result = end?.type === 'finished' ? end.result : undefined;
  return {
    ...known,
    ...queueOf(tasks),
    raises: tasks.inbox.closed ? [] : tasks.inbox.raises,
    ...callsOf(run),
    ...defined({ burst: run.burst }),
    state,
    ...(result === undefined ? {} : { result: withEndHooks(withNotArchived(result, state), recorded) }),
  };
}

function queueOf({ inbox: { queued, messages: unread } }: RecordedTasks): Pick<ReadBackRun, 'queued' | 'unread'> {
  return { queued, unread };
}

/** Returns the agent or program that a run began with, from the beginning of any of its executions. */
export function nameOfBeginning({
  nameOfInput: named,
  continuedState,
}: Pick<ExecutionBeginning, 'nameOfInput' | 'continuedState'>): string {
  return continuedState === undefined ? named : firstAgent(continuedState);
}

/** Returns what is known about the calls of a run that was read back. */
function callsOf(run: RecordedRun): Pick<ReadBackRun, 'waited' | 'modelCalls' | 'toolCalls' | 'localAttempts'> {
  const { waited, modelCalls, toolCalls, localAttempts } = run;
  return { waited, modelCalls, toolCalls, localAttempts };
}

/** The tasks of an execution, and the loop's ports over them. */
interface Replay {
  tasks: RecordedTasks;
  run: RecordedRun;
  ports: InterpreterPorts;
  endBursts: () => void;
}

/**
 * Returns the state and position that the loop begins with. A new run has a state only once its agent is resolved:
 * messages before that found none. A continued run has its state from the start.
 */
function beginningOf(
  runId: string,
  { continuedState, input, program, resolved, startedAt }: RecordedExecution,
  { tasks, run }: Pick<Replay, 'tasks' | 'run'>,
): { state: RunState; position: RunPosition } | undefined {
  if (resolved === undefined) return undefined;
  if (continuedState !== undefined) {
    // The loop modifies the state that it begins with.
    const beginning = fromContinueAsNewState(structuredClone(continuedState));
    tasks.state = beginning.state;
    tasks.reach(resolved.task);
    return beginning;
  }
  tasks.reach(resolved.task);
  const given: FirstStart | undefined =
    program !== undefined ? { type: 'program', input: program } : input === undefined ? undefined : { type: 'input', input };
  if (given === undefined) return undefined;
  const start = withOpening(given, resolved.opening);
  // The ports take the offset from the state, which exists only once all events of the opening are recorded.
  let offset = 0;
  const clock = { now: () => tasks.now(), uuid: () => run.eventId(offset++) };
  const deps = start.input.deps ?? {};
  tasks.state = firstState(start, { runId, snapshot: resolved.snapshot, deps, startedAt, notices: resolved.notices }, clock);
  return { state: tasks.state, position: BEGINNING };
}

/**
 * Runs the loop to its end, or returns undefined if history ends first. All work of one task settles before the next
 * task.
 */
async function replayLoop(replay: Replay, state: RunState, from: RunPosition): Promise<LoopEnd | undefined> {
  const { tasks, run } = replay;
  const loop = loopEnd(replay, state, from);
  let end: LoopEnd | undefined;
  do end = await Promise.race([loop, setImmediate(undefined)]);
  while (end === undefined && (tasks.release() || tasks.endLocalCalls() || tasks.next()));
  run.end();
  return end;
}

/** Returns the end of the loop, also if the run was ended because its burst had made different calls. */
async function loopEnd({ ports, endBursts }: Replay, state: RunState, from: RunPosition): Promise<LoopEnd> {
  try {
    const end = await interpret(state, ports, from);
    endBursts();
    return end;
  } catch (error) {
    if (errorCode(error) !== 'internal') throw error;
    const ending: Ending = {
      status: 'error',
      stopReason: 'error',
      output: state.thought,
      error: { code: 'internal', message: errorMessage(error) },
    };
    return { type: 'finished', result: closeRun(state, ports, ending) };
  }
}

/** True if the run was cancelled before it could continue as new. While its events are archived, it has not decided yet. */
function wasCancelled(recorded: RecordedExecution): boolean {
  const { cancel, end } = recorded;
  const archivings = archivingsOf(recorded);
  const isArchiving = archivings.length > 0 && archivings[0]?.task === undefined;
  return end?.type !== 'continued' && cancel?.task !== undefined && !isArchiving;
}

/**
 * Finishes a run that was cancelled just before it would have continued as new: it ends in this execution, from its
 * position.
 */
async function finishCancelled(
  replay: Replay,
  state: RunState,
  { position, recorded }: { position: RunPosition; recorded: RecordedExecution },
): Promise<LoopEnd | undefined> {
  replay.tasks.reach(archivingsOf(recorded)[0]?.task);
  return replayLoop(replay, state, position);
}

/** Applies the recorded calls of the archive to the state. The run does not know an end that no task has seen. */
function readArchivings(recorded: RecordedExecution, state: RunState): void {
  const { taskTimes, startedAt } = recorded;
  for (const { input, scheduledIn, failure, task } of archivingsOf(recorded)) {
    beginArchiving(state, input, taskTimes[scheduledIn - 1] ?? startedAt);
    if (task !== undefined) endArchiving(state, failure === undefined ? undefined : archiveFailure(failure));
  }
}

/** Returns the calls of the archive, ended or not. There is a second one if the run was cancelled during the first. */
function archivingsOf(recorded: RecordedExecution): RecordedActivity<ArchiveEventsInput, unknown>[] {
  return activitiesNamed(recorded, 'archiveEvents');
}

function withEndHooks(result: RunResultFields, recorded: RecordedExecution): RunResultFields {
  const endHooks = activitiesNamed(recorded, 'callHooks').findLast(({ input }) => 'status' in input);
  if (endHooks?.task === undefined) return result;
  const { input, output, failure } = endHooks;
  return endedWithHooks(result, input as AtEndInput, { output: output as CallHooksOutput | undefined, failure });
}

/** Applies the recorded notification of the end to the state, if a task has seen its outcome. */
function readEndNotification(recorded: RecordedExecution, state: RunState): void {
  const endNotification = activitiesNamed(recorded, 'notifyEnded').at(-1);
  if (endNotification?.task === undefined || endNotification.failure === undefined) return;
  const outcome = notifyFailure(endNotification.failure);
  if (outcome.type === 'failed') noteNotifyEndedFailure(state, outcome.message);
}

/** A turn of a session: by the call that it answers if there is one, because a run that was reset may know another number. */
export interface WantedTurn {
  turn: number;
  call?: string;
}

function isTurn(result: TurnResultFields, { turn, call }: WantedTurn): boolean {
  return call === undefined ? result.turn === turn : result.call === call;
}

/** Returns the result of a turn from the session's histories, newest first. Undefined if it has not ended or its history was removed. */
export async function recordedTurn(client: Client, sessionId: string, wanted: WantedTurn): Promise<TurnResultFields | undefined> {
  const { runId } = await describeRun(client, sessionId);
  let executionId: string | undefined = runId;
  while (executionId !== undefined) {
    const read = await readExecution(client, sessionId, executionId);
    const result = endedTurns(read?.run.state ?? {}).find((one) => isTurn(one, wanted));
    if (result !== undefined) return result;
    executionId = read?.continuedFrom;
  }
  return undefined;
}

/**
 * Returns the result of a turn of an ended session. If the session ended without ending the turn, for example because its agent
 * could not be resolved, returns the session's result. Throws `run_ended` if it was closed before the turn, `run_terminated` and
 * `run_timed_out`.
 */
export async function turnOfEndedSession(
  client: Client,
  sessionId: string,
  wanted: WantedTurn,
): Promise<RunResultFields | TurnResultFields> {
  const { turn } = wanted;
  const recorded = await recordedTurn(client, sessionId, wanted);
  if (recorded !== undefined) return recorded;
  const result = await runOutcome(client, sessionId);
  // A closed session has an answer, but to an earlier call.
  const hasBegun = wanted.call === undefined ? (result.turns ?? turn) >= turn : result.status !== 'completed';
  if (hasBegun) return result;
  throw new LonghaulError('run_ended', `Session "${sessionId}" ended before its turn ${turn}: begin another session`);
}

/** A recorded model call. */
export type RecordedModelCall = RecordedActivity<CallModelInput, CallModelOutput>;

/** True for a model call, and for a burst, which begins with one. */
export function isModelCall<Activity extends { name: string; input: unknown }>(
  activity: Activity,
): activity is Activity & { input: CallModelInput } {
  return activity.name === 'callModel' || activity.name === 'runBurst';
}

/** Returns all model calls of an execution in order, including those in bursts. */
export function modelCallsOf({ recorded, run }: Pick<ReadExecution, 'recorded' | 'run'>): RecordedModelCall[] {
  return recorded.activities.filter(isModelCall).flatMap((activity): RecordedModelCall[] => {
    if (activity.name === 'callModel') return [activity as RecordedModelCall];
    const burst = activity as RecordedActivity<RunBurstInput, StoredBurst>;
    const { input, scheduledIn, task } = burst;
    // The burst is still open, and so is its first call.
    if (task === undefined) return [{ input, scheduledIn }];
    return (recordOfBurst(burst, recorded.checkpoints)?.entries ?? []).flatMap(({ key, model }) => {
      const asked = run.modelCalls.get(key);
      if (model === undefined || asked === undefined) return [];
      return [{ input: asked, scheduledIn, task, ...(model.type === 'response' ? { output: model } : {}) }];
    });
  });
}

/** Returns the pinned agents of one execution by digest. */
export function pinnedAgents(recorded: RecordedExecution): ReadonlyMap<string, AgentSnapshot> {
  const { continuedState, resolved } = recorded;
  // Reading a carried state modifies it, so it is cloned.
  const carried = continuedState === undefined ? [] : keptAgents(fromContinueAsNewState(structuredClone(continuedState)).state);
  const takenOver = activitiesNamed(recorded, 'resolveAgent').flatMap(({ input, output }) =>
    output === undefined || !isHandoff({ name: 'resolveAgent', input }) ? [] : [splitResolved(output).snapshot],
  );
  const all = [...carried, ...(resolved === undefined ? [] : [resolved.snapshot]), ...takenOver];
  return new Map(all.map((snapshot) => [snapshot.digest, snapshot]));
}

/**
 * Returns the agent at an offset: the agent of the last model call that had begun by then, or the
 * initial agent of the execution. Undefined if no agent was resolved.
 */
export function agentAt(recorded: RecordedExecution, offset: number): AgentSnapshot | undefined {
  const call = recorded.activities.findLast((one) => isModelCall(one) && one.input.through <= offset) as RecordedModelCall | undefined;
  return (call && pinnedAgents(recorded).get(call.input.agent)) ?? recorded.resolved?.snapshot;
}
