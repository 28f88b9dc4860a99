import type { TracedChild, TracedEnd, TracedPart, TracedTurn, TracedWait } from '../core/domain/traced-part.ts';
import { type AggregatedUsage, dollarsOf, type UsageStats } from '../core/domain/usage.ts';
import { type RunTrace, spanIdOf, type TracedRun } from './ids.ts';
import { ATTRIBUTES as A, OPERATIONS, SPANS } from './names.ts';
import type { Attributes } from './provider.ts';
import type { SpanRecord } from './telemetry.ts';

/**
 * Returns the spans that no activity makes: of the run, its turns, its waits for decisions, and its calls of children. They follow from the
 * record alone, so every process that has it makes the same ones, with the same ids: a span that is reported twice is one span.
 */
export function runSpans(trace: RunTrace, { agentName, waits, children, turns, end }: TracedPart): SpanRecord[] {
  const below = { trace, common: commonAttributes(trace.run, agentName) };
  return [
    ...waits.map((wait) => waitSpan(below, wait)),
    ...children.map((child) => childSpan(below, child)),
    ...turns.map((turn) => turnSpan(below, agentName, turn)),
    ...(end === undefined ? [] : [endSpan(below, agentName, end)]),
  ];
}

/** The attributes that all spans of a run have. */
export function commonAttributes({ runId }: TracedRun, agentName: string): Attributes {
  return { [A.agent]: agentName, [A.conversation]: runId, [A.run]: runId };
}

/** Returns tokens as attributes. Those that the provider did not report are absent. */
export function usageAttributes(usage: UsageStats | AggregatedUsage | null | undefined): Attributes {
  if (usage === null || usage === undefined) return {};
  const { promptTokens, completionTokens, cachedTokens = 0, cacheWriteTokens = 0, reasoningTokens = 0 } = usage;
  const dollars = dollarsOf(usage);
  return {
    [A.inputTokens]: promptTokens,
    [A.outputTokens]: completionTokens,
    ...(cachedTokens === 0 ? {} : { [A.cacheRead]: cachedTokens }),
    ...(cacheWriteTokens === 0 ? {} : { [A.cacheWrite]: cacheWriteTokens, [A.cacheCreation]: cacheWriteTokens }),
    ...(reasoningTokens === 0 ? {} : { [A.reasoningTokens]: reasoningTokens }),
    ...(dollars === undefined ? {} : { [A.cost]: dollars }),
  };
}

/** What the spans below that of the run share. */
interface Below {
  trace: RunTrace;
  common: Attributes;
}

function waitSpan(
  { trace: { run, traceId }, common }: Below,
  { id, callId, toolName, decision, source, from, to }: TracedWait,
): SpanRecord {
  return {
    name: SPANS.wait,
    traceId,
    spanId: spanIdOf(run, 'wait', callId, id),
    parentSpanId: spanIdOf(run, 'run'),
    startTime: from,
    endTime: to,
    attributes: { ...common, [A.tool]: toolName, [A.toolCall]: callId, [A.decision]: decision, [A.decisionSource]: source },
  };
}

function childSpan({ trace: { run, traceId }, common }: Below, child: TracedChild): SpanRecord {
  const { childRunId, callId, toolName, isLater, isError, from, to } = child;
  const ofTool = { [A.operation]: OPERATIONS.tool, [A.tool]: toolName ?? '', [A.toolCall]: callId };
  return {
    name: toolName === undefined ? `${SPANS.step} ${callId}` : `${OPERATIONS.tool} ${toolName}`,
    traceId,
    // The child knows its own id alone. A child that is kept hangs below the call that has started it.
    spanId: spanIdOf(run, 'child', childRunId, ...(isLater ? [callId] : [])),
    parentSpanId: spanIdOf(run, 'run'),
    startTime: from,
    endTime: to,
    attributes: { ...common, ...(toolName === undefined ? {} : ofTool), [A.child]: childRunId },
    ...(isError ? { error: 'tool_failed' } : {}),
  };
}

function turnSpan({ trace: { run, traceId }, common }: Below, agentName: string, turn: TracedTurn): SpanRecord {
  const { number, status, stopReason, from, to } = turn;
  return {
    name: `${OPERATIONS.agent} ${agentName}`,
    traceId,
    spanId: spanIdOf(run, 'turn', number),
    parentSpanId: spanIdOf(run, 'run'),
    startTime: from,
    endTime: to,
    attributes: { ...common, [A.operation]: OPERATIONS.agent, [A.turn]: number, [A.status]: status, [A.stopReason]: stopReason },
    ...(status === 'error' ? { error: stopReason } : {}),
  };
}

function endSpan({ trace: { run, traceId, parentSpanId }, common }: Below, agentName: string, end: TracedEnd): SpanRecord {
  const { status, stopReason, errorCode, isWorkflow, usage, steps, toolCalls, from, to } = end;
  const operation = isWorkflow ? OPERATIONS.workflow : OPERATIONS.agent;
  return {
    name: `${operation} ${agentName}`,
    traceId,
    spanId: spanIdOf(run, 'run'),
    ...(parentSpanId === undefined ? {} : { parentSpanId }),
    startTime: from,
    endTime: to,
    attributes: {
      ...common,
      ...(isWorkflow ? { [A.workflow]: agentName } : {}),
      [A.operation]: operation,
      [A.status]: status,
      [A.stopReason]: stopReason,
      [A.steps]: steps,
      [A.modelCalls]: usage.llmCalls,
      [A.toolCalls]: toolCalls,
      ...usageAttributes(usage),
      ...(errorCode === undefined ? {} : { [A.errorType]: errorCode }),
    },
    ...(status === 'error' ? { error: errorCode ?? stopReason } : {}),
  };
}
