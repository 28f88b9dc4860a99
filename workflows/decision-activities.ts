import { ActivityCancellationType, type ActivityOptions } from '@temporalio/common';
import { authorizationFailure, toldUnlessCancelled } from '../src/activity-outcome.ts';
import { summaryText } from '../src/domain/summary-text.ts';
import type { Decision, PendingApproval } from '../src/domain/approval.ts';
import { summaryOf } from '../src/loop/approvals.ts';
import type { Authorization } from '../src/loop/ports.ts';
import {
  ACTIVITIES,
  type AuthorizeDecisionInput,
  type AuthorizeDecisionOutput,
  type NotifyWaitingInput,
  type RequestCancelInput,
} from '../src/protocol.ts';
import { activity, fits, ofRun, outcomeOf, SCHEDULE_TO_CLOSE } from './activity-call.ts';
import type { LiveRun, ResolvedRun } from './live-run.ts';

const RETRY = { initialInterval: '1s', backoffCoefficient: 2, maximumInterval: '1 minute' } as const;

/** Whoever decides waits for the answer. */
const AUTHORIZE: ActivityOptions = {
  startToCloseTimeout: '30s',
  scheduleToCloseTimeout: '2 minutes',
  cancellationType: ActivityCancellationType.TRY_CANCEL,
  retry: { ...RETRY, maximumAttempts: 3 },
};

/** Somebody may wait for days: an outage of whatever is told must not be the reason. */
const NOTIFY: ActivityOptions = {
  startToCloseTimeout: '1 minute',
  scheduleToCloseTimeout: SCHEDULE_TO_CLOSE,
  cancellationType: ActivityCancellationType.TRY_CANCEL,
  retry: { ...RETRY, maximumAttempts: 100 },
};

const REQUEST_CANCEL: ActivityOptions = {
  startToCloseTimeout: '30s',
  scheduleToCloseTimeout: '1 day',
  cancellationType: ActivityCancellationType.TRY_CANCEL,
  retry: { ...RETRY, maximumAttempts: 1_000 },
};

/** Asks the worker's `authorize` whether a decision is by somebody who may decide. What goes wrong is a refusal. */
export function authorizeDecision(run: ResolvedRun, decision: Decision, waiting: PendingApproval): Promise<Authorization> {
  const input: AuthorizeDecisionInput = {
    ...ofRun(run),
    agentName: run.snapshot.name,
    decision: summaryOf(decision),
    ...placeOf(run, waiting),
    ...contentOf(decision),
  };
  run.authorizing.set(decision.id, decision);
  const summary = summaryText(`${decision.type} ${waiting.toolName}${decision.by === null ? '' : ` by ${decision.by}`}`);
  const options = { ...AUTHORIZE, summary };
  const work = activity<AuthorizeDecisionInput, AuthorizeDecisionOutput>(ACTIVITIES.authorizeDecision, options)(input);
  return outcomeOf<AuthorizeDecisionOutput, Authorization>(
    { run, work },
    {
      returned: (output) => output,
      failed: authorizationFailure,
    },
  ).finally(() => run.authorizing.delete(decision.id));
}

/** Tells the worker's `notify` that something waits. One that fails for good is not told again: the run still shows what waits. */
export function notifyWaiting(run: ResolvedRun, waiting: PendingApproval): Promise<boolean> {
  const input: NotifyWaitingInput = {
    ...ofRun(run),
    agentName: run.snapshot.name,
    notificationId: `${run.runId}/${waiting.key}`,
    waiting,
    ...placeOf(run, waiting),
  };
  const options = { ...NOTIFY, summary: summaryText(`${waiting.toolName} waits for a decision`) };
  const work = activity<NotifyWaitingInput, void>(ACTIVITIES.notifyWaiting, options)(input);
  return outcomeOf({ run, work }, { returned: () => true, failed: toldUnlessCancelled });
}

/** Asks the server to cancel this workflow: only what the server was asked to cancel may close as Canceled. */
export async function requestCancel(run: LiveRun, reason: string): Promise<void> {
  const options = { ...REQUEST_CANCEL, summary: summaryText(`cancel: ${reason}`) };
  await outcomeOf<void, void>(
    { run, work: activity<RequestCancelInput, void>(ACTIVITIES.requestCancel, options)({ reason }) },
    { returned: () => undefined, failed: () => undefined },
  );
}

/** Small enough for the input, for who reads the Temporal UI; else the activity asks for it. */
function contentOf({ arguments: edited, content }: Decision): Pick<AuthorizeDecisionInput, 'arguments' | 'content' | 'contentByReference'> {
  const given = { ...(edited === undefined ? {} : { arguments: edited }), ...(content === undefined ? {} : { content }) };
  return fits(given) ? given : { contentByReference: true };
}

/** Where the arguments of the call are; a limit has none. */
function placeOf({ state }: ResolvedRun, { kind, key }: PendingApproval): Pick<NotifyWaitingInput, 'at' | 'eventId'> {
  const [eventId = '', index = ''] = key.split('/');
  const event = kind === 'limit' ? undefined : state?.window.events.findLast(({ id }) => id === eventId);
  return event === undefined ? {} : { at: [event.offset, Number(index)], eventId };
}
