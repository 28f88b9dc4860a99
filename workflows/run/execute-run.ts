import { CancellationScope, condition, isCancellation, patched } from '@temporalio/workflow';
import { errorMessage, type ErrorCode } from '../../src/core/domain/errors/error.ts';
import { jsonBytes, MAX_PAYLOAD_BYTES } from '../../src/core/domain/json/payload-limit.ts';
import type { RunResultFields } from '../../src/core/domain/run/result.ts';
import { withNotArchived } from '../../src/core/loop/state/archiving.ts';
import { closeRun, closeUnstarted } from '../../src/core/loop/endings/close-run.ts';
import { partialAnswer } from '../../src/core/loop/endings/endings.ts';
import type { Ending, RunPosition } from '../../src/core/loop/next-step.ts';
import { type ContinueAsNewState, toContinueAsNewState } from '../../src/core/loop/state/continue-as-new-state.ts';
import { type FirstStart, firstRequest, firstState, withOpening } from '../../src/core/first-start.ts';
import type { AgentSnapshot } from '../../src/core/domain/agent/agent-snapshot.ts';
import { interpret } from '../../src/core/interpret.ts';
import { BEGINNING, type LoopEnd } from '../../src/core/loop/run-loop.ts';
import { tooLargeText } from '../../src/core/domain/program/carried-program.ts';
import type { RunState } from '../../src/core/loop/state/run-state.ts';
import { cancelChildren } from '../children/cancel-children.ts';
import { closeKept } from '../children/kept-sessions.ts';
import { finishTelling } from '../children/parent-link.ts';
import { archive } from './archive.ts';
import { callEndHooks } from './end-hooks.ts';
import type { LiveRun, ResolvedRun } from './live-run.ts';
import { performActivity, startActivity } from './schedule-activity.ts';
import { notifyEnded } from './notify-ended.ts';
import { temporalPorts } from './temporal-ports.ts';

/** The start of one execution of a run. */
export type RunStart = FirstStart | { type: 'carry'; carry: ContinueAsNewState; position: RunPosition };

/** The outcome of one execution of a run. */
export type RunEnd = { type: 'finished'; result: RunResultFields } | { type: 'continue'; carry: ContinueAsNewState };

/** Observes the progress of a run; must not change anything. */
export interface RunObserver {
  /** Called when the agent has been resolved. */
  resolved(run: ResolvedRun): void;
  recorded(state: RunState): void;
  /** Called when the state has changed outside the record. */
  noted(state: RunState): void;
  /** Called when the things that workers lack have changed. The run has a state once the agent is resolved. */
  missing(run: LiveRun): void;
}

/**
 * Executes a run for one execution of its workflow. Never throws: an error would fail the workflow task, which the
 * server retries forever, so any error ends the run instead.
 */
export async function executeRun(run: LiveRun, start: RunStart, observer: RunObserver): Promise<RunEnd> {
  run.showMissing = () => observer.missing(run);
  let end = await runToEnd(run, () => (start.type === 'carry' ? resume(run, start.position, observer) : begin(run, start, observer)));
  if (end.type === 'finished') run.inbox.closed = true;
  await archive(run, (state) => observer.noted(state));
  await finishHandlers(run);
  if (end.type === 'continue') await finishTelling(run);
  if (end.type === 'continue' && isCancelled() && patched('cancelled-before-continuing')) {
    end = await endInThisExecution(run, end.position, observer);
  }
  const runEnd: RunEnd =
    end.type === 'finished' ? { ...end, result: withNotArchived(end.result, run.state) } : carryOver(run, end.position);
  if (runEnd.type === 'finished') runEnd.result = await cancelChildren(run, runEnd.result);
  if (runEnd.type === 'finished') await closeKept(run.state?.kept);
  if (runEnd.type === 'finished') runEnd.result = await callEndHooks(run, runEnd.result);
  if (runEnd.type === 'finished') await notifyEnded(run, runEnd.result, (state) => observer.noted(state));
  return runEnd;
}

/** Returns the end of the loop, also if it throws. */
async function runToEnd(run: LiveRun, loops: () => Promise<LoopEnd>): Promise<LoopEnd> {
  try {
    return await loops();
  } catch (error) {
    return { type: 'finished', result: isCancellation(error) ? cancelledResult(run) : failedResult(run, 'internal', errorMessage(error)) };
  }
}

async function begin(run: LiveRun, start: FirstStart, observer: RunObserver): Promise<LoopEnd> {
  const resolved = await performActivity(run, firstRequest(run, start), { start: startActivity, ended: () => undefined });
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
  return loop(ready, run.state, BEGINNING, observer);
}

/** Returns why a run inside the history of another workflow cannot have the agent: the children report to the run, which is no workflow. */
function inlineProblem({ name, tools }: AgentSnapshot): string | undefined {
  const tool = tools.find(({ agent }) => agent !== undefined);
  if (tool === undefined) return undefined;
  return `Agent "${name}" has the tool "${tool.name}", which runs an agent as a child: a run inside another workflow ("inline") can start none. Run it as a child: leave "inline" out`;
}

async function resume(run: LiveRun, position: RunPosition, observer: RunObserver): Promise<LoopEnd> {
  const { snapshot, state } = run;
  if (snapshot === undefined || state === undefined) throw new TypeError(`Run "${run.runId}" goes on from nothing`);
  return loop(Object.assign(run, { snapshot }), state, position, observer);
}

async function loop(run: ResolvedRun, state: RunState, from: RunPosition, observer: RunObserver): Promise<LoopEnd> {
  const ports = temporalPorts(run, observer);
  observer.recorded(state);
  const end = await interpret(state, ports, from);
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
  const end = await runToEnd(run, () => resume(run, position, observer));
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
function carryOver(run: LiveRun, position: RunPosition): RunEnd {
  const { executions, inbox, state } = run;
  if (state === undefined || isCancelled()) return { type: 'finished', result: withNotArchived(cancelledResult(run), state) };
  const carry = toContinueAsNewState(state, position, { executions, inbox: inbox.carried() });
  const bytes = jsonBytes(carry);
  if (bytes <= MAX_PAYLOAD_BYTES) return { type: 'continue', carry };
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

/** Ends a run from outside the loop, and keeps its record. */
function closeWith(run: LiveRun, ending: Ending): RunResultFields {
  const clock = { now: () => Date.now() };
  if (run.state === undefined) {
    const result = closeUnstarted(run, clock, ending);
    return run.programInput === undefined ? result : { ...result, units: [] };
  }
  return closeRun(run.state, clock, { ...ending, output: ending.status === 'cancelled' ? partialAnswer(run.state) : run.state.thought });
}
