import { z } from 'zod';
import { TERMINAL_STATUSES } from '../../core/domain/run.ts';
import { component } from './component.ts';
import { event, stepResult, trace } from './run-record.ts';
import { jsonObject, jsonValue, timestamp, timestampOrNull, version } from './json.ts';
import { limitValues, runLimits } from './limits.ts';
import { aggregatedUsage } from './usage.ts';

/** The status of a run. */
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
  }),
);

/** For whom and for what a run acts. */
export const runSubject = component(
  'RunSubject',
  z
    .object({
      agentName: z.string(),
      tenant: z.string().exactOptional(),
      user: z.string().exactOptional(),
      tags: z.array(z.string()).exactOptional(),
      title: z.string().exactOptional(),
      question: z.string().exactOptional().describe('The beginning of what the user asked.'),
    })
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
  }),
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
};

const unitsOfProgram = { units: z.array(jsonObject).exactOptional(), unitsCut: z.literal(true).exactOptional() };

/** The result of a run. */
export const runResult = component('RunResult', z.object({ ...resultFields, ...unitsOfProgram, trace: trace.exactOptional() }));

/** The result of a run at the end of its stream, which has shown the steps before, without the members that follow from the others. */
export const streamedResult = component('StreamedResult', z.object({ ...recordedFields, ...unitsOfProgram }).omit({ steps: true }));

/** The result of a turn of a session. */
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
  }),
);

/** A run in a list. */
export const runEntry = component(
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
  }),
);

/** The cursor of the next page of a list. */
export const nextCursor = z.string().exactOptional().describe('The cursor of the next page. Absent on the last one.');

/** A page of runs. */
export const runsPage = component('RunsPage', z.object({ runs: z.array(runEntry), next: nextCursor }));

/** A page of sessions. */
export const sessionsPage = component(
  'SessionsPage',
  z.object({
    sessions: z.array(runEntry.omit({ runId: true, kind: true, agentName: true }).extend({ sessionId: z.string(), agentName: z.string() })),
    next: nextCursor,
  }),
);
