import { ActivityCancellationType, type ActivityOptions } from '@temporalio/common';
import { authorizationFailure, notifyFailure, termsFailure } from './activity-outcome.ts';
import type { ApprovalRequirement, Decision, PendingApproval } from '../domain/approvals/approval.ts';
import { summaryText } from '../domain/content/summary-text.ts';
import { summaryOf } from '../loop/approvals/approvals.ts';
import type { Authorization, NotifyOutcome, ToolInvocation } from '../loop/ports.ts';
import {
  ACTIVITIES,
  type AuthorizeDecisionInput,
  type AuthorizeDecisionOutput,
  type AskTermsInput,
  type NotifyWaitingInput,
  type RequestCancelInput,
} from '../protocol.ts';
import {
  type ActivityRequest,
  type RequestingRun,
  dataOf,
  fits,
  runReference,
  SCHEDULE_TO_CLOSE,
  HEARTBEAT_TIMEOUT,
} from './activity-request.ts';
import { aboutCall } from './summaries.ts';

const RETRY = { initialInterval: '1s', backoffCoefficient: 2, maximumInterval: '1 minute' } as const;

/** Whoever decides waits for the answer. */
const AUTHORIZE: ActivityOptions = {
  startToCloseTimeout: '30s',
  scheduleToCloseTimeout: '2 minutes',
  heartbeatTimeout: HEARTBEAT_TIMEOUT,
  cancellationType: ActivityCancellationType.TRY_CANCEL,
  retry: { ...RETRY, maximumAttempts: 3 },
};

/** Somebody may wait for days: an outage of whatever is told must not be the reason. */
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

/** A predicate has half of that by itself; the rest is for the conversation to be read. */
const ASK_TERMS: ActivityOptions = {
  startToCloseTimeout: '1 minute',
  scheduleToCloseTimeout: SCHEDULE_TO_CLOSE,
  heartbeatTimeout: HEARTBEAT_TIMEOUT,
  cancellationType: ActivityCancellationType.TRY_CANCEL,
  retry: { ...RETRY, maximumAttempts: 5 },
};

/** The question whether a decision is by somebody who may decide. What goes wrong is a refusal. */
export function authorizeRequest(
  run: RequestingRun,
  decision: Decision,
  waiting: PendingApproval,
): ActivityRequest<AuthorizeDecisionInput, AuthorizeDecisionOutput, Authorization> {
  const by = decision.by === null ? '' : ` by ${decision.by}`;
  return {
    name: ACTIVITIES.authorizeDecision,
    tier: 'remote',
    options: { ...AUTHORIZE, summary: summaryText(`${decision.type} ${waiting.toolName}${by}`) },
    input: {
      ...runReference(run),
      agentName: run.snapshot.name,
      decision: summaryOf(decision),
      ...placeOf(run, waiting),
      ...contentOf(decision),
    },
    returned: (output) => output,
    failed: authorizationFailure,
  };
}

/** Tells somebody that something waits. One that fails for good is not told again: the run still shows what waits. */
export function notifyRequest(run: RequestingRun, waiting: PendingApproval): ActivityRequest<NotifyWaitingInput, void, NotifyOutcome> {
  return {
    name: ACTIVITIES.notifyWaiting,
    tier: 'remote',
    options: { ...NOTIFY, summary: summaryText(`${waiting.toolName} waits for a decision`) },
    input: {
      ...runReference(run),
      agentName: run.snapshot.name,
      notificationId: `${run.runId}/${waiting.key}`,
      waiting,
      ...placeOf(run, waiting),
    },
    returned: () => ({ type: 'told' }),
    failed: notifyFailure,
  };
}

/** Asks the server to cancel the workflow: only what the server was asked to cancel may close as Canceled. */
export function cancelRequest(reason: string): ActivityRequest<RequestCancelInput, void, void> {
  return {
    name: ACTIVITIES.requestCancel,
    tier: 'remote',
    options: { ...REQUEST_CANCEL, summary: summaryText(`cancel: ${reason}`) },
    input: { reason },
    returned: () => undefined,
    failed: () => undefined,
  };
}

/** Asks a predicate again whether a call needs a decision, now that the deps are others. One that cannot be asked has not said no. */
export function requirementRequest(
  run: RequestingRun,
  invocation: ToolInvocation,
): ActivityRequest<AskTermsInput, ApprovalRequirement | null, ApprovalRequirement | undefined> {
  const { call, offset, index, eventId } = invocation;
  return {
    name: ACTIVITIES.askTerms,
    tier: 'remote',
    options: { ...ASK_TERMS, summary: aboutCall(`does ${call.name} need a decision`, call.arguments) },
    input: {
      ...runReference(run),
      agent: run.snapshot.digest,
      callId: call.toolCallId,
      tool: call.name,
      at: [offset, index],
      eventId,
      ...dataOf(run),
    },
    returned: (terms) => terms ?? undefined,
    failed: () => termsFailure(eventId, index),
  };
}

/** Small enough for the input, for who reads the Temporal UI; else the activity asks for it. */
function contentOf({ arguments: edited, content }: Decision): Pick<AuthorizeDecisionInput, 'arguments' | 'content' | 'contentByReference'> {
  const given = { ...(edited === undefined ? {} : { arguments: edited }), ...(content === undefined ? {} : { content }) };
  return fits(given) ? given : { contentByReference: true };
}

/** Where the arguments of the call are; a limit has none. */
function placeOf({ state }: RequestingRun, { kind, key }: PendingApproval): Pick<NotifyWaitingInput, 'at' | 'eventId'> {
  const [eventId = '', place = ''] = key.split('/');
  const event = kind === 'limit' ? undefined : state?.window.events.findLast(({ id }) => id === eventId);
  return event === undefined ? {} : { at: [event.offset, Number(place)], eventId };
}
