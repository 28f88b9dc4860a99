import { CancellationScope, condition, getRandomStream, patched, uuid4 } from '@temporalio/workflow';
import { activityPorts } from '../../src/core/activity-requests/activity-ports.ts';
import { callInputRequest } from '../../src/core/activity-requests/next-turn-requests.ts';
import { outputPorts } from '../../src/core/activity-requests/output-requests.ts';
import { refreshRequest } from '../../src/core/activity-requests/resolve-request.ts';
import { programPorts } from '../../src/core/activity-requests/program-requests.ts';
import type { RunPorts, WaitDeadline } from '../../src/core/loop/ports.ts';
import type { SessionPorts } from '../../src/core/sessions/session-ports.ts';
import type { ProgramPorts } from '../../src/core/program/interpreter/program-ports.ts';
import { runChild } from '../children/run-child.ts';
import { continueBeforeSleep, continueDue } from './continue-due.ts';
import { beside, inTurn } from './turn-scope.ts';
import { reportTurn } from '../children/parent-link.ts';
import { closeKept } from '../children/kept-sessions.ts';
import { endChildren } from '../children/cancel-children.ts';
import { abortModelCall, interruptibleModelCall } from './interruptible-model-call.ts';
import type { ResolvedRun } from './live-run.ts';
import { performActivity, scheduleActivity, startActivity } from './schedule-activity.ts';

/** The characters of a run id of a child that are random: a reset of its parent starts other children. */
const CHILD_ID_LENGTH = 8;

/** Returns the loop's ports on Temporal: every effect is an activity; time and ids come from the workflow. */
export function temporalPorts(run: ResolvedRun, observer: Required<Pick<RunPorts, 'recorded' | 'noted'>>): ProgramPorts & SessionPorts {
  const cancelRequested = (): boolean => CancellationScope.current().consideredCancelled;
  return {
    ...activityPorts(run, (call) => scheduleActivity(run, call)),
    ...programPorts(run, (call) => scheduleActivity(run, call)),
    // Outputs that are loaded are no progress: an execution that only loads must not continue as new.
    ...outputPorts(run, (call) => performActivity(run, call, { start: startActivity, ended: () => undefined })),
    runChild: (call) => runChild(run, call),
    childRunId: (prefix) => prefix + uuid4().slice(0, CHILD_ID_LENGTH),
    inbox: run.inbox,
    now: () => Date.now(),
    uuid: () => uuid4(),
    callEventId: (callId) => getRandomStream(`longhaul call ${callId}`).uuid4(),
    callModel: (call) => interruptibleModelCall(run, call),
    abortModelCall: () => abortModelCall(run),
    cancelRequested,
    until,
    continueDue: (growth) => continueDue(run, growth),
    continueBeforeSleep: () => continueBeforeSleep(run),
    inTurn: (turn) => inTurn(run, turn),
    beside,
    refreshAgent: () => scheduleActivity(run, refreshRequest(run)),
    readMessage: (call) => scheduleActivity(run, callInputRequest(call)),
    closeKept,
    turnEnded: (runId, turn) => reportTurn(run, runId, turn),
    endChildren: (state) => endChildren(run, state),
    allows: (change) => patched(change),
    recorded: (state) => observer.recorded(state),
    noted: (state) => observer.noted(state),
  };
}

/** Waits for a condition or a deadline. A cancellation ends the wait too; the loop checks for it itself. */
async function until(isMet: () => boolean, deadline?: WaitDeadline): Promise<void> {
  try {
    if (deadline === undefined) await condition(isMet);
    // A timer that has already elapsed would still be a command.
    else if (deadline.at > Date.now()) await condition(isMet, deadline.at - Date.now(), { summary: deadline.summary });
  } catch {
    // Cancelled.
  }
}
