import { CancellationScope, condition, patched, uuid4 } from '@temporalio/workflow';
import { authorizeCall, notifyCall, termsCall } from '../src/calls/decision-calls.ts';
import { summaryCall } from '../src/calls/model-call.ts';
import { toolCall, verifyCall } from '../src/calls/tool-call.ts';
import type { Decision, PendingApproval } from '../src/domain/approval.ts';
import type { Authorization, RunPorts, WaitDeadline } from '../src/loop/ports.ts';
import type { RunState } from '../src/loop/run-state.ts';
import { continueDue } from './continue-due.ts';
import { callModel } from './interruptible-model-call.ts';
import type { ResolvedRun } from './live-run.ts';
import { perform } from './perform.ts';

/** The loop's ports on Temporal: every effect is an activity, time and ids come from the workflow. */
export function temporalPorts(run: ResolvedRun, recorded: (state: RunState) => void): RunPorts {
  const cancelRequested = (): boolean => CancellationScope.current().consideredCancelled;
  return {
    inbox: run.inbox,
    now: () => Date.now(),
    uuid: () => uuid4(),
    callModel: (call) => callModel(run, call),
    runTool: (invocation) => perform(run, toolCall(run, invocation)),
    verify: (invocation) => perform(run, verifyCall(run, invocation)),
    askTerms: (invocation) => perform(run, termsCall(run, invocation)),
    summarise: (request) => perform(run, summaryCall(run, request)),
    authorize: (decision, waiting) => authorize(run, decision, waiting),
    notify: (waiting) => perform(run, notifyCall(run, waiting)),
    cancelRequested,
    until,
    continueDue: (growth) => continueDue(run, growth),
    allows: (change) => patched(change),
    recorded,
  };
}

/** While it is checked, its content is to be had by query: it may be too large for the activity's input. */
function authorize(run: ResolvedRun, decision: Decision, waiting: PendingApproval): Promise<Authorization> {
  run.authorizing.set(decision.id, decision);
  return perform(run, authorizeCall(run, decision, waiting)).finally(() => run.authorizing.delete(decision.id));
}

/** A cancellation ends the wait, and is seen by who waits: the loop asks for that by itself. */
async function until(isMet: () => boolean, deadline?: WaitDeadline): Promise<void> {
  try {
    if (deadline === undefined) await condition(isMet);
    // A timer that is over already would still be a command.
    else if (deadline.at > Date.now()) await condition(isMet, deadline.at - Date.now(), { summary: deadline.summary });
  } catch {
    // Cancelled.
  }
}
