import { ActivityCancellationType, type ActivityOptions } from '@temporalio/common';
import {
  type AgentSnapshot,
  attemptsOf,
  backoffOf,
  MISSED_HEARTBEATS,
  type PinnedSkill,
  type SkillSnapshot,
  toolOwner,
  type ToolSnapshot,
} from '../domain/agent.ts';
import { isToolCall, type ToolCall } from '../domain/content.ts';
import { defined } from '../domain/json.ts';
import { mostNoteBytes } from '../domain/parts.ts';
import { hooksMs, inlineHooks } from '../domain/hooks.ts';
import { BYTE_BUDGETS } from '../domain/byte-budgets.ts';
import { CALL_AT_DEADLINE } from '../domain/tool-calls.ts';
import { runningResult, type RunPorts, type ToolInvocation, type ToolOutcome } from '../kernel/ports.ts';
import { findEvent } from '../kernel/tool-calls.ts';
import { thoughtOf } from '../kernel/next-step.ts';
import type { RunToolInput, RunToolOutput } from '../protocol.ts';
import {
  type ActivityRequest,
  callKey,
  callSummary,
  dataOf,
  fits,
  LOST_DELAY,
  type PerformActivity,
  type RequestingRun,
  type RequestOf,
  runReference,
  SCHEDULE_TO_CLOSE,
  toolFailure,
  toolOutcome,
  verifiedOutcome,
  verifyFailure,
  verifySummary,
  wholeDataOf,
} from './activity-request.ts';
import { agentPorts } from './agent-requests.ts';
import { childPorts } from './child-requests.ts';
import { codePorts } from './code-requests.ts';
import { decisionPorts } from './decision-requests.ts';
import { hookPorts } from './hook-requests.ts';
import { programPorts } from './program-requests.ts';

type PortsRun = Parameters<typeof decisionPorts>[0];

type ActivityPorts = ReturnType<typeof toolPorts> &
  ReturnType<typeof agentPorts> &
  ReturnType<typeof decisionPorts> &
  ReturnType<typeof hookPorts> &
  ReturnType<typeof codePorts> &
  ReturnType<typeof childPorts> &
  ReturnType<typeof programPorts>;

/**
 * Builds the ports that only perform activities, given a function that performs them: by Temporal, in memory in a test, or from a history.
 */
export function activityPorts(run: PortsRun, perform: PerformActivity, cancelRequested: () => boolean): ActivityPorts {
  return {
    ...toolPorts(run, perform, cancelRequested),
    ...agentPorts(run, perform, cancelRequested),
    ...decisionPorts(run, perform),
    ...hookPorts(run, perform),
    ...codePorts(run, perform),
    ...childPorts(perform),
    ...programPorts(run, perform),
  };
}

function toolPorts(run: RequestingRun, perform: PerformActivity, cancelRequested: () => boolean): Pick<RunPorts, 'runTool' | 'verify'> {
  return {
    runTool: (invocation) => perform(callInTime(toolRequest(run, invocation), cancelRequested)),
    verify: (invocation, reason) => perform(verifyRequest(run, invocation, reason)),
  };
}

/** Returns the request of a tool call that the deadline of the run may give up: then it is cancelled, although the run is not. */
export function callInTime(request: ToolCallRequest, cancelRequested: () => boolean): ToolCallRequest {
  const inTime = (outcome: ToolOutcome): ToolOutcome =>
    outcome.type === 'cancelled' && !cancelRequested() ? runningResult(CALL_AT_DEADLINE) : outcome;
  return {
    ...request,
    returned: (output) => inTime(request.returned(output)),
    failed: (error) => inTime(request.failed(error)),
  };
}

/**
 * Milliseconds that the server waits longer than the worker for an attempt. The worker itself ends and reports an attempt that takes too
 * long.
 */
const TIMEOUT_GRACE_MS = 10_000;

/** Milliseconds that a call may wait on its worker for other calls of a tool with limited concurrency. */
const TURN_MS = 3_600_000;

/** The maximum number of attempts to get a tool's report about a lost call. */
const VERIFY_ATTEMPTS = 5;

/** Returns a tool call as an activity named after the tool. */
export function toolRequest(run: RequestingRun, invocation: ToolInvocation): ActivityRequest<RunToolInput, RunToolOutput, ToolOutcome> {
  const { tool, call } = invocation;
  const isLocal = tool.tier === 'local' && fitsLocalActivityBudget(run, invocation);
  const handling = {
    name: call.name,
    key: callKey(run),
    // Its effect must not be in doubt.
    ...(tool.effect === 'once' ? { outlastsDeadline: 'begun' as const } : {}),
    returned: toolOutcome,
    failed: (error: unknown) => toolFailure(tool, error),
  };
  if (!isLocal) return remoteCall(run, invocation, handling);
  return {
    ...handling,
    tier: 'local',
    options: { ...summaryOf(run, invocation), ...localOptions(run, tool), ...timeOfCall(invocation) },
    input: localInput(run, invocation),
    remotely: () => remoteCall(run, invocation, handling),
  };
}

type ToolCallRequest = ActivityRequest<RunToolInput, RunToolOutput, ToolOutcome>;

function remoteCall(
  run: RequestingRun,
  invocation: ToolInvocation,
  handling: Pick<ToolCallRequest, 'name' | 'key' | 'outlastsDeadline' | 'returned' | 'failed'>,
): ToolCallRequest {
  const { tool } = invocation;
  return {
    ...handling,
    tier: 'remote',
    options: { ...summaryOf(run, invocation), ...remoteOptions(run, tool), ...timeOfCall(invocation) },
    input: remoteInput(run, invocation),
  };
}

/** Returns a tool call of a burst, with all data included: none of it is stored again, and the run does not know the call yet. */
export function toolRequestInBurst(run: RequestingRun, invocation: ToolInvocation): ToolCallRequest {
  const { tool, call } = invocation;
  const handling = { name: call.name, returned: toolOutcome, failed: (error: unknown) => toolFailure(tool, error) };
  return { ...handling, tier: 'remote', options: remoteOptions(run, tool), input: localInput(run, invocation) };
}

/**
 * Asks the tool for the outcome of a call whose answer was lost for the given reason. The activity is remote and is retried, because it has
 * no effect.
 */
function verifyRequest(run: RequestingRun, invocation: ToolInvocation, reason: string): RequestOf<'verifyCall', ToolOutcome> {
  const { tool, call } = invocation;
  return {
    name: 'verifyCall',
    key: callKey(run),
    tier: 'remote',
    outlastsDeadline: 'always',
    options: {
      ...remoteOptions(run, tool),
      summary: verifySummary(call, reason),
      retry: { ...remoteRetryOf(tool), maximumAttempts: VERIFY_ATTEMPTS },
    },
    input: { ...remoteInput(run, invocation), tool: tool.name },
    returned: (output) => verifiedOutcome(output, reason),
    failed: (error) => verifyFailure(error, reason),
  };
}

/** Returns the summary of a call, with the thought of its response. */
function summaryOf({ state }: RequestingRun, { call, tool, eventId }: ToolInvocation): Pick<ActivityOptions, 'summary'> {
  const answer = state && findEvent(state, eventId);
  const summary = callSummary(call.arguments, answer === undefined ? null : thoughtOf(answer.content), tool.label);
  return defined({ summary });
}

/** Returns the options of a remote call. */
export function remoteOptions({ snapshot }: Pick<RequestingRun, 'snapshot'>, tool: ToolSnapshot): ActivityOptions {
  return {
    startToCloseTimeout:
      tool.timeoutMs + TIMEOUT_GRACE_MS + hooksMs(inlineHooks(snapshot, 'post_tool_use')) + (tool.concurrency === undefined ? 0 : TURN_MS),
    scheduleToCloseTimeout: SCHEDULE_TO_CLOSE,
    heartbeatTimeout: tool.heartbeatTimeoutMs ?? snapshot.timing.heartbeatMs * MISSED_HEARTBEATS,
    // The run does not wait for a cancelled tool: one that ignores its signal must not delay the run's end.
    cancellationType: ActivityCancellationType.TRY_CANCEL,
    retry: { ...remoteRetryOf(tool), maximumAttempts: attemptsOf(tool) },
    ...defined({ taskQueue: tool.taskQueue }),
  };
}

/** Returns the time of all attempts of a call together, if it is limited. */
function timeOfCall({ withinMs }: ToolInvocation): ActivityOptions {
  return withinMs === undefined ? {} : { scheduleToCloseTimeout: withinMs };
}

/** The options of local calls, by the tool's snapshot, which never changes: computing them each time would slow down quick calls. */
const knownLocalOptions = new WeakMap<ToolSnapshot, ActivityOptions>();

/**
 * Returns the options of a local call. The waits between attempts stay inside the workflow task, because a timer would add three
 * events.
 */
function localOptions({ snapshot }: RequestingRun, tool: ToolSnapshot): ActivityOptions {
  const known = knownLocalOptions.get(tool);
  if (known !== undefined) return known;
  const attemptMs = tool.timeoutMs + TIMEOUT_GRACE_MS + hooksMs(inlineHooks(snapshot, 'post_tool_use'));
  const options: ActivityOptions = {
    startToCloseTimeout: attemptMs,
    scheduleToCloseTimeout: (attemptMs + backoffOf(tool).maxMs) * attemptsOf(tool),
    cancellationType: ActivityCancellationType.TRY_CANCEL,
    retry: { ...retryOf(tool), maximumAttempts: attemptsOf(tool) },
  };
  knownLocalOptions.set(tool, options);
  return options;
}

function retryOf(tool: ToolSnapshot): NonNullable<ActivityOptions['retry']> {
  const { initialMs, factor, maxMs } = backoffOf(tool);
  return { initialInterval: initialMs, backoffCoefficient: factor, maximumInterval: maxMs };
}

/**
 * Returns the retries of remote calls, for attempts that were lost with their worker. A failing attempt sets the delay before the next one
 * itself.
 */
function remoteRetryOf(tool: ToolSnapshot): NonNullable<ActivityOptions['retry']> {
  const { initialMs } = backoffOf(tool);
  return { ...LOST_DELAY, initialInterval: Math.min(initialMs, LOST_DELAY.initialInterval) };
}

/**
 * Returns the input of a remote call. Small arguments are included so that the Temporal UI shows them; large ones are already in the
 * history and passed by reference.
 */
function remoteInput(run: RequestingRun, invocation: ToolInvocation): RunToolInput {
  const { call, edited } = invocation;
  return {
    ...positionInput(run, invocation),
    ...(fits(call.arguments) ? { arguments: call.arguments } : edited ? { argumentsByReference: true } : {}),
    ...dataOf(run),
  };
}

/**
 * Returns the input of a local call with all data included: it is not stored in the history, and a run cannot answer queries during its
 * workflow task.
 */
function localInput(run: RequestingRun, invocation: ToolInvocation): RunToolInput {
  const byId = run.snapshot.program === undefined ? {} : { byId: true as const };
  return { ...positionInput(run, invocation), arguments: invocation.call.arguments, ...byId, ...wholeDataOf(run) };
}

function positionInput(run: RequestingRun, { call, tool, step, offset, index, eventId, timed }: ToolInvocation): RunToolInput {
  return {
    ...runReference(run),
    ...toolOwner(run.snapshot),
    callId: call.toolCallId,
    step,
    at: [offset, index],
    eventId,
    timeoutMs: tool.timeoutMs,
    ...defined({ timed }),
    ...(tool.effect === 'once' ? { once: true as const } : {}),
    ...(tool.mcp === undefined ? {} : { mcp: { ...tool.mcp, ...(tool.effect === 'once' ? { once: true as const } : {}) } }),
    ...(tool.ofSkills ? { skill: pinnedSkill(run.snapshot.skills, call) } : {}),
    ...(tool.ofMemory ? { memory: memoryOf(run) } : {}),
    ...resultHooks(run),
    ...usageOf(run),
  };
}

/** Returns the pinned content of the skill that a call names, or an empty object if the agent has no such skill. */
function pinnedSkill(skills: readonly SkillSnapshot[] = [], { arguments: args }: ToolCall): Partial<PinnedSkill> {
  const { digest, stored } = skills.find(({ name }) => name === args['skill']) ?? {};
  return defined({ digest, stored });
}

function memoryOf({ snapshot: { memory } }: RequestingRun): NonNullable<RunToolInput['memory']> {
  return defined({ name: memory?.name });
}

function resultHooks({ snapshot }: RequestingRun): Pick<RunToolInput, 'hooks'> {
  const after = inlineHooks(snapshot, 'post_tool_use');
  return after.length === 0 ? {} : { hooks: after };
}

function usageOf({ state }: RequestingRun): Pick<RunToolInput, 'usage'> {
  if (state === undefined) return {};
  const { promptTokens, completionTokens, totalTokens, llmCalls } = state.usage;
  const isSum = totalTokens === promptTokens + completionTokens;
  return { usage: { promptTokens, completionTokens, ...(isSum ? {} : { totalTokens }), llmCalls } };
}

/**
 * The maximum bytes produced by the local calls of one response. All commands of one workflow task are one message of at most 4 MB;
 * the server refuses a larger one, and the task is retried forever. The rest is for the state that a run carries into its next
 * execution.
 */
const MAX_LOCAL_BYTES = 2_000_000;

/**
 * True if a call of a local tool can run inside the workflow task. Depends only on the response, not on the results of earlier calls: each
 * call counts with its maximum.
 */
function fitsLocalActivityBudget({ snapshot, state }: RequestingRun, { tool, eventId, index }: ToolInvocation): boolean {
  // Nearly always true, which saves searching the response.
  if ((index + 1) * largestCall(snapshot) <= MAX_LOCAL_BYTES) return true;
  const response = state && findEvent(state, eventId);
  const before = response?.content.slice(0, index).filter(isToolCall) ?? [];
  let bytes = mostBytes(snapshot, tool);
  for (const { name } of before) {
    const other = snapshot.tools.find((one) => one.name === name);
    if (other?.tier === 'local') bytes += mostBytes(snapshot, other);
  }
  return bytes <= MAX_LOCAL_BYTES;
}

/** The maximum bytes produced by one local call, by snapshot, which never changes. */
const largest = new WeakMap<AgentSnapshot, number>();

function largestCall(snapshot: AgentSnapshot): number {
  const known = largest.get(snapshot);
  if (known !== undefined) return known;
  const bytes = Math.max(0, ...snapshot.tools.filter(({ tier }) => tier === 'local').map((tool) => mostBytes(snapshot, tool)));
  largest.set(snapshot, bytes);
  return bytes;
}

function mostBytes(snapshot: AgentSnapshot, { maxResultBytes = BYTE_BUDGETS.toolResult }: ToolSnapshot): number {
  return maxResultBytes + BYTE_BUDGETS.localChanges + mostNoteBytes(snapshot);
}
