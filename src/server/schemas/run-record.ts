import { z } from 'zod';
import { DECISION } from '../../core/domain/approvals.ts';
import { RUN_LIMITS } from '../../core/domain/limits.ts';
import { EVENT, EVENT_MEMBERS } from '../../core/domain/record.ts';
import { DECISION_RECEIPT } from '../../core/domain/requests.ts';
import {
  described,
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
} from '../../core/domain/shape.ts';
import { STEP_RESULT, TOOL_CALL_RECORD } from '../../core/domain/tool-calls.ts';
import { AGGREGATED_USAGE, ESTIMATED_USAGE, USAGE_STATS } from '../../core/domain/usage.ts';
import { component } from './values.ts';

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

/** A run with the runs below it. */
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

/** A part of the same shape as the whole. */
function inside(id: string): Shape {
  return shape({ $ref: `#/components/schemas/${id}` });
}
