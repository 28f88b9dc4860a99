import type { ActivityOptions } from '@temporalio/common';
import type { AfterAgentInput, AtEndInput, CallHooksOutput } from '../domain/hooks/hook-messages.ts';
import type { HookRecord } from '../domain/hooks/hook-record.ts';
import { AFTER_AGENT_EVENTS, END_EVENTS } from '../domain/hooks/hook-event.ts';
import { hooksFor, type HookSnapshot, hooksMs } from '../domain/hooks/hook-snapshot.ts';
import { BYTE_BUDGETS } from '../domain/json/byte-budget.ts';
import { summaryText } from '../domain/content/summary-text.ts';
import type { RunResultFields } from '../domain/run/result.ts';
import type { ToolInvocation, ToolResultOutcome } from '../loop/ports.ts';
import { ACTIVITIES } from '../protocol.ts';
import { activityProblem } from './activity-outcome.ts';
import {
  type ActivityRequest,
  dataOf,
  fits,
  HEARTBEAT_TIMEOUT,
  type RequestingRun,
  RETRY_LOST,
  runReference,
  SCHEDULE_TO_CLOSE,
} from './activity-request.ts';

/** Milliseconds beside the time of the hooks: to query the run. */
const BESIDE_MS = 30_000;

/** Calls the hooks for the result of an agent that a call has run. */
export function afterAgentRequest(
  run: RequestingRun,
  invocation: ToolInvocation,
  outcome: ToolResultOutcome,
): ActivityRequest<AfterAgentInput, CallHooksOutput, ToolResultOutcome> {
  const { call, tool, offset, index, eventId, edited } = invocation;
  const { childRunId = '', content, status } = outcome;
  const hooks = hooksFor(run.snapshot, ...AFTER_AGENT_EVENTS);
  return {
    name: ACTIVITIES.callHooks,
    tier: 'remote',
    options: optionsOf(hooks, `after ${call.name}`),
    input: {
      ...runReference(run),
      agentName: run.snapshot.name,
      hooks,
      callId: call.toolCallId,
      toolName: call.name,
      at: [offset, index],
      eventId,
      ...(fits(call.arguments) ? { arguments: call.arguments } : edited ? { rewritten: true as const } : {}),
      agent: tool.agent?.name ?? call.name,
      childRunId,
      isError: status === 'error',
      ...(fits(content) ? { content } : {}),
      maxBytes: tool.maxResultBytes ?? BYTE_BUDGETS.toolResult,
      ...dataOf(run),
    },
    returned: (output) => withAnswers(outcome, output),
    failed: (error) => withFailedHooks(hooks, outcome, error, call.toolCallId),
  };
}

/** Calls the hooks at the end of a run. */
export function endHooksRequest(
  run: RequestingRun,
  { status, stopReason }: Pick<RunResultFields, 'status' | 'stopReason'>,
): ActivityRequest<AtEndInput, CallHooksOutput, HookRecord[]> {
  const hooks = hooksFor(run.snapshot, ...END_EVENTS);
  return {
    name: ACTIVITIES.callHooks,
    tier: 'remote',
    options: optionsOf(hooks, `at the end: ${status}`),
    input: { ...runReference(run), agentName: run.snapshot.name, hooks, status, stopReason, ...dataOf(run) },
    returned: (output) => output.hooks,
    failed: (error) => failedHooks(hooks, error),
  };
}

function optionsOf(hooks: HookSnapshot[], when: string): ActivityOptions {
  return {
    summary: summaryText(`hooks ${when}`),
    startToCloseTimeout: hooksMs({ hooks }, ...AFTER_AGENT_EVENTS, ...END_EVENTS) + BESIDE_MS,
    scheduleToCloseTimeout: SCHEDULE_TO_CLOSE,
    heartbeatTimeout: HEARTBEAT_TIMEOUT,
    retry: RETRY_LOST,
  };
}

/** Returns the outcome of a call as its hooks have left it. */
export function withAnswers(outcome: ToolResultOutcome, { hooks, result }: CallHooksOutput): ToolResultOutcome {
  const answers = hooks.length === 0 ? {} : { hooks };
  // The result of the run is that of its child: a hook does not change it.
  if (result === undefined || outcome.ended !== undefined) return { ...outcome, ...answers };
  return { ...outcome, content: result.content, status: result.isError ? 'error' : 'success', ...answers };
}

/** Returns the outcome of a call whose hooks could not be called: it stands as it is. */
export function withFailedHooks(
  hooks: readonly HookSnapshot[],
  outcome: ToolResultOutcome,
  error: unknown,
  callId: string,
): ToolResultOutcome {
  return { ...outcome, hooks: failedHooks(hooks, error).map((record) => ({ ...record, callId })) };
}

/** Returns the records of hooks that could not be called. */
export function failedHooks(hooks: readonly HookSnapshot[], error: unknown): HookRecord[] {
  const problem = activityProblem(error);
  const text = problem.type === 'cancelled' ? 'the run was cancelled' : problem.message;
  return hooks.map(({ name, on }) => ({ hook: name, on, answer: 'failed', text: text.slice(0, 500) }));
}
