import { z } from 'zod';
import { FEED_ITEM, FEED_RUN } from '../../client/feed-item.ts';
import { RUN_LIST_ENTRY, RUN_LIST_ENTRY_MEMBERS } from '../../client/list.ts';
import { UNREAD_RUN } from '../../client/unread-runs.ts';
import { APPROVAL_VIEW, DECISION, REMEMBERED_DECISION } from '../../core/domain/approvals.ts';
import { LIMIT_VALUES, RUN_LIMITS } from '../../core/domain/limits.ts';
import { EVENT, EVENT_MEMBERS } from '../../core/domain/record.ts';
import { DECISION_RECEIPT, REVOKE_RECEIPT } from '../../core/domain/requests.ts';
import { ANY_RESULT_MEMBERS, RESULT_MEMBERS, STREAMED_RESULT } from '../../core/domain/result.ts';
import { RUN_STATUS, RUN_STATUSES, RUN_SUBJECT } from '../../core/domain/run.ts';
import { SESSION_VIEW, TURN_MEMBERS } from '../../core/domain/sessions.ts';
import {
  described,
  fixed,
  JSON_OBJECT,
  listOf,
  NUMBER,
  object,
  oneOf,
  optional,
  type Shape,
  shape,
  TEXT,
  TIMESTAMP,
  TRUE,
  union,
  VERSION,
} from '../../core/domain/shape.ts';
import { DELTA } from '../../core/domain/stream.ts';
import { CALLS_NOT_RUN, STEP_RESULT, TOOL_CALL_RECORD } from '../../core/domain/tool-calls.ts';
import { AGGREGATED_USAGE, ESTIMATED_USAGE, USAGE_STATS } from '../../core/domain/usage.ts';
import {
  CALL_DETAILS,
  CONTEXT_PAGE,
  PINNED_AGENT,
  RUN_TIMELINE,
  STATUS_VIEW,
  STEP_REQUEST,
  TIMELINE_SPAN,
  TURN_ENTRY,
} from '../../core/domain/views.ts';
import { component, ignoredBy, jsonObject, jsonValue, nameText, requestIdText, runIdText } from './values.ts';

component('UsageStats', USAGE_STATS);
component('EstimatedUsage', ESTIMATED_USAGE);
component('AggregatedUsage', AGGREGATED_USAGE);
component('RunLimits', RUN_LIMITS);
component('Decision', DECISION);
component('Event', EVENT);
component('ToolCallRecord', TOOL_CALL_RECORD);
component('StepResult', STEP_RESULT);

export const decisionReceipt = component('DecisionReceipt', DECISION_RECEIPT);

/** One event of a run or of one below it. */
export const treeEvent = component('TreeEvent', object({ ...EVENT_MEMBERS, runId: TEXT, offset: NUMBER }));

export const eventsPage = component(
  'EventsPage',
  object({
    runId: TEXT,
    from: described(NUMBER, 'The offset of the first event of the page.'),
    events: listOf(EVENT),
    next: optional(described(NUMBER, 'The offset of the next page. Absent if nothing further is recorded yet.')),
  }),
);

export const stepsBody = component('Steps', object({ runId: TEXT, steps: listOf(STEP_RESULT) }));

const traceSpan = component(
  'TraceSpan',
  object({
    name: TEXT,
    start_time: TIMESTAMP,
    duration_ms: NUMBER,
    events: listOf(JSON_OBJECT),
    children: optional(listOf(inside('TraceSpan'))),
    metadata: optional(JSON_OBJECT),
    end_time: optional(TIMESTAMP),
  }),
);

export const trace = component(
  'Trace',
  object({
    program_name: TEXT,
    backend_name: TEXT,
    start_time: TIMESTAMP,
    duration_ms: NUMBER,
    total_events: NUMBER,
    spans: listOf(traceSpan),
    end_time: optional(TIMESTAMP),
  }),
);

/** A run with its descendants. */
export const runTree = component(
  'RunTree',
  object({
    runId: TEXT,
    kind: oneOf('agent', 'program'),
    agentName: TEXT,
    status: TEXT,
    steps: NUMBER,
    turns: optional(NUMBER),
    limits: optional(RUN_LIMITS),
    usage: AGGREGATED_USAGE,
    treeUsage: AGGREGATED_USAGE,
    waitingFor: listOf(TEXT),
    children: listOf(inside('RunTree')),
  }),
);

export const exportLine = component(
  'ExportLine',
  z
    .looseObject({ type: z.enum(['run', 'archive', 'execution', 'event', 'step', 'usage', 'result', 'failure', 'summary']) })
    .describe('One line of an export: docs/histories.md lists their members.'),
);

export const userExportLine = component(
  'UserExportLine',
  z
    .looseObject({
      type: z.enum([
        'user',
        'run',
        'archive',
        'execution',
        'event',
        'step',
        'usage',
        'result',
        'failure',
        'details',
        'spilled',
        'summary',
        'memory',
        'unread',
        'end',
      ]),
    })
    .describe('One line of the export of a user: docs/cli.md lists their members.'),
);

/** A part of the same shape as the whole. */
function inside(id: string): Shape {
  return shape({ $ref: `#/components/schemas/${id}` });
}

export const runStatus = component('RunStatus', z.enum(RUN_STATUSES));

component('CallsNotRun', CALLS_NOT_RUN);
component('UnreadRun', UNREAD_RUN);
component('SessionView', SESSION_VIEW);
component('RunSubject', RUN_SUBJECT);
component('LimitValues', LIMIT_VALUES);
component('Approval', APPROVAL_VIEW);
component('RememberedDecision', REMEMBERED_DECISION);
component('Delta', DELTA);
component('RunEntry', RUN_LIST_ENTRY);
component('TurnEntry', TURN_ENTRY);
component('TimelineSpan', TIMELINE_SPAN);

export const statusView = component('StatusView', STATUS_VIEW);
export const contextPage = component('ContextPage', CONTEXT_PAGE);
export const revokeReceipt = component('RevokeReceipt', REVOKE_RECEIPT);

export const runResult = component('RunResult', object({ ...ANY_RESULT_MEMBERS, trace: optional(trace) }));
export const turnResult = component('TurnResult', object({ ...RESULT_MEMBERS, ...TURN_MEMBERS }));
component('StreamedResult', STREAMED_RESULT);

/** The cursor of the next page of a list. */
const NEXT = { next: optional(described(TEXT, 'The cursor of the next page. Absent on the last one.')) };

/** The runs of a page that could not be read. */
const UNREAD = {
  unread: optional(
    described(listOf(UNREAD_RUN), 'The runs that could not be read: what they would add is missing. Absent if there are none.'),
  ),
};

export const runsPage = component(
  'RunsPage',
  object({
    runs: listOf(RUN_LIST_ENTRY),
    ...NEXT,
    cut: optional(described(TRUE, 'More runs match than were sorted.')),
    ...UNREAD,
  }),
);

export const runCounts = component(
  'RunCounts',
  object({ by: oneOf('agent', 'status'), counts: listOf(object({ value: TEXT, runs: NUMBER })), total: NUMBER }),
);

const { runId: _, kind: __, agentName: ___, steps: ____, tokens: _____, cost: ______, ...ofSession } = RUN_LIST_ENTRY_MEMBERS;

export const sessionsPage = component(
  'SessionsPage',
  object({ sessions: listOf(object({ sessionId: TEXT, agentName: TEXT, ...ofSession })), ...NEXT }),
);

/** The approvals of a run and of those below it. */
export const runApprovals = component(
  'RunApprovals',
  object({
    version: VERSION,
    runId: TEXT,
    agentName: TEXT,
    about: RUN_SUBJECT,
    status: RUN_STATUS,
    pending: listOf(APPROVAL_VIEW),
    remembered: listOf(REMEMBERED_DECISION),
  }),
);

export const pinnedAgent = component('PinnedAgent', PINNED_AGENT);
export const callDetails = component('CallDetails', CALL_DETAILS);
export const runTimeline = component('Timeline', RUN_TIMELINE);
export const stepRequest = component('StepRequest', STEP_REQUEST);

export const turnsPage = component(
  'TurnsPage',
  object({
    sessionId: TEXT,
    turns: listOf(TURN_ENTRY),
    next: optional(described(NUMBER, 'The first turn of the next page. Absent on the last one.')),
  }),
);

/** A page of the approvals of all runs. */
export const approvalsPage = component('ApprovalsPage', object({ approvals: listOf(APPROVAL_VIEW), ...NEXT, ...UNREAD }));

const about = {
  digest: nameText.describe('The digest of the approval as it was listed: another call is not decided.'),
  runId: runIdText.exactOptional().describe('The run that waits, as it was listed. Default: this run, or one below it.'),
  id: requestIdText.exactOptional(),
  by: ignoredBy.exactOptional(),
};

const remember = z.enum(['tool', 'arguments']).exactOptional().describe('The decision holds for further calls, too.');

export const decisionBody = component(
  'DecideCall',
  z.discriminatedUnion('type', [
    z.strictObject({ type: z.literal('approve'), arguments: jsonObject.exactOptional(), remember, ...about }),
    z.strictObject({ type: z.literal('reject'), reason: z.string().exactOptional(), remember, ...about }),
    z.strictObject({ type: z.literal('respond'), content: jsonValue, ...about }),
  ]),
);

component('FeedRun', FEED_RUN);
export const feedItem = component('FeedItem', FEED_ITEM);

/** The data of one message of a stream. Its cursor is the id of the message. */
export const streamItem = component(
  'StreamItem',
  union(
    object({ type: fixed('event'), offset: NUMBER, event: EVENT }),
    object({ type: fixed('step'), step: STEP_RESULT }),
    object({ type: fixed('delta'), step: NUMBER, attempt: NUMBER, eventId: TEXT, callId: optional(TEXT), delta: DELTA }),
    object({ type: fixed('reset'), step: NUMBER, attempt: NUMBER, callId: optional(TEXT), offset: optional(NUMBER) }),
    object({ type: fixed('gap') }),
    object({ type: fixed('status'), status: TEXT }),
    object({ type: fixed('end'), result: STREAMED_RESULT }),
  ),
);
