import type { AgentSnapshot, ToolSnapshot } from '../domain/agent.ts';
import type { ApprovalView, PendingApproval } from '../domain/approvals.ts';
import { jsonBytes } from '../domain/byte-budgets.ts';
import { defined, type JsonObject } from '../domain/json.ts';
import { jsonTextPrefix, utf8Prefix } from '../domain/text.ts';
import { isoTime } from '../domain/time.ts';
import { noUsage } from '../domain/usage.ts';
import type { StatusView } from '../domain/views.ts';
import { findEvent, rewrittenArguments } from '../kernel/tool-calls.ts';
import { usedAmounts } from '../kernel/limits.ts';
import { points } from '../kernel/points.ts';
import type { RunState } from '../kernel/run-state.ts';

// Shared state: the progress of a run.

/** The status of a run without what its state does not know: ids, times, its queue, and what waits outside of the loop. */
type RunProgress = Omit<
  StatusView,
  | 'version'
  | 'runId'
  | 'agentName'
  | 'about'
  | 'status'
  | 'executions'
  | 'queued'
  | 'session'
  | 'children'
  | 'waitingChildren'
  | 'missing'
  | 'running'
  | 'startTime'
>;

/** Returns the progress of a run in that state; without a state, of a run that has not begun. */
export function progressOf(state: RunState | undefined): RunProgress {
  if (state === undefined) {
    return { currentStep: 0, usage: noUsage(), toolCallsTotal: 0, toolCallsStarted: 0, events: 0, waitingFor: [] };
  }
  const { context, limits, usage, toolCallsTotal, toolCallsNotRun, window, approvals, lastError } = state;
  return {
    currentStep: context.currentStep,
    usage,
    toolCallsTotal,
    ...defined({ toolCallsNotRun }),
    toolCallsStarted: usedAmounts(state).toolCalls,
    events: window.through,
    waitingFor: approvals.pending.map(({ toolName }) => toolName),
    ...defined({ postponed: state.postponed }),
    limits,
    ...points.statusParts(state),
    ...defined({ lastError }),
  };
}

// Shared state: pending decisions as a person sees them.

/** Bytes of JSON of the arguments of one call in a list of pending approvals. */
const MAX_ARGUMENT_BYTES = 20_000;

/**
 * Returns the pending approvals in the order of their requests, with all that an approver needs to decide them. Large arguments are cut, unless
 * `isWhole` asks for all of them.
 */
export function approvalViews(
  state: Pick<RunState, 'approvals' | 'window' | 'slices' | 'snapshot' | 'rewrites'>,
  { isWhole = false }: { isWhole?: boolean } = {},
): ApprovalView[] {
  const { approvals, snapshot } = state;
  return approvals.pending.map((waiting) => {
    const tool = waiting.kind === 'limit' ? undefined : snapshot.tools.find(({ name }) => name === waiting.toolName);
    const answer = waiting.kind === 'question' ? tool?.answer : undefined;
    return {
      ...withIsoTimes(waiting),
      ...(isWhole ? { arguments: argumentsOf(state, waiting) } : boundedArguments(argumentsOf(state, waiting))),
      ...defined({ answer }),
      ...subjectOf(snapshot, tool),
    };
  });
}

/** Bytes of JSON of the schema of one call, and of the description of its tool, in a list of pending approvals. */
const MAX_SCHEMA_BYTES = 20_000;
const MAX_DESCRIPTION_BYTES = 2_000;

/** Returns what an approver needs to know about the tool of a call. */
function subjectOf({ name }: AgentSnapshot, tool: ToolSnapshot | undefined): Pick<ApprovalView, 'agentName' | 'description' | 'schema'> {
  if (tool === undefined) return {};
  const { description, schema } = tool;
  return {
    agentName: name,
    description: utf8Prefix(description, MAX_DESCRIPTION_BYTES),
    ...(jsonBytes(schema) > MAX_SCHEMA_BYTES ? {} : { schema }),
  };
}

/**
 * Returns the proposal for a limit, otherwise the arguments of the call, which is in the window as long as it has no result. A call
 * that has started may have been approved with edited arguments.
 */
function argumentsOf(
  state: Pick<RunState, 'approvals' | 'window' | 'slices' | 'rewrites'>,
  { kind, callId, proposal, key }: PendingApproval,
): JsonObject {
  if (kind === 'limit') return { ...proposal };
  const approved = state.approvals.approved.find((one) => one.callId === callId);
  if (approved?.arguments !== undefined) return approved.arguments;
  const rewritten = rewrittenArguments(state, callId);
  if (rewritten !== undefined) return rewritten;
  const [eventId, index] = key.split('/');
  const event = findEvent(state, eventId ?? '');
  const call = event?.content[Number(index)];
  return call?.type === 'tool_call' ? call.arguments : {};
}

/** Returns a pending approval with its times as they are shown. */
function withIsoTimes({ requestedAt, deadlineAt, ...waiting }: PendingApproval): Omit<ApprovalView, 'arguments'> {
  return { ...waiting, requestedAt: isoTime(requestedAt), ...(deadlineAt === undefined ? {} : { deadlineAt: isoTime(deadlineAt) }) };
}

function boundedArguments(whole: JsonObject): Pick<ApprovalView, 'arguments' | 'argumentsCut'> {
  if (jsonBytes(whole) <= MAX_ARGUMENT_BYTES) return { arguments: whole };
  return { arguments: { text: jsonTextPrefix(JSON.stringify(whole), MAX_ARGUMENT_BYTES) }, argumentsCut: true };
}
