import { ActivityCancellationType, type ActivityOptions } from '@temporalio/common';
import { MISSED_HEARTBEATS } from '../domain/agent.ts';
import { type ApprovalRequirement, type Decision, type PendingApproval, placeOfKey, withoutContent } from '../domain/approvals.ts';
import { canonicalJson, defined, type JsonObject } from '../domain/json.ts';
import type { RunResultFields } from '../domain/result.ts';
import { summaryText } from '../domain/text.ts';
import { rewrittenArguments } from '../domain/rewrites.ts';
import { findEvent } from '../kernel/tool-calls.ts';
import type { NotifyOutcome } from '../capabilities/notifications.ts';
import type { AllPorts } from '../capabilities.ts';
import type { Authorization, GivenDecision, ToolInvocation } from '../kernel/ports.ts';
import type { ParsedCall, ParseOutcome, ProgramPorts } from '../program/program-ports.ts';
import type { AuthorizeDecisionInput, NotifyWaitingInput } from '../protocol.ts';
import {
  aboutCall,
  activityProblem,
  archiveFailure,
  authorizationFailure,
  callKey,
  dataOf,
  fits,
  HEARTBEAT_TIMEOUT,
  notifyFailure,
  type PerformActivity,
  type RequestingRun,
  type RequestOf,
  requirementFailure,
  RETRY_LOST,
  runReference,
  SCHEDULE_TO_CLOSE,
} from './activity-request.ts';

/** The run whose decisions are checked. During a check, the activity can query the content, which may be too large for its input. */
interface DecidedRun extends RequestingRun {
  authorizing: Map<string, Decision>;
}

/** The ports of decisions. */
export function decisionPorts(
  run: DecidedRun,
  perform: PerformActivity,
): Pick<AllPorts, 'reevaluateApproval' | 'parseEdits' | 'authorize' | 'notify'> & Pick<ProgramPorts, 'parseArguments'> {
  return {
    parseEdits: (decisions) => (decisions.some((one) => isToParse(run, one)) ? parseEdits(run, perform, decisions) : undefined),
    parseArguments: (call) => perform(parseRequest(run, call)),
    reevaluateApproval: (invocation) => perform(requirementRequest(run, invocation)),
    authorize: (decision, waiting) => {
      run.authorizing.set(decision.id, decision);
      return perform(authorizeRequest(run, decision, waiting)).finally(() => run.authorizing.delete(decision.id));
    },
    notify: (waiting) => perform(notifyRequest(run, waiting)),
  };
}

const RETRY = { initialInterval: '1s', backoffCoefficient: 2, maximumInterval: '1 minute' } as const;

/** Short, because the approver waits for the answer. */
const AUTHORIZE: ActivityOptions = {
  startToCloseTimeout: '30s',
  scheduleToCloseTimeout: '2 minutes',
  heartbeatTimeout: HEARTBEAT_TIMEOUT,
  cancellationType: ActivityCancellationType.TRY_CANCEL,
  retry: { ...RETRY, maximumAttempts: 3 },
};

/** Long, because without the notification, an approval may wait for days: it must survive an outage of the notified service. */
const NOTIFY: ActivityOptions = {
  startToCloseTimeout: '1 minute',
  scheduleToCloseTimeout: SCHEDULE_TO_CLOSE,
  heartbeatTimeout: HEARTBEAT_TIMEOUT,
  cancellationType: ActivityCancellationType.TRY_CANCEL,
  retry: { ...RETRY, maximumAttempts: 100 },
};

const REQUEST_CANCEL: ActivityOptions = {
  startToCloseTimeout: '30s',
  scheduleToCloseTimeout: '1 day',
  cancellationType: ActivityCancellationType.TRY_CANCEL,
  retry: { ...RETRY, maximumAttempts: 1_000 },
};

/** The predicate itself may take half of the time; the rest is for reading the conversation. */
const REQUIREMENT: ActivityOptions = {
  startToCloseTimeout: '1 minute',
  scheduleToCloseTimeout: SCHEDULE_TO_CLOSE,
  heartbeatTimeout: HEARTBEAT_TIMEOUT,
  cancellationType: ActivityCancellationType.TRY_CANCEL,
  retry: { ...RETRY, maximumAttempts: 5 },
};

/** True for a decision with arguments that its tool may change: the run must know what the call would run with. */
function isToParse({ snapshot }: RequestingRun, { type, toolName, arguments: edited }: Decision): boolean {
  return (
    type === 'approve' && edited !== undefined && snapshot.tools.some(({ name, changesArguments }) => name === toolName && changesArguments)
  );
}

/** Returns decisions with edited arguments as their tools run with them. Arguments that a tool refuses stay: its call fails, as it says. */
function parseEdits(run: RequestingRun, perform: PerformActivity, decisions: readonly Decision[]): Promise<GivenDecision[]> {
  const parsed = decisions.map(async (one): Promise<GivenDecision> => {
    const { arguments: edited = {}, callId, toolName: tool, id } = one;
    if (!isToParse(run, one)) return one;
    const outcome = await perform(parseRequest(run, { tool, arguments: edited, of: id }));
    if (outcome.type === 'parsed') return withParsed(one, edited, outcome.arguments);
    if (outcome.type !== 'failed') return one;
    return { ...one, problem: `The edited arguments for call "${callId}" could not be parsed: ${outcome.message}` };
  });
  return Promise.all(parsed);
}

/** Returns a decision with parsed arguments. It keeps the sent ones if they differ, by which a repetition is recognized. */
function withParsed(decision: Decision, sent: JsonObject, parsed: JsonObject): Decision {
  return canonicalJson(sent) === canonicalJson(parsed) ? decision : { ...decision, arguments: parsed, sentArguments: sent };
}

/** Asks the worker with which arguments a tool would run. */
function parseRequest(run: RequestingRun, { tool, arguments: args, of }: ParsedCall): RequestOf<'parseArguments', ParseOutcome> {
  return {
    name: 'parseArguments',
    key: (input) => input.of,
    tier: 'remote',
    options: { ...REQUIREMENT, summary: aboutCall(`what would ${tool} run with`, args) },
    input: { ...runReference(run), agent: run.snapshot.digest, tool, arguments: args, of },
    returned: (output) => ('problem' in output ? { type: 'refused', problem: output.problem } : { type: 'parsed', ...output }),
    failed: parseFailure,
  };
}

function parseFailure(error: unknown): ParseOutcome {
  const problem = activityProblem(error);
  return problem.type === 'cancelled' ? problem : { type: 'failed', message: problem.message };
}

/** Asks the worker to check that the approver may decide. A failure counts as a refusal. */
function authorizeRequest(run: RequestingRun, decision: Decision, waiting: PendingApproval): RequestOf<'authorizeDecision', Authorization> {
  const by = decision.by === null ? '' : ` by ${decision.by}`;
  return {
    name: 'authorizeDecision',
    key: (check) => check.decision?.id,
    tier: 'remote',
    options: { ...AUTHORIZE, summary: summaryText(`${decision.type} ${waiting.toolName}${by}`) },
    input: {
      ...runReference(run),
      agentName: run.snapshot.name,
      decision: withoutContent(decision),
      kind: waiting.kind,
      ...positionOf(run, waiting),
      ...contentOf(decision),
    },
    returned: (output) => output,
    failed: authorizationFailure,
  };
}

/**
 * Calls the worker's `notify` for a pending approval. After it has failed permanently, it is not called again: the run still shows the
 * approval.
 */
function notifyRequest(run: RequestingRun, waiting: PendingApproval): RequestOf<'notifyWaiting', NotifyOutcome> {
  return {
    name: 'notifyWaiting',
    key: ({ waiting: of }) => of?.callId,
    tier: 'remote',
    options: { ...NOTIFY, summary: summaryText(`${waiting.toolName} waits for a decision`) },
    input: {
      ...runReference(run),
      agentName: run.snapshot.name,
      notificationId: notificationId(run, waiting),
      waiting,
      ...positionOf(run, waiting),
    },
    returned: () => ({ type: 'notified' }),
    failed: notifyFailure,
  };
}

/**
 * Returns the id of the notice. The key of a limit is its place in the record, where a run can wait again: for another limit, if the first one
 * was raised without a decision, or after a retry. The time at which it began to wait distinguishes these waits.
 */
function notificationId({ runId }: RequestingRun, { kind, key, requestedAt }: PendingApproval): string {
  return kind === 'limit' ? `${runId}/${key}/${requestedAt}` : `${runId}/${key}`;
}

/** Asks the server to cancel the workflow: only then can the workflow close as Canceled. */
export function cancelRequest(reason: string): RequestOf<'requestCancel', void> {
  return {
    name: 'requestCancel',
    tier: 'remote',
    options: { ...REQUEST_CANCEL, summary: summaryText(`cancel: ${reason}`) },
    input: { reason },
    returned: () => undefined,
    failed: () => undefined,
  };
}

/** Evaluates the approval predicate of a call again, with changed deps. If that fails, the call requires approval. */
function requirementRequest(
  run: RequestingRun,
  invocation: ToolInvocation,
): RequestOf<'reevaluateApproval', ApprovalRequirement | undefined> {
  const { call, offset, index, eventId } = invocation;
  return {
    name: 'reevaluateApproval',
    key: callKey(run),
    tier: 'remote',
    options: { ...REQUIREMENT, summary: aboutCall(`does ${call.name} need a decision`, call.arguments) },
    input: {
      ...runReference(run),
      agent: run.snapshot.digest,
      callId: call.toolCallId,
      tool: call.name,
      at: [offset, index],
      eventId,
      ...(invocation.edited ? { rewritten: true as const } : {}),
      ...dataOf(run),
    },
    returned: (requirement) => requirement ?? undefined,
    failed: () => requirementFailure(eventId, index),
  };
}

/**
 * Returns the content of a decision if it is small, so that the Temporal UI shows it; otherwise a flag that makes the activity query it.
 */
function contentOf({ arguments: edited, content }: Decision): Pick<AuthorizeDecisionInput, 'arguments' | 'content' | 'contentByReference'> {
  const whole = defined({ arguments: edited, content });
  return fits(whole) ? whole : { contentByReference: true };
}

/** Returns the position of a pending approval's call. A limit has none. */
function positionOf(
  { state }: RequestingRun,
  { kind, key, callId }: PendingApproval,
): Pick<NotifyWaitingInput, 'at' | 'eventId' | 'rewritten'> {
  const { eventId, index } = placeOfKey(key);
  const event = kind === 'limit' ? undefined : state && findEvent(state, eventId);
  if (event === undefined || state === undefined) return {};
  const rewritten = rewrittenArguments(state, callId) === undefined ? {} : { rewritten: true as const };
  return { at: [event.offset, index], eventId, ...rewritten };
}

const NOTIFY_ENDED: ActivityOptions = {
  startToCloseTimeout: '5 minutes',
  scheduleToCloseTimeout: SCHEDULE_TO_CLOSE,
  heartbeatTimeout: HEARTBEAT_TIMEOUT,
  retry: RETRY_LOST,
};

/** Calls the worker's `notifyEnded`. The result is not in the input, so that the history contains it only once, in the closing event. */
export function endedRequest(
  run: { key?: string },
  { agentName, status }: Pick<RunResultFields, 'agentName' | 'status'>,
): RequestOf<'notifyEnded', NotifyOutcome> {
  return {
    name: 'notifyEnded',
    tier: 'remote',
    options: { ...NOTIFY_ENDED, summary: summaryText(`reports that the run has ended: ${status}`) },
    input: { ...runReference(run), agentName, status },
    returned: () => ({ type: 'notified' }),
    failed: notifyFailure,
  };
}

/** Passes events to the worker's archive. The outcome is the reason why they were not stored, or undefined. */
export function archiveRequest(
  run: Pick<RequestingRun, 'key' | 'snapshot'>,
  { from, through }: { from: number; through: number },
): RequestOf<'archiveEvents', string | undefined> {
  return {
    name: 'archiveEvents',
    isOptional: true,
    isNoProgress: true,
    tier: 'remote',
    options: {
      summary: `events ${from} to ${through}`,
      startToCloseTimeout: '5 minutes',
      scheduleToCloseTimeout: SCHEDULE_TO_CLOSE,
      heartbeatTimeout: run.snapshot.timing.heartbeatMs * MISSED_HEARTBEATS,
      retry: RETRY_LOST,
    },
    input: { ...runReference(run), from, through },
    returned: () => undefined,
    failed: archiveFailure,
  };
}
