import { noteNotifyEndedFailure } from '../../src/core/capabilities/notifications.ts';
import {
  CancellationScope,
  condition,
  getRandomStream,
  isCancellation,
  log,
  patched,
  proxySinks,
  uuid4,
  workflowInfo,
} from '@temporalio/workflow';
import { activityPorts } from '../../src/core/activity-requests/activity-ports.ts';
import { archiveRequest, endedRequest } from '../../src/core/activity-requests/decision-requests.ts';
import { endHooksRequest } from '../../src/core/activity-requests/hook-requests.ts';
import type { AgentSnapshot } from '../../src/core/domain/agent.ts';
import { jsonBytes, MAX_PAYLOAD_BYTES } from '../../src/core/domain/byte-budgets.ts';
import { type ErrorCode, errorMessage } from '../../src/core/domain/errors.ts';
import { defined, inboundProblem, isJsonObject, type JsonObject, whyUnreadable } from '../../src/core/domain/json.ts';
import { tooLargeText } from '../../src/core/domain/program-run.ts';
import type { RunResultFields } from '../../src/core/domain/result.ts';
import { DEFAULT_THRESHOLDS, eventsText } from '../../src/core/domain/run.ts';
import { type TracedBeginning, tracedPart } from '../../src/core/domain/traced-part.ts';
import {
  firstRequest,
  type FirstStart,
  firstState,
  nameOfStart,
  rememberParentSession,
  openingKind,
  queriedInput,
  withOpening,
} from '../../src/core/first-start.ts';
import { burstPorts } from '../../src/core/bursts/burst-ports.ts';
import { interpret, type InterpreterPorts } from '../../src/core/interpret.ts';
import { beginArchiving, endArchiving, withNotArchived } from '../../src/core/capabilities/archive.ts';
import { BEGINNING, closeRun, closeUnstarted, type LoopEnd } from '../../src/core/kernel/run-loop.ts';
import { firstAgent, isFlow } from '../../src/core/capabilities/handoffs.ts';
import { type Ending, partialAnswer, type RunPosition } from '../../src/core/kernel/next-step.ts';
import type { Growth, RunPorts } from '../../src/core/kernel/ports.ts';
import {
  type ContinueAsNewState,
  fromContinueAsNewState,
  readContinueAsNewState,
  toContinueAsNewState,
} from '../../src/core/kernel/continue-as-new.ts';
import { Inbox } from '../../src/core/kernel/inbox.ts';
import type { RunState } from '../../src/core/kernel/run-state.ts';
import { cancelledByParent, parentOf } from '../../src/core/domain/run-input.ts';
import { checkProgramInput, checkRunInput, type ExecutionOrigin, originProblem } from '../../src/core/input-checks.ts';
import { cancelReason, isCancelledByWorkflow } from '../interceptors/cancellation.ts';
import { workflowBursts } from './bursts.ts';
import { cancelChildren, closeAllKept, closeKept, endChildren, finishTelling, reportTurn, runChild } from './children.ts';
import { isRunCancelled, scheduleInTime, until, withinDeadline } from './deadline.ts';
import {
  abortModelCall,
  inBackground,
  interruptibleModelCall,
  reportUnknownOutcome,
  scheduleActivity,
  withinTurn,
} from './schedule-activity.ts';
import type { LiveRun, LonghaulSinks, ResolvedRun } from './live-run.ts';
import { endedTurns, sessionOf } from '../../src/core/domain/sessions.ts';

const { longhaul } = proxySinks<LonghaulSinks>();

export type RunStart = FirstStart | { type: 'continued'; continuedState: ContinueAsNewState; position: RunPosition };

/** The outcome of one execution of a run. */
type RunEnd = { type: 'finished'; result: RunResultFields } | { type: 'continue'; continuedState: ContinueAsNewState };

/** Observes the progress of a run; must not change anything. */
export interface RunObserver {
  /** Called when the agent has been resolved. */
  resolved(run: ResolvedRun): void;
  recorded(state: RunState): void;
  /** Called when the state has changed outside the record. */
  noted(state: RunState): void;
  /** Called when the list of what workers lack has changed. The run has a state once the agent is resolved. */
  missing(run: LiveRun): void;
}

/**
 * Executes a run for one execution of its workflow. Never throws: an error would fail the workflow task, which the
 * server retries forever, so any error ends the run instead.
 */
export async function executeRun(run: LiveRun, start: RunStart, observer: RunObserver): Promise<RunEnd> {
  run.showMissing = () => observer.missing(run);
  let end = await runToEnd(run, () =>
    start.type === 'continued' ? resumeRun(run, start.position, observer) : beginRun(run, start, observer),
  );
  if (end.type === 'finished') run.inbox.closed = true;
  await archive(run, (state) => observer.noted(state));
  await finishHandlers(run);
  if (end.type === 'continue') await finishTelling(run);
  if (end.type === 'continue' && isCancelled()) end = await endInThisExecution(run, end.position, observer);
  const runEnd: RunEnd =
    end.type === 'finished' ? { ...end, result: withNotArchived(end.result, run.state) } : continueAsNewEnd(run, end.position);
  if (runEnd.type === 'finished') runEnd.result = await cancelChildren(run, runEnd.result);
  if (runEnd.type === 'finished') await closeAllKept(run.state);
  if (runEnd.type === 'finished') runEnd.result = await callEndHooks(run, runEnd.result);
  if (runEnd.type === 'finished') await notifyEnded(run, runEnd.result, (state) => observer.noted(state));
  reportTrace(run, runEnd.type === 'finished' ? runEnd.result : undefined);
  return runEnd;
}

/** Reports a run whose input was refused: it has begun and ended. */
export function reportRefused(run: LiveRun, result: RunResultFields): void {
  longhaul.runStarted(run.agentName);
  reportTrace(run, result);
}

/**
 * Passes the traced part of the record since the last time to the worker process. Adds nothing to the history. In a
 * replay nobody would receive it, so nothing is computed.
 */
function reportTrace(run: LiveRun, result?: RunResultFields): void {
  const { firstOffset = 0, context: { events } = { events: [] }, steps = [] } = run.state ?? {};
  const turns = endedTurns(run.state ?? {});
  const shown = run.traced ?? { events: 0, steps: 0, turns: 0 };
  run.traced = { events: events.length, steps: steps.length, turns: turns.length };
  const { waited } = run;
  // What has ended is in this part, and what waits is noted again.
  delete run.waited;
  if (workflowInfo().unsafe.isReplaying) return;
  const part = tracedPart({
    agentName: result?.agentName ?? run.agentName,
    firstOffset: firstOffset + shown.events,
    events: events.slice(shown.events),
    steps: steps.slice(shown.steps),
    turns: turns.slice(shown.turns),
    turnsBegun: sessionOf(run.state ?? {})?.turns,
    model: run.snapshot?.model,
    isFlow: run.state !== undefined && isFlow(run.state),
    waited,
    result,
  });
  longhaul.traced(run.key ?? '', part, Date.now());
}

/** Notes the calls that wait for a decision: what ends such a wait without one is no event of its own. */
function noteWaits(run: LiveRun, { approvals }: RunState): void {
  for (const { callId } of approvals.pending) (run.waited ??= new Set()).add(callId);
}

/** Traces a turn of a session as soon as it has ended: the session may stay open for days. */
function reportTurns(run: LiveRun, state: RunState): void {
  if (endedTurns(state).length > (run.traced?.turns ?? 0)) reportTrace(run);
}

/** Returns the end of the loop, also if it throws. */
async function runToEnd(run: LiveRun, loops: () => Promise<LoopEnd>): Promise<LoopEnd> {
  try {
    return await loops();
  } catch (error) {
    return { type: 'finished', result: isCancellation(error) ? cancelledResult(run) : failedResult(run, 'internal', errorMessage(error)) };
  }
}

async function beginRun(run: LiveRun, start: FirstStart, observer: RunObserver): Promise<LoopEnd> {
  longhaul.runStarted(run.agentName, tracedBeginning(run, start));
  const resolved = await scheduleActivity(run, firstRequest(run, start));
  if (resolved.type === 'cancelled') return { type: 'finished', result: cancelledResult(run) };
  if (resolved.type === 'failed' && resolved.notifiesEnd) run.notifiesEnd = true;
  if (resolved.type === 'failed') return { type: 'finished', result: failedResult(run, resolved.code, resolved.message) };
  const { snapshot, opening, notices } = resolved;
  const refused = run.key === undefined ? undefined : inlineProblem(snapshot);
  if (refused !== undefined) return { type: 'finished', result: failedResult(run, 'invalid_agent', refused) };
  const opened = withOpening(start, opening);
  run.deps = opened.input.deps ?? {};
  const ready = Object.assign(run, { snapshot });
  observer.resolved(ready);
  const { runId, deps, startedAt } = run;
  run.state = firstState(opened, { runId, snapshot, deps, startedAt, notices }, temporalPorts(ready, observer));
  return interpretFrom(ready, run.state, BEGINNING, observer);
}

/** Returns the facts that determine a run's place in its trace, so that the worker need not query the server for them. */
function tracedBeginning({ key = '' }: LiveRun, start: FirstStart): TracedBeginning {
  // The input belongs to a workflow of the user.
  if (key !== '') return { key };
  const { traceparent, parent } = start.input;
  const isSession = start.type === 'input' && start.input.session !== undefined;
  return {
    key,
    ...(traceparent === undefined ? {} : { traceparent }),
    ...(parent?.firstRunId === undefined ? {} : { isChild: true as const }),
    ...(isSession ? { isSession: true as const } : {}),
  };
}

/** Returns why an inline run cannot have the agent: its children would report to the run, which is not a workflow. */
function inlineProblem({ name, tools }: AgentSnapshot): string | undefined {
  const tool = tools.find(({ agent }) => agent !== undefined);
  if (tool === undefined) return undefined;
  return `Agent "${name}" has the tool "${tool.name}", which runs an agent as a child: a run inside another workflow ("inline") can start none. Run it as a child: leave "inline" out`;
}

async function resumeRun(run: LiveRun, position: RunPosition, observer: RunObserver): Promise<LoopEnd> {
  const { snapshot, state } = run;
  if (snapshot === undefined || state === undefined) throw new TypeError(`Run "${run.runId}" continues without a state`);
  return interpretFrom(Object.assign(run, { snapshot }), state, position, observer);
}

async function interpretFrom(run: ResolvedRun, state: RunState, from: RunPosition, observer: RunObserver): Promise<LoopEnd> {
  const cancelRequested = (): boolean => isRunCancelled(run);
  const { ports, end: endBursts } = burstPorts(temporalPorts(run, observer), workflowBursts(run, cancelRequested));
  observer.recorded(state);
  const end = await interpret(state, ports, from);
  endBursts();
  observer.recorded(state);
  return end;
}

/**
 * Lets the handlers finish that wait for the outcome of a decision: once the execution has closed, the server answers
 * no caller.
 */
async function finishHandlers(run: LiveRun): Promise<void> {
  run.ending = true;
  if (run.answering > 0) await CancellationScope.nonCancellable(() => condition(() => run.answering === 0));
}

/**
 * Ends the run in this execution although it was about to continue as new: a cancellation would be lost in the next
 * execution. Calls that have ended keep their outcome, and accepted messages are recorded. The archive, which has the
 * events so far, receives the whole range again if there are more now.
 */
async function endInThisExecution(run: LiveRun, position: RunPosition, observer: RunObserver): Promise<LoopEnd> {
  const { state } = run;
  const archived = { events: state?.window.through, steps: state?.steps.length };
  const end = await runToEnd(run, () => resumeRun(run, position, observer));
  run.inbox.closed = true;
  if (state?.window.through !== archived.events || state?.steps.length !== archived.steps) {
    await archive(run, (changed) => observer.noted(changed));
  }
  return end;
}

function isCancelled(): boolean {
  return CancellationScope.current().consideredCancelled;
}

/**
 * Returns the state to carry over. It is built as late as possible, so that it includes messages that arrived while the
 * events were archived, and so that a cancellation is not lost in the next execution.
 */
function continueAsNewEnd(run: LiveRun, position: RunPosition): RunEnd {
  const { executions, inbox, state } = run;
  if (state === undefined || isCancelled()) return { type: 'finished', result: withNotArchived(cancelledResult(run), state) };
  const continuedState = toContinueAsNewState(state, position, { executions, inbox: inbox.carried() });
  const bytes = jsonBytes(continuedState);
  if (bytes <= MAX_PAYLOAD_BYTES) return { type: 'continue', continuedState };
  const advice = state.program === undefined ? `Lower "window" of agent "${run.agentName}"` : tooLargeText(state.program);
  const message = `Run "${run.runId}" cannot continue in a new execution: it would carry ${bytes} bytes of JSON, over ${MAX_PAYLOAD_BYTES}. ${advice}`;
  return { type: 'finished', result: withNotArchived(failedResult(run, 'payload_too_large', message), state) };
}

/** Ends a run with an error, and keeps its record. */
export function failedResult(run: LiveRun, code: ErrorCode, message: string): RunResultFields {
  return closeWith(run, { status: 'error', stopReason: 'error', output: '', error: { code, message } });
}

function cancelledResult(run: LiveRun): RunResultFields {
  return closeWith(run, { status: 'cancelled', stopReason: 'cancelled', output: '' });
}

/** Ends a run from outside the loop, keeping its record. */
function closeWith(run: LiveRun, ending: Ending): RunResultFields {
  const clock = { now: () => Date.now() };
  if (run.state === undefined) {
    const result = closeUnstarted(run, clock, ending);
    return run.programInput === undefined ? result : { ...result, units: [] };
  }
  return closeRun(run.state, clock, { ...ending, output: ending.status === 'cancelled' ? partialAnswer(run.state) : run.state.thought });
}

/** Calls the end hooks of a run, if any, in one activity that bounds their time. Returns the result with their answers. */
async function callEndHooks(run: LiveRun, result: RunResultFields): Promise<RunResultFields> {
  const { snapshot } = run;
  const request = snapshot && endHooksRequest(Object.assign(run, { snapshot }), result);
  if (request === undefined) return result;
  const { steps: _, ...queried } = result;
  run.result = queried;
  return CancellationScope.nonCancellable(() => scheduleActivity(run, request));
}

/**
 * Calls the worker's `notifyEnded`, if it has one, as the last action of a run. The activity bounds the time that a failing
 * one may delay the run. The run ends with the same result in any case.
 */
async function notifyEnded(run: LiveRun, result: RunResultFields, noted: (state: RunState) => void): Promise<void> {
  if (!run.notifiesEnd && !run.snapshot?.notifyEnded) return;
  run.result = withoutSteps(result, reasonOfCancellation(run));
  const outcome = await CancellationScope.nonCancellable(() => scheduleActivity(run, endedRequest(run, result)));
  if (outcome.type !== 'failed') return;
  log.error(`The notice that run "${run.runId}" has ended could not be delivered: ${outcome.message}`);
  if (run.state === undefined) return;
  noteNotifyEndedFailure(run.state, outcome.message);
  noted(run.state);
}

/** Returns the closing result with its whole output. */
function withoutSteps({ steps: _, ...result }: RunResultFields, reason: string | undefined): RunResultFields {
  return result.status !== 'cancelled' || reason === undefined ? result : { ...result, cancelReason: reason };
}

/** Returns the reason of the run's cancellation: that of the request, or else the one announced before, or that its parent has cancelled it. */
export function reasonOfCancellation({ inbox, state }: LiveRun): string | undefined {
  const parent = isCancelledByWorkflow() ? parentOf(state ?? {}) : undefined;
  return cancelReason() ?? inbox.cancelReason ?? (parent && cancelledByParent(parent.runId));
}

/**
 * Hands the events of this execution to the worker's archive before the run continues or ends. The activity bounds the
 * time that a failing archive may delay the run: after that the run continues, and records which events are not archived.
 */
async function archive(run: LiveRun, noted: (state: RunState) => void): Promise<void> {
  const { state, snapshot } = run;
  if (!snapshot?.archive || state === undefined) return;
  const range = { from: state.firstOffset, through: state.window.through };
  beginArchiving(state, range, Date.now());
  noted(state);
  const request = archiveRequest(Object.assign(run, { snapshot }), range);
  const failure = await CancellationScope.nonCancellable(() => scheduleActivity(run, request));
  if (failure !== undefined) log.error(`Not in the archive: ${eventsText(range)} of run "${run.runId}": ${failure}`);
  endArchiving(state, failure);
  noted(state);
}

/** The random characters in the run id of a child: after a reset, the parent starts other children. */
const CHILD_ID_LENGTH = 8;

/** Returns the loop's ports on Temporal: every effect is an activity; time and ids come from the workflow. */
function temporalPorts(run: ResolvedRun, observer: Required<Pick<RunPorts, 'recorded' | 'noted'>>): InterpreterPorts {
  const cancelRequested = (): boolean => isRunCancelled(run);
  return {
    ...activityPorts(run, (call) => scheduleInTime(run, call), cancelRequested),
    runChild: (call) => runChild(run, call),
    childRunId: (prefix) => prefix + uuid4().slice(0, CHILD_ID_LENGTH),
    inbox: run.inbox,
    now: () => Date.now(),
    uuid: () => uuid4(),
    callEventId: (callId) => getRandomStream(`longhaul call ${callId}`).uuid4(),
    outcomeUnknown: (invocation, reason) => reportUnknownOutcome(run, invocation, reason),
    callModel: (call) => withinDeadline(run, () => interruptibleModelCall(run, call, cancelRequested)),
    abortModelCall: () => abortModelCall(run),
    cancelRequested,
    until,
    continueDue: (growth) => continueDue(run, growth),
    continueBeforeSleep: () => continueBeforeSleep(run),
    withinTurn: (turn) => withinTurn(run, turn),
    inBackground,
    closeKept,
    turnEnded: (runId, turn, call) => reportTurn(run, runId, { turn, ...defined({ call }) }),
    endChildren: (state) => endChildren(run, state),
    allows: (change) => patched(change),
    recorded: (state) => {
      noteWaits(run, state);
      observer.recorded(state);
      reportTurns(run, state);
    },
    noted: (state) => observer.noted(state),
  };
}

/**
 * True if this execution should continue as new before it grows by `growth`. False until it has made progress: a run
 * whose carried state alone exceeds a threshold would continue as new forever.
 */
function continueDue(run: LiveRun, growth: Growth): boolean {
  if (run.activitiesEnded === 0 && run.inbox.updates === 0) return false;
  const { historyLength, historySize, continueAsNewSuggested, targetWorkerDeploymentVersionChanged } = workflowInfo();
  const limit = run.snapshot?.continueAsNew ?? DEFAULT_THRESHOLDS;
  return (
    continueAsNewSuggested ||
    // A run that moves to the current build by continuing as new does so as soon as there is one.
    (run.snapshot?.upgradeOnContinueAsNew === true && targetWorkerDeploymentVersionChanged) ||
    historyLength + growth.events > limit.events ||
    historySize + growth.bytes > limit.bytes ||
    run.inbox.updates + Math.max(1, run.recentUpdates) > limit.updates
  );
}

/** The size of an execution from which a session continues as new before it waits. */
const ASLEEP = { events: 1_000, bytes: 1_000_000 };

/** True if a session should continue as new before it waits: to wake it, a worker without it in its cache replays this execution. */
function continueBeforeSleep(run: LiveRun): boolean {
  if (run.activitiesEnded === 0 && run.inbox.updates === 0) return false;
  const { historyLength, historySize } = workflowInfo();
  const limit = run.snapshot?.continueAsNew ?? DEFAULT_THRESHOLDS;
  const isLong = historyLength >= Math.min(ASLEEP.events, limit.events) || historySize >= Math.min(ASLEEP.bytes, limit.bytes);
  return isLong || continueDue(run, { events: 0, bytes: 0 });
}

/** A run with the start of its execution, or the problem of its input. */
export type CheckedStart = { run: LiveRun } & ({ ok: true; start: RunStart } | { ok: false; code: ErrorCode; problem: string });

/** The identity of a run before its input is read. */
export interface RunIdentity extends Pick<LiveRun, 'runId' | 'startedAt' | 'key'> {
  /** The beginning of the execution, which decides whether its input may carry state. */
  origin: ExecutionOrigin;
}

const INITIAL_COUNTS = { activitiesEnded: 0, recentUpdates: 0, ending: false, answering: 0, telling: 0 };

/** Returns the beginning of the current execution. */
export function executionOrigin(): ExecutionOrigin {
  const { continuedFromExecutionRunId: continuedFrom, cronSchedule, attempt } = workflowInfo();
  return { continuedFrom, cronSchedule, attempt };
}

/**
 * The error for carried state that the worker cannot read. It fails the workflow task, not the run: the server offers the task to other
 * workers until one can read it.
 */
class UnreadableState extends Error {
  override readonly name = 'UnreadableCarry';

  constructor(runId: string, problem: string) {
    super(`Run "${runId}" cannot continue on this worker: ${problem}`);
  }
}

/**
 * Checks the input of an execution: a caller's input strictly, and the state from the previous execution, which a run has written, by its
 * version. Throws if this worker cannot read the carried state.
 */
export function checkStart(raw: unknown, { origin, ...identity }: RunIdentity, readInput: ReadInput = readRunInput): CheckedStart {
  const blank = {
    ...identity,
    agentName: '',
    deps: {},
    executions: 1,
    inbox: new Inbox(),
    ...INITIAL_COUNTS,
    authorizing: new Map(),
    missing: [],
  };
  const isContinued = isJsonObject(raw) && 'continuedState' in raw;
  const notCarried = originProblem(origin);
  if (notCarried === undefined && (isContinued || whyUnreadable(raw) !== undefined)) return continuedStart(raw, blank);
  const problem = inboundProblem(raw);
  if (problem !== undefined)
    return { run: blank, ok: false, code: 'invalid_input', problem: `The input of the run is not valid: ${problem}` };
  if (isContinued) {
    const refused = `only an execution that continues as new may pass "continuedState" to the next one, and ${notCarried}: start it with {"agent", "input"}`;
    return { run: blank, ok: false, code: 'invalid_input', problem: `The run cannot continue: ${refused}` };
  }
  const read = readInput(raw);
  if (!read.ok) return { run: blank, ok: false, code: read.code, problem: `The input of the run is not valid: ${read.problem}` };
  const { start, deps } = read;
  rememberParentSession(blank.inbox, start);
  const run = { ...blank, agentName: nameOfStart(start), deps, ...queriedInput(start), ...openingKind(start) };
  return { run, ok: true, start };
}

/** Returns the start of an execution that continues the previous one. Throws if this worker cannot read its input. */
function continuedStart(raw: unknown, blank: LiveRun): CheckedStart {
  const problem = inboundProblem(raw);
  if (problem !== undefined) throw new UnreadableState(blank.runId, problem);
  // The state of an inline run passes through the user's code.
  const isForeign = blank.key !== undefined;
  const read = readContinueAsNewState(isJsonObject(raw) ? raw['continuedState'] : undefined, { isForeign });
  if (!read.ok) throw new UnreadableState(blank.runId, read.problem);
  const { continuedState } = read;
  const { runId, deps, executions, inbox, snapshot } = continuedState;
  // For a session, `startedAt` of the state is the start of its current turn.
  const startedAt = sessionOf(continuedState)?.startedAt ?? continuedState.startedAt;
  const { state, position } = fromContinueAsNewState(continuedState);
  const known = { runId, deps, startedAt, agentName: firstAgent(state), executions: executions + 1, inbox: new Inbox(inbox) };
  // The state is complete before a handler exists: a message of the first task may be about a pending call.
  return { run: { ...blank, ...known, snapshot, state }, ok: true, start: { type: 'continued', continuedState, position } };
}

/** Checks the input of a first execution. */
export type ReadInput = (
  raw: unknown,
) => { ok: true; start: FirstStart; deps: JsonObject } | { ok: false; code: ErrorCode; problem: string };

export const readRunInput: ReadInput = (raw) => {
  const checked = checkRunInput(raw);
  if (!checked.ok) return checked;
  return { ok: true, start: { type: 'input', input: checked.input }, deps: checked.input.deps ?? {} };
};

export const readProgramInput: ReadInput = (raw) => {
  const checked = checkProgramInput(raw);
  if (!checked.ok) return checked;
  return { ok: true, start: { type: 'program', input: checked.input }, deps: checked.input.deps ?? {} };
};
