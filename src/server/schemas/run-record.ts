import { z } from 'zod';
import type { Decision } from '../../core/domain/approvals.ts';
import type { Event } from '../../core/domain/record.ts';
import type { StepResult, ToolCallRecord } from '../../core/domain/tool-calls.ts';
import {
  aggregatedUsage,
  component,
  contentItem,
  estimatedUsage,
  jsonObject,
  type MembersOf,
  runLimits,
  spilledContent,
  timestamp,
  usageStats,
} from './values.ts';

/** A decision about a call, as an event has it. */
const decision = component(
  'Decision',
  z.object({
    id: z.string(),
    type: z.enum(['approve', 'reject', 'respond']),
    callId: z.string(),
    toolName: z.string(),
    digest: z.string(),
    arguments: jsonObject.exactOptional(),
    content: z.unknown().optional(),
    reason: z.string().exactOptional(),
    remember: z.enum(['tool', 'arguments']).exactOptional(),
    by: z.string().nullable(),
    verifiedBy: z.string().exactOptional(),
    source: z.enum(['update', 'signal', 'deadline', 'remembered']),
    at: timestamp,
  } satisfies MembersOf<Decision>),
);

export const decisionReceipt = component(
  'DecisionReceipt',
  z.object({ version: z.literal(1), status: z.enum(['decided', 'repeated']), decision }),
);

/** One event of the record of a run. */
export const event = component(
  'Event',
  z
    .object({
      id: z.string(),
      executionId: z.string(),
      timestamp,
      author: z.string(),
      content: z.array(contentItem),
      caller: z.literal('code').exactOptional(),
      given: z.literal(true).exactOptional(),
      usage: usageStats.nullable().exactOptional(),
      estimated: estimatedUsage.exactOptional(),
      failedAttempts: jsonObject.exactOptional(),
      failed: z.object({ code: z.string() }).exactOptional(),
      interrupted: z.literal(true).exactOptional(),
      guarded: z.literal(true).exactOptional(),
      providerItems: z.array(z.unknown()).exactOptional(),
      notices: z.array(z.object({ code: z.string(), message: z.string() })).exactOptional(),
      compaction: jsonObject.exactOptional(),
      partial: z.literal(true).exactOptional(),
      contextUpdates: z.array(jsonObject).exactOptional(),
      decision: decision.exactOptional(),
      refused: jsonObject.exactOptional(),
      raised: jsonObject.exactOptional(),
      permissions: jsonObject.exactOptional(),
      guardrails: jsonObject.exactOptional(),
      turn: jsonObject.exactOptional(),
      cleared: z.literal(true).exactOptional(),
      title: z.string().exactOptional(),
      refresh: jsonObject.exactOptional(),
      memory: jsonObject.exactOptional(),
      step: jsonObject.exactOptional(),
    } satisfies MembersOf<Event>)
    .describe('What happened, who did it, and when. Events are numbered by their offsets.'),
);

/** One event of a run or of one below it. */
export const treeEvent = component('TreeEvent', event.extend({ runId: z.string(), offset: z.number() }));

export const eventsPage = component(
  'EventsPage',
  z.object({
    runId: z.string(),
    from: z.number().describe('The offset of the first event of the page.'),
    events: z.array(event),
    next: z.number().exactOptional().describe('The offset of the next page. Absent if nothing further is recorded yet.'),
  }),
);

const toolCallRecord = component(
  'ToolCallRecord',
  z.object({
    toolName: z.string(),
    toolVersion: z.string().exactOptional(),
    callId: z.string(),
    arguments: jsonObject,
    result: z.string(),
    isError: z.boolean(),
    durationMs: z.number().nullable(),
    timestamp,
    spilled: spilledContent.exactOptional(),
    caller: z.literal('code').exactOptional(),
    notRun: z.enum(['refused', 'answered', 'unknown', 'invalid', 'not_started']).exactOptional(),
    verified: z.object({ happened: z.boolean(), reason: z.string() }).exactOptional(),
    childRunId: z.string().exactOptional(),
    hooks: z.array(jsonObject).exactOptional(),
  } satisfies MembersOf<ToolCallRecord>),
);

export const stepResult = component(
  'StepResult',
  z.object({
    step: z.number(),
    agent: z.string().exactOptional(),
    thought: z.string().nullable(),
    toolCalls: z.array(toolCallRecord),
    usage: usageStats.nullable(),
    finishReason: z.string(),
    final: z.literal(true).exactOptional(),
    hooks: z.array(jsonObject).exactOptional(),
  } satisfies MembersOf<StepResult>),
);

export const stepsBody = component('Steps', z.object({ runId: z.string(), steps: z.array(stepResult) }));

const traceSpan = component(
  'TraceSpan',
  z.object({
    name: z.string(),
    start_time: timestamp,
    duration_ms: z.number(),
    events: z.array(jsonObject),
    get children() {
      return z.array(traceSpan).exactOptional();
    },
    metadata: jsonObject.exactOptional(),
    end_time: timestamp.exactOptional(),
  }),
);

export const trace = component(
  'Trace',
  z.object({
    program_name: z.string(),
    backend_name: z.string(),
    start_time: timestamp,
    duration_ms: z.number(),
    total_events: z.number(),
    spans: z.array(traceSpan),
    end_time: timestamp.exactOptional(),
  }),
);

/** A run with the runs below it. */
export const runTree = component(
  'RunTree',
  z.object({
    runId: z.string(),
    kind: z.enum(['agent', 'program']),
    agentName: z.string(),
    status: z.string(),
    steps: z.number(),
    turns: z.number().exactOptional(),
    limits: runLimits.exactOptional(),
    usage: aggregatedUsage,
    treeUsage: aggregatedUsage,
    waitingFor: z.array(z.string()),
    get children() {
      return z.array(runTree);
    },
  }),
);

export const exportLine = component(
  'ExportLine',
  z
    .looseObject({ type: z.enum(['run', 'archive', 'execution', 'event', 'step', 'usage', 'result', 'failure', 'summary']) })
    .describe('One line of an export: docs/histories.md lists their members.'),
);
