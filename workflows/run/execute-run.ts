import { CancellationScope, condition, isCancellation, patched } from '@temporalio/workflow';
import { resolveRequest } from '../../src/core/activity-requests/resolve-request.ts';
import { errorMessage, type ErrorCode } from '../../src/core/domain/errors/error.ts';
import { jsonBytes, MAX_PAYLOAD_BYTES } from '../../src/core/domain/json/payload-limit.ts';
import type { RunResultFields } from '../../src/core/domain/run/run-result.ts';
import { withNotArchived } from '../../src/core/loop/state/archiving.ts';
import { closeRun, closeUnstarted } from '../../src/core/loop/close-run.ts';
import { partialAnswer } from '../../src/core/loop/endings.ts';
import type { Ending, Position } from '../../src/core/loop/next-step.ts';
import { type ContinueAsNewState, toContinueAsNewState } from '../../src/core/loop/state/continue-as-new-state.ts';
import { BEGINNING, type LoopEnd, runLoop } from '../../src/core/loop/run-loop.ts';
import { newRunState, type RunState } from '../../src/core/loop/state/run-state.ts';
import type { RunInput } from '../../src/core/protocol.ts';
import { archive } from './archive.ts';
import type { LiveRun, ResolvedRun } from './live-run.ts';
import { outcomeOn, startActivity } from './schedule-activity.ts';
import { tellEnd } from './tell-end.ts';
import { temporalPorts } from './temporal-ports.ts';

/** What an execution of a run begins with. */
export type RunStart = { type: 'input'; input: RunInput } | { type: 'carry'; carry: ContinueAsNewState; position: Position };

/** What an execution of a run comes to. */
export type RunEnd = { type: 'finished'; result: RunResultFields } | { type: 'continue'; carry: ContinueAsNewState };

/** Told of a run's course; must not change anything. */
export interface RunObserver {
  /** The agent is known. */
  resolved(run: ResolvedRun): void;
  recorded(state: RunState): void;
  /** Something has changed that is no part of the record. */
  noted(state: RunState): void;
  /** What the run waits for has changed because workers lack it. The state is there once the agent is known. */
  missing(run: LiveRun): void;
}

/** Runs a run for one execution of its workflow. Throws nothing: whatever would fail the workflow task, and be retried for ever, ends the run. */
export async function executeRun(run: LiveRun, start: RunStart, observer: RunObserver): Promise<RunEnd> {
  run.showMissing = () => observer.missing(run);
  let end = await ended(run, () => (start.type === 'input' ? begin(run, start.input, observer) : goOn(run, start.position, observer)));
  if (end.type === 'finished') run.inbox.closed = true;
  await archive(run, (state) => observer.noted(state));
  await release(run);
  if (end.type === 'continue' && isCancelled() && patched('cancelled-before-continuing')) {
    end = await endHere(run, end.position, observer);
  }
  const runEnd: RunEnd = end.type === 'finished' ? { ...end, result: withNotArchived(end.result, run.state) } : carryOn(run, end.position);
  if (runEnd.type === 'finished') await tellEnd(run, runEnd.result, (state) => observer.noted(state));
  return runEnd;
}

/** How the loop ends, whatever is thrown in it. */
async function ended(run: LiveRun, loops: () => Promise<LoopEnd>): Promise<LoopEnd> {
  try {
    return await loops();
  } catch (error) {
    return { type: 'finished', result: isCancellation(error) ? cancelled(run) : failed(run, 'internal', errorMessage(error)) };
  }
}

async function begin(run: LiveRun, input: RunInput, observer: RunObserver): Promise<LoopEnd> {
  const asked = resolveRequest(run, input);
  const resolved = await outcomeOn(run, asked, { work: startActivity, ended: () => undefined });
  if (resolved.type === 'cancelled') return { type: 'finished', result: cancelled(run) };
  if (resolved.type === 'failed' && resolved.notifiesEnd) run.notifiesEnd = true;
  if (resolved.type === 'failed') return { type: 'finished', result: failed(run, resolved.code, resolved.message) };
  const { snapshot } = resolved;
  const ready = Object.assign(run, { snapshot });
  observer.resolved(ready);
  const clock = temporalPorts(ready, observer);
  run.state = newRunState({ runId: run.runId, snapshot, input: input.input, deps: run.deps, startedAt: run.startedAt }, clock);
  return loop(ready, run.state, BEGINNING, observer);
}

async function goOn(run: LiveRun, position: Position, observer: RunObserver): Promise<LoopEnd> {
  const { snapshot, state } = run;
  if (snapshot === undefined || state === undefined) throw new TypeError(`Run "${run.runId}" goes on from nothing`);
  return loop(Object.assign(run, { snapshot }), state, position, observer);
}

async function loop(run: ResolvedRun, state: RunState, from: Position, observer: RunObserver): Promise<LoopEnd> {
  const ports = temporalPorts(run, observer);
  observer.recorded(state);
  const end = await runLoop(state, ports, from);
  observer.recorded(state);
  return end;
}

/** Lets the handlers end that wait for what comes of a decision: the server answers nobody once the execution has closed. */
async function release(run: LiveRun): Promise<void> {
  run.ending = true;
  if (run.answering > 0) await CancellationScope.nonCancellable(() => condition(() => run.answering === 0));
}

/**
 * Lets the loop end in this execution what it was about to continue in the next: a cancellation would be lost there.
 * Calls that have ended keep their outcome, and what was accepted meanwhile is recorded. The archive, which has the events
 * up to here, is given the whole once more where there is more of it now.
 */
async function endHere(run: LiveRun, position: Position, observer: RunObserver): Promise<LoopEnd> {
  const { state } = run;
  const archived = { events: state?.window.through, steps: state?.steps.length };
  const end = await ended(run, () => goOn(run, position, observer));
  run.inbox.closed = true;
  if (state?.window.through !== archived.events || state?.steps.length !== archived.steps) {
    await archive(run, (changed) => observer.noted(changed));
  }
  return end;
}

function isCancelled(): boolean {
  return CancellationScope.current().consideredCancelled;
}

/** Decided as late as possible: what has come while the events were archived goes along, and a cancellation would be lost in the next execution. */
function carryOn(run: LiveRun, position: Position): RunEnd {
  const { executions, inbox, state } = run;
  if (state === undefined || isCancelled()) return { type: 'finished', result: withNotArchived(cancelled(run), state) };
  const carry = toContinueAsNewState(state, position, { executions, inbox: inbox.carried() });
  const bytes = jsonBytes(carry);
  if (bytes <= MAX_PAYLOAD_BYTES) return { type: 'continue', carry };
  const message = `Run "${run.runId}" cannot continue in a new execution: it would carry ${bytes} bytes of JSON, over ${MAX_PAYLOAD_BYTES}. Lower "window" of agent "${run.agentName}"`;
  return { type: 'finished', result: withNotArchived(failed(run, 'payload_too_large', message), state) };
}

/** A run that ends with an error, with whatever it has recorded. */
export function failed(run: LiveRun, code: ErrorCode, message: string): RunResultFields {
  return endedBy(run, { status: 'error', stopReason: 'error', output: '', error: { code, message } });
}

function cancelled(run: LiveRun): RunResultFields {
  return endedBy(run, { status: 'cancelled', stopReason: 'cancelled', output: '' });
}

/** An ending that the loop did not come to by itself keeps what the loop has recorded. */
function endedBy(run: LiveRun, ending: Ending): RunResultFields {
  const clock = { now: () => Date.now() };
  return run.state === undefined
    ? closeUnstarted(run, clock, ending)
    : closeRun(run.state, clock, { ...ending, output: ending.status === 'cancelled' ? partialAnswer(run.state) : run.state.thought });
}
