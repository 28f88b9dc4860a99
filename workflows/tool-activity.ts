import { ActivityCancellationType, type ActivityOptions } from '@temporalio/common';
import { toolFailure, toolOutcome } from '../src/activity-outcome.ts';
import type { ToolInvocation, ToolOutcome } from '../src/loop/ports.ts';
import type { RunToolInput, RunToolOutput } from '../src/protocol.ts';
import { activity, fits, MISSED_HEARTBEATS, ofRun, outcomeOf, SCHEDULE_TO_CLOSE } from './activity-call.ts';
import { toolSummary } from './summaries.ts';
import type { ResolvedRun } from './live-run.ts';

/** One tool call as an activity that bears the tool's name. */
export function runTool(run: ResolvedRun, invocation: ToolInvocation): Promise<ToolOutcome> {
  const { tool, call } = invocation;
  const options: ActivityOptions = {
    summary: toolSummary(call.name, call.arguments),
    startToCloseTimeout: tool.timeoutMs,
    scheduleToCloseTimeout: SCHEDULE_TO_CLOSE,
    heartbeatTimeout: run.snapshot.timing.heartbeatMs * MISSED_HEARTBEATS,
    // A tool is told, and not waited for: one that ignores its signal must not hold up the end of the run.
    cancellationType: ActivityCancellationType.TRY_CANCEL,
    retry: { maximumAttempts: tool.maxAttempts, initialInterval: '1s', backoffCoefficient: 2, maximumInterval: '1 minute' },
  };
  const work = activity<RunToolInput, RunToolOutput>(call.name, options)(toolInput(run, invocation));
  return outcomeOf({ run, work }, { returned: toolOutcome, failed: (error) => toolFailure(tool, error) });
}

/** Small arguments and data travel in the input, for who reads the Temporal UI; large ones are there already and go by reference. */
function toolInput(run: ResolvedRun, { call, step, offset, index, eventId, edited }: ToolInvocation): RunToolInput {
  const { deps } = run;
  const state = run.state?.context.state ?? {};
  const hasData = Object.keys(deps).length > 0 || Object.keys(state).length > 0;
  const data = !hasData ? {} : fits({ deps, state }) ? { deps, state } : { dataByReference: true as const };
  return {
    ...ofRun(run),
    agentName: run.snapshot.name,
    callId: call.toolCallId,
    step,
    at: [offset, index],
    eventId,
    ...(fits(call.arguments) ? { arguments: call.arguments } : edited ? { argumentsByReference: true } : {}),
    ...data,
  };
}
