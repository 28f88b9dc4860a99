import { z } from 'zod';
import type { RunListEntry } from '../../client/list.ts';
import type { ApprovalView, RememberedDecision } from '../../core/domain/approvals.ts';
import type { RequestedParts, RunResultJson } from '../../core/domain/result.ts';
import { type RunSubject, TERMINAL_STATUSES } from '../../core/domain/run.ts';
import type { SessionView } from '../../core/domain/sessions.ts';
import type { ContextPage, StatusView } from '../../core/domain/views.ts';
import { event, stepResult, trace } from './run-record.ts';
import {
  aggregatedUsage,
  component,
  ignoredBy,
  jsonObject,
  jsonValue,
  limitValues,
  type MembersOf,
  nameText,
  requestIdText,
  runIdText,
  runLimits,
  timestamp,
  timestampOrNull,
  version,
} from './values.ts';

export const runStatus = component('RunStatus', z.enum(['running', 'pending_confirmation', 'paused', 'idle', ...TERMINAL_STATUSES]));

const terminalStatus = z.enum(TERMINAL_STATUSES);

const range = z.object({ from: z.number(), through: z.number() });

const callsNotRun = component(
  'CallsNotRun',
  z.object({
    refused: z.record(z.string(), z.number()).exactOptional(),
    answered: z.record(z.string(), z.number()).exactOptional(),
    unknown: z.record(z.string(), z.number()).exactOptional(),
    invalid: z.record(z.string(), z.number()).exactOptional(),
    not_started: z.record(z.string(), z.number()).exactOptional(),
  }),
);

const spent = z.object({
  stepsUsed: z.number(),
  usage: aggregatedUsage,
  toolCallsTotal: z.number(),
  toolCallsByName: z.record(z.string(), z.number()),
  toolCallsNotRun: callsNotRun.exactOptional(),
  below: jsonObject.exactOptional(),
});

const sessionView = component(
  'SessionView',
  z.object({
    title: z.string().exactOptional(),
    turns: z.number(),
    turn: z.number().exactOptional(),
    spent,
    limits: z.object({
      turns: z.number().nullable(),
      totalTokens: z.number().nullable(),
      costUsd: z.number().nullable(),
      deadlineMs: z.number().nullable(),
    }),
    limitReached: z.object({ limit: z.string(), message: z.string() }).exactOptional(),
    idleSince: timestamp.exactOptional(),
  } satisfies MembersOf<SessionView>),
);

/** For whom and for what a run acts. */
const runSubject = component(
  'RunSubject',
  z
    .object({
      agentName: z.string(),
      tenant: z.string().exactOptional(),
      user: z.string().exactOptional(),
      tags: z.array(z.string()).exactOptional(),
      title: z.string().exactOptional(),
      question: z.string().exactOptional().describe('The beginning of what the user asked.'),
    } satisfies MembersOf<RunSubject>)
    .describe('For whom and for what the run acts. The texts are untrusted: escape them.'),
);

/** The status of a run with its counts. */
export const statusView = component(
  'StatusView',
  z.object({
    version,
    runId: z.string(),
    agentName: z.string(),
    currentAgent: z.string().exactOptional(),
    about: runSubject,
    status: runStatus,
    currentStep: z.number(),
    usage: aggregatedUsage,
    treeUsage: aggregatedUsage.exactOptional(),
    toolCallsTotal: z.number(),
    toolCallsNotRun: callsNotRun.exactOptional(),
    events: z.number(),
    executions: z.number(),
    queued: z.number(),
    waitingFor: z.array(z.string()),
    limits: runLimits.exactOptional(),
    session: sessionView.exactOptional(),
    children: z.array(z.string()).exactOptional(),
    waitingChildren: z.array(z.string()).exactOptional(),
    endedChildren: z.array(z.string()).exactOptional(),
    toolCallsStarted: z.number(),
    lastError: z.string().exactOptional(),
    missing: z.array(jsonObject).exactOptional(),
    archiving: range.extend({ since: timestamp }).exactOptional(),
    notArchived: z.array(range.extend({ message: z.string() })).exactOptional(),
    running: z
      .array(
        z.object({
          name: z.string(),
          attempt: z.number(),
          progress: z.unknown().optional(),
          lastFailure: z.string().exactOptional(),
          refused: z
            .object({ code: z.string(), times: z.number(), nextAttemptAt: timestamp.exactOptional(), givesUpAt: timestamp })
            .exactOptional(),
        }),
      )
      .exactOptional(),
    startTime: timestamp,
  } satisfies MembersOf<StatusView>),
);

const recordedFields = {
  version,
  runId: z.string(),
  agentName: z.string(),
  output: jsonValue,
  status: terminalStatus,
  stopReason: z.string(),
  finishReason: z.string().exactOptional(),
  steps: z.array(stepResult).exactOptional(),
  stepsUsed: z.number(),
  usage: aggregatedUsage,
  toolCallsTotal: z.number(),
  toolCallsByName: z.record(z.string(), z.number()),
  toolCallsNotRun: callsNotRun.exactOptional(),
  startTime: timestampOrNull,
  endTime: timestampOrNull,
  durationSeconds: z.number().nullable(),
  below: jsonObject.exactOptional(),
  treeUsage: aggregatedUsage.exactOptional(),
  error: z.string().nullable(),
  errorCode: z.string().exactOptional(),
  cancelReason: z.string().exactOptional(),
  limits: limitValues,
  turns: z.number().exactOptional(),
  notArchived: z.array(range.extend({ message: z.string() })).exactOptional(),
  verdict: jsonObject.exactOptional(),
  lastAgent: z.string().exactOptional(),
  usageByAgent: z.record(z.string(), aggregatedUsage).exactOptional(),
  hooks: z.array(jsonObject).exactOptional(),
  guardrail: jsonObject.exactOptional(),
};

const resultFields = {
  ...recordedFields,
  success: z.boolean(),
  outputText: z.string(),
  hasMedia: z.boolean(),
  mediaTypes: z.array(z.string()),
  maxIterations: z.number().describe('The same as `limits.steps`.'),
} satisfies MembersOf<Omit<RunResultJson, keyof RequestedParts | 'outputTruncated'>>;

const unitsOfProgram = { units: z.array(jsonObject).exactOptional(), unitsCut: z.literal(true).exactOptional() };

export const runResult = component('RunResult', z.object({ ...resultFields, ...unitsOfProgram, trace: trace.exactOptional() }));

/** The result of a run at the end of its stream, which has shown the steps before, without the members that follow from the others. */
const streamedResult = component('StreamedResult', z.object({ ...recordedFields, ...unitsOfProgram }).omit({ steps: true }));

export const turnResult = component(
  'TurnResult',
  z.object({ ...resultFields, turn: z.number(), firstStep: z.number(), unanswered: z.array(z.string()).exactOptional() }),
);

/** The context of a run, with a page of its events. */
export const contextPage = component(
  'ContextPage',
  z.object({
    version,
    executionId: z.string(),
    status: runStatus,
    currentStep: z.number(),
    state: jsonObject,
    deps: jsonObject,
    finalResult: jsonValue,
    firstOffset: z.number(),
    from: z.number(),
    events: z.array(event),
    nextId: z.string().exactOptional(),
    total: z.number(),
  } satisfies MembersOf<ContextPage>),
);

const runEntry = component(
  'RunEntry',
  z.object({
    runId: z.string(),
    kind: z.enum(['agent', 'program']),
    agentName: z.string().exactOptional(),
    status: runStatus.exactOptional(),
    waitingFor: z.array(z.string()),
    tenant: z.string().exactOptional(),
    user: z.string().exactOptional(),
    title: z.string().exactOptional(),
    tags: z.array(z.string()).exactOptional(),
    startTime: timestamp,
    endTime: timestampOrNull,
  } satisfies MembersOf<RunListEntry>),
);

/** The cursor of the next page of a list. */
const nextCursor = z.string().exactOptional().describe('The cursor of the next page. Absent on the last one.');

export const runsPage = component('RunsPage', z.object({ runs: z.array(runEntry), next: nextCursor }));

export const sessionsPage = component(
  'SessionsPage',
  z.object({
    sessions: z.array(runEntry.omit({ runId: true, kind: true, agentName: true }).extend({ sessionId: z.string(), agentName: z.string() })),
    next: nextCursor,
  }),
);

/** A pending approval. */
const approval = component(
  'Approval',
  z.object({
    kind: z.enum(['tool', 'question', 'limit', 'outcome']),
    runId: z.string().exactOptional().describe('The run that waits.'),
    about: runSubject.exactOptional(),
    callId: z.string(),
    toolName: z.string(),
    digest: z.string().describe('A decision is bound to it.'),
    key: z.string(),
    step: z.number(),
    at: z.string().exactOptional(),
    requestedAt: timestamp,
    deadlineAt: timestamp.exactOptional(),
    onDeadline: z.enum(['approve', 'reject']).exactOptional(),
    reason: z.string().exactOptional(),
    proposal: jsonObject.exactOptional(),
    notified: z.boolean().exactOptional(),
    arguments: jsonObject,
    argumentsCut: z.literal(true).exactOptional(),
    answer: jsonObject.exactOptional(),
  } satisfies MembersOf<ApprovalView>),
);

const rememberedDecision = component(
  'RememberedDecision',
  z.object({
    id: z.string(),
    type: z.enum(['approve', 'reject']),
    toolName: z.string(),
    agent: z.string().exactOptional(),
    digest: z.string().exactOptional(),
    reason: z.string().exactOptional(),
    by: z.string().nullable(),
    verifiedBy: z.string().exactOptional(),
    at: timestamp,
  } satisfies MembersOf<RememberedDecision>),
);

/** The approvals of a run and of those below it. */
export const runApprovals = component(
  'RunApprovals',
  z.object({
    version,
    runId: z.string(),
    agentName: z.string(),
    about: runSubject,
    status: runStatus,
    pending: z.array(approval),
    remembered: z.array(rememberedDecision),
  }),
);

/** A page of the approvals of all runs. */
export const approvalsPage = component('ApprovalsPage', z.object({ approvals: z.array(approval), next: nextCursor }));

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

/** The answer to the end of a remembered decision. */
export const revokeReceipt = component('RevokeReceipt', z.object({ version, revoked: z.boolean() }));

const delta = component(
  'Delta',
  z.discriminatedUnion('type', [
    z.object({ type: z.literal('text'), text: z.string() }),
    z.object({ type: z.literal('reasoning'), text: z.string() }),
    z.object({ type: z.literal('tool_input'), callId: z.string(), toolName: z.string(), text: z.string() }),
    z.object({ type: z.literal('data'), callId: z.string(), name: z.string(), data: z.unknown() }),
  ]),
);

/** The data of one message of a stream. Its cursor is the id of the message. */
export const streamItem = component(
  'StreamItem',
  z.discriminatedUnion('type', [
    z.object({ type: z.literal('event'), offset: z.number(), event }),
    z.object({ type: z.literal('step'), step: stepResult }),
    z.object({
      type: z.literal('delta'),
      step: z.number(),
      attempt: z.number(),
      eventId: z.string(),
      callId: z.string().exactOptional(),
      delta,
    }),
    z.object({
      type: z.literal('reset'),
      step: z.number(),
      attempt: z.number(),
      callId: z.string().exactOptional(),
      offset: z.number().exactOptional(),
    }),
    z.object({ type: z.literal('gap') }),
    z.object({ type: z.literal('status'), status: z.string() }),
    z.object({ type: z.literal('end'), result: streamedResult }),
  ]),
);
