import { ActivityCancellationType, type ActivityOptions } from '@temporalio/common';
import type { ReviewedCalls } from '../domain/activity-messages.ts';
import { MISSED_HEARTBEATS } from '../domain/agent.ts';
import { BYTE_BUDGETS } from '../domain/byte-budgets.ts';
import { isToolCall } from '../domain/content.ts';
import { defined } from '../domain/json.ts';
import {
  deniedByHook,
  END_EVENTS,
  type HookRecord,
  hooksAfterCall,
  hooksBeforeCalls,
  hooksFor,
  hooksMs,
  type HookSnapshot,
} from '../domain/hooks.ts';
import type { RecordedResponse } from '../domain/model.ts';
import { withNotes } from '../domain/notes.ts';
import type { RunResultFields } from '../domain/result.ts';
import { summaryText } from '../domain/text.ts';
import type { AllPorts } from '../capabilities.ts';
import { type ChildOfCall, type PointAnswer, type PointQuestion, withHookAnswers } from '../capabilities/hooks.ts';
import type { ToolInvocation, ToolResultOutcome } from '../kernel/ports.ts';
import {
  activityProblem,
  type ActivityRequest,
  callKey,
  dataOf,
  fits,
  HEARTBEAT_TIMEOUT,
  type PerformActivity,
  type RequestingRun,
  RETRY_LOST,
  runReference,
  SCHEDULE_TO_CLOSE,
} from './activity-request.ts';
import type {
  AfterCallInput,
  AtEndInput,
  AtPointInput,
  AtPointOutput,
  BeforeCallsInput,
  CallHooksOutput,
  InputOf,
  ResultOf,
} from './contracts.ts';

/** The ports of hooks, and of everything that acts at their points. */
export function hookPorts(run: RequestingRun, perform: PerformActivity): Pick<AllPorts, 'reviewCalls' | 'afterCall' | 'askAtPoint'> {
  return {
    reviewCalls: (response) => perform(reviewRequest(run, response)),
    afterCall: (invocation, outcome, child) => perform(afterCallRequest(run, invocation, outcome, child)),
    askAtPoint: (question) => perform(pointRequest(run, question)),
  };
}

/** A request to call hooks: its input and result types depend on the event. */
type HooksRequest<Input extends InputOf<'callHooks'>, Result extends ResultOf<'callHooks'>, Outcome> = ActivityRequest<
  Input,
  Result,
  Outcome
> & {
  name: 'callHooks';
};

/** Milliseconds in addition to the hooks' time: for querying the run. */
const QUERY_MS = 30_000;

/** Calls the hooks that run in a separate activity before the calls of a response start. */
function reviewRequest(run: RequestingRun, response: RecordedResponse): HooksRequest<BeforeCallsInput, ReviewedCalls, ReviewedCalls> {
  const hooks = hooksBeforeCalls(run.snapshot);
  return {
    name: 'callHooks',
    key: ({ beforeCallsOf }) => beforeCallsOf,
    tier: 'remote',
    options: hookOptions(hooks, 'before calls'),
    input: {
      ...runReference(run),
      agentName: run.snapshot.name,
      agent: run.snapshot.digest,
      hooks,
      beforeCallsOf: response.id,
      ...dataOf(run),
    },
    returned: (review) => review,
    failed: (error) => withoutReview(hooks, response, error),
  };
}

/** Returns the review of calls whose hooks could not be called: the calls are unchanged, unless a hook fails closed. */
function withoutReview(hooks: readonly HookSnapshot[], response: RecordedResponse, error: unknown): ReviewedCalls {
  const { content, problems = {}, approvals } = response;
  const records = failedHooks(hooks, error).map((record, index) =>
    hooks[index]?.failClosed ? { ...record, denied: true as const } : record,
  );
  const closed = records.find(({ denied }) => denied);
  const known = new Map(Object.entries(problems));
  for (const { toolCallId, name } of closed === undefined ? [] : content.filter(isToolCall))
    if (!known.has(toolCallId)) known.set(toolCallId, deniedByHook(name, `hook errored (fail_closed): ${closed?.text ?? ''}`));
  return {
    ...(known.size === 0 ? {} : { problems: Object.fromEntries(known) }),
    ...defined({ approvals }),
    hooks: records,
  };
}

/** Calls the hooks that run in a separate activity for the result of a call. */
function afterCallRequest(
  run: RequestingRun,
  invocation: ToolInvocation,
  outcome: ToolResultOutcome,
  child: ChildOfCall,
): HooksRequest<AfterCallInput, CallHooksOutput, ToolResultOutcome> {
  const { call, tool, offset, index, eventId, edited } = invocation;
  const { content, status } = outcome;
  const hooks = hooksAfterCall(run.snapshot, tool);
  return {
    name: 'callHooks',
    key: callKey(run),
    tier: 'remote',
    options: hookOptions(hooks, `after ${call.name}`),
    input: {
      ...runReference(run),
      agentName: run.snapshot.name,
      hooks,
      callId: call.toolCallId,
      toolName: call.name,
      at: [offset, index],
      eventId,
      ...(fits(call.arguments) ? { arguments: call.arguments } : edited ? { rewritten: true as const } : {}),
      ...(tool.agent === undefined || child.runId === undefined ? {} : { child: { agent: tool.agent.name, runId: child.runId } }),
      isError: status === 'error',
      ...(fits(content) ? { content } : {}),
      maxBytes: tool.maxResultBytes ?? BYTE_BUDGETS.toolResult,
      ...dataOf(run),
    },
    returned: (output) => withAnswers(outcome, output, child),
    failed: (error) => withFailedHooks(hooks, outcome, error, call.toolCallId),
  };
}

/** Calls the hooks at the end of a run, which leave their answers in its result; undefined if there are none. */
export function endHooksRequest(
  run: RequestingRun,
  result: RunResultFields,
): HooksRequest<AtEndInput, CallHooksOutput, RunResultFields> | undefined {
  const { status, stopReason } = result;
  const hooks = hooksFor(run.snapshot, ...END_EVENTS);
  if (hooks.length === 0) return undefined;
  return {
    name: 'callHooks',
    tier: 'remote',
    options: hookOptions(hooks, `at the end: ${status}`),
    input: { ...runReference(run), agentName: run.snapshot.name, hooks, status, stopReason, ...dataOf(run) },
    returned: (output) => endedWithHooks(result, { hooks }, { output }),
    failed: (failure) => endedWithHooks(result, { hooks }, { failure }),
  };
}

/** Returns the result of a run with the answers of the end hooks, after those of the start hooks. */
export function endedWithHooks(
  result: RunResultFields,
  { hooks }: Pick<AtEndInput, 'hooks'>,
  { output, failure }: { output?: CallHooksOutput | undefined; failure?: unknown },
): RunResultFields {
  const answers = failure === undefined ? (output?.hooks ?? []) : failedHooks(hooks, failure);
  return answers.length === 0 ? result : { ...result, hooks: [...(result.hooks ?? []), ...answers] };
}

function hookOptions(hooks: HookSnapshot[], when: string): ActivityOptions {
  return {
    summary: summaryText(`hooks ${when}`),
    startToCloseTimeout: hooksMs(hooks) + QUERY_MS,
    scheduleToCloseTimeout: SCHEDULE_TO_CLOSE,
    heartbeatTimeout: HEARTBEAT_TIMEOUT,
    retry: RETRY_LOST,
  };
}

/** Returns the outcome of a call as its hooks left it. */
function withAnswers(outcome: ToolResultOutcome, { hooks, result, notes = [] }: CallHooksOutput, { ends }: ChildOfCall): ToolResultOutcome {
  // The result of the run is the child's result: a hook must not change it.
  if (ends) return withHookAnswers(outcome, hooks);
  const noted = withNotes(outcome, ...notes);
  if (result === undefined) return withHookAnswers(noted, hooks);
  // The result in the worker's transcript cache lacks the change.
  const { resultId: _, ...rest } = noted;
  return withHookAnswers({ ...rest, content: result.content, status: result.isError ? 'error' : 'success' }, hooks);
}

/** Returns the outcome of a call whose hooks could not be called: unchanged. */
function withFailedHooks(hooks: readonly HookSnapshot[], outcome: ToolResultOutcome, error: unknown, callId: string): ToolResultOutcome {
  return withHookAnswers(
    outcome,
    failedHooks(hooks, error).map((record) => ({ ...record, callId })),
  );
}

/** Returns the records of hooks that could not be called. */
function failedHooks(hooks: readonly HookSnapshot[], error: unknown): HookRecord[] {
  const problem = activityProblem(error);
  const text = problem.type === 'cancelled' ? 'the run was cancelled' : problem.message;
  return hooks.map(({ name, on }) => ({ hook: name, on, answer: 'failed', text: text.slice(0, 500) }));
}

/** Milliseconds in addition to the answers: the activity may have to read the conversation from the run. */
const ASSEMBLY_MS = 60_000;

/** Asks all of the worker's capabilities that act at a point of the conversation, in one activity. */
function pointRequest(
  run: RequestingRun,
  { point, from, through, lastEventId, names, timeoutMs }: PointQuestion,
): HooksRequest<AtPointInput, AtPointOutput, PointAnswer> {
  const { snapshot } = run;
  return {
    name: 'callHooks',
    key: (asked) => (asked.point === undefined ? undefined : `${asked.point}/${asked.through}`),
    tier: 'remote',
    options: {
      summary: summaryText(`${point} · ${names.join(', ')}`),
      startToCloseTimeout: timeoutMs + ASSEMBLY_MS,
      scheduleToCloseTimeout: SCHEDULE_TO_CLOSE,
      heartbeatTimeout: snapshot.timing.heartbeatMs * MISSED_HEARTBEATS,
      // A cancelled activity returns the cost of its model calls, so the run waits for it.
      cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
      retry: RETRY_LOST,
    },
    input: { ...runReference(run), agent: snapshot.digest, point, through, lastEventId, ...defined({ from }) },
    returned: ({ aborted, found }) => ({ type: aborted ? 'cancelled' : 'found', found }),
    failed: pointFailure,
  };
}

function pointFailure(error: unknown): PointAnswer {
  const problem = activityProblem(error);
  if (problem.type === 'cancelled') return { type: 'cancelled' };
  const code = problem.type === 'failed' ? problem.code : undefined;
  return { type: 'failed', code: code ?? 'internal', message: problem.message };
}
