import { defined } from '../core/domain/json.ts';
import { RUN_CODE } from '../core/domain/tool-calls.ts';
import type {
  TracedCall,
  TracedCell,
  TracedChild,
  TracedEnd,
  TracedLoss,
  TracedPart,
  TracedTurn,
  TracedWait,
} from '../core/domain/traced-part.ts';
import { type AggregatedUsage, dollarsOf, type UsageStats } from '../core/domain/usage.ts';
import { attemptSpanId, rootSpanId, type RunTrace, spanIdOf, type TracedRun, traceOfTurn } from './ids.ts';
import { modelLabels } from './metrics.ts';
import { ATTRIBUTES as A, OPERATIONS, SPANS } from './names.ts';
import type { Attributes } from './provider.ts';
import type { SpanRecord } from './span-record.ts';

/**
 * Returns the spans that no activity makes: of the run, its turns, its waits for decisions, and its calls of children. They follow from
 * the record alone, so every process makes the same ones with the same ids: a span that is reported twice is one span. A session
 * has no span: it is open for as long as its users like, and each turn is a trace.
 */
export function runSpans(trace: RunTrace, { waits, children, turns, cells = [], losses = [], end }: TracedPart): SpanRecord[] {
  return [
    ...waits.map((wait) => waitSpan(trace, wait)),
    ...children.map((child) => childSpan(trace, child)),
    ...cells.map((cell) => cellSpan(trace, cell)),
    ...losses.map((loss) => lossSpan(placeIn(trace, loss.turn), loss)),
    ...turns.map((turn) => turnSpan(trace, turn)),
    ...(end === undefined || trace.isSession ? [] : [endSpan(trace, end)]),
  ];
}

/** Returns the number of these spans. */
export function countSpans({ waits, children, turns, cells = [], losses = [], end }: TracedPart): number {
  const isSpan = end !== undefined && !end.isSession;
  return waits.length + children.length + cells.length + losses.length + turns.length + (isSpan ? 1 : 0);
}

/** The attributes that all spans of a run have. */
export function commonAttributes({ runId }: TracedRun, agentName: string): Attributes {
  return { [A.agent]: agentName, [A.conversation]: runId, [A.run]: runId };
}

/** Returns token counts as attributes, without those that the provider did not report. */
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

/** Returns the place of something that happened in a turn, if the run is a session. */
function placeIn(trace: RunTrace, turn: number | undefined): RunTrace {
  return trace.isSession && turn !== undefined ? traceOfTurn(trace, turn) : trace;
}

/** Returns the parent span of a call: the run, the turn, or the cell of code that made it. */
export function parentOfCall(place: RunTrace, cell: string | undefined): string {
  return cell === undefined ? rootSpanId(place) : spanIdOf(place.run, 'cell', cell);
}

function cellSpan(trace: RunTrace, { callId, agent, isError, from, to, turn }: TracedCell): SpanRecord {
  const place = placeIn(trace, turn);
  const common = commonAttributes(trace.run, agent);
  return {
    name: `${OPERATIONS.tool} ${RUN_CODE}`,
    traceId: place.traceId,
    spanId: parentOfCall(place, callId),
    parentSpanId: rootSpanId(place),
    startTime: from,
    endTime: to,
    attributes: { ...common, [A.operation]: OPERATIONS.tool, [A.tool]: RUN_CODE, [A.toolType]: 'function', [A.toolCall]: callId },
    ...(isError ? { error: 'tool_failed' } : {}),
  };
}

function waitSpan(trace: RunTrace, { callId, toolName, outcome, decision, agent, cell, from, to, turn }: TracedWait): SpanRecord {
  const common = commonAttributes(trace.run, agent);
  const place = placeIn(trace, turn);
  return {
    name: SPANS.wait,
    traceId: place.traceId,
    // A call waits once without a decision: then it has its result.
    spanId: spanIdOf(trace.run, 'wait', callId, decision?.id ?? ''),
    parentSpanId: parentOfCall(place, cell),
    startTime: from,
    endTime: to,
    // Backends would mistake a span with a tool's name and no operation for a call of the tool.
    attributes: {
      ...common,
      [A.operation]: SPANS.wait,
      [A.tool]: toolName,
      [A.toolCall]: callId,
      [A.waitOutcome]: outcome,
      ...(decision === undefined ? {} : { [A.decision]: outcome, [A.decisionSource]: decision.source }),
    },
  };
}

function childSpan(trace: RunTrace, child: TracedChild): SpanRecord {
  const { childRunId, callId, toolName, agent, cell, isLater, isError, from, to, turn } = child;
  const { run } = trace;
  const common = commonAttributes(run, agent);
  const place = placeIn(trace, turn);
  const ofTool = { [A.operation]: OPERATIONS.tool, [A.tool]: toolName ?? '', [A.toolCall]: callId };
  return {
    name: toolName === undefined ? `${SPANS.step} ${callId}` : `${OPERATIONS.tool} ${toolName}`,
    traceId: place.traceId,
    // The child only knows its own id. A kept child belongs to the call that started it.
    spanId: spanIdOf(run, 'child', childRunId, ...(isLater ? [callId] : [])),
    parentSpanId: parentOfCall(place, cell),
    startTime: from,
    endTime: to,
    attributes: { ...common, ...(toolName === undefined ? {} : ofTool), [A.child]: childRunId },
    ...(isError ? { error: 'tool_failed' } : {}),
  };
}

/** The error type of an attempt whose worker stopped answering. */
const WORKER_LOST = 'worker_lost';

/**
 * Returns the span of an attempt whose worker was killed before it could report it. Spans that a tool has made are below it. The span of
 * a model call has a separate id: the worker may have reported some of the models that it called.
 */
export function lossSpan(place: RunTrace, loss: TracedLoss): SpanRecord {
  const subject = loss.toolName === undefined ? 'chat' : 'tool';
  const spanId = attemptSpanId(place.run, subject, loss, ...(loss.toolName === undefined ? ['lost'] : []));
  return attemptSpan(place, loss, { spanId, code: WORKER_LOST });
}

/**
 * Returns the spans of ended calls. Their workers report them with more exact times: these are for a backend that lacks
 * them because a worker was killed before it could send them.
 */
export function callSpans(trace: RunTrace, { calls = [] }: TracedPart): SpanRecord[] {
  return calls.map((call) => callSpan(placeIn(trace, call.turn), call));
}

function callSpan(place: RunTrace, call: TracedCall): SpanRecord {
  const { toolName, asked = 1, code, usage, finishReason } = call;
  if (toolName !== undefined) return attemptSpan(place, call, { spanId: attemptSpanId(place.run, 'tool', call), code });
  const span = attemptSpan(place, call, { spanId: attemptSpanId(place.run, 'chat', call, asked), code });
  const reasons = finishReason === undefined ? {} : { [A.finishReasons]: [finishReason] };
  return { ...span, attributes: { ...span.attributes, ...usageAttributes(usage), ...reasons } };
}

function attemptSpan(place: RunTrace, attempted: TracedLoss, { spanId, code }: { spanId: string; code: string | undefined }): SpanRecord {
  const { agent, call, cell, toolName, model, step, attempt, from, to } = attempted;
  const { run, traceId } = place;
  const labels = model === undefined ? {} : modelLabels(model);
  const ofCall: Attributes =
    toolName === undefined
      ? { ...labels, [A.operation]: OPERATIONS.model }
      : { [A.operation]: OPERATIONS.tool, [A.tool]: toolName, [A.toolType]: 'function', [A.toolCall]: call };
  return {
    name: toolName === undefined ? [OPERATIONS.model, labels[A.requestModel] ?? []].flat().join(' ') : `${OPERATIONS.tool} ${toolName}`,
    ...(toolName === undefined ? { kind: 'client' as const } : {}),
    traceId,
    spanId,
    parentSpanId: parentOfCall(place, cell),
    startTime: from,
    endTime: to,
    attributes: {
      ...commonAttributes(run, agent),
      ...ofCall,
      [A.attempt]: attempt,
      ...(step === undefined ? {} : { [A.step]: step }),
      ...(code === undefined ? {} : { [A.errorType]: code }),
    },
    ...(code === undefined ? {} : { error: code }),
  };
}

/** Returns the span of a turn: the root of a trace, linked to the previous turn; in a session kept by a run, a span below the session. */
function turnSpan(trace: RunTrace, turn: TracedTurn): SpanRecord {
  const { run, isSession } = trace;
  const { number, agent } = turn;
  const { traceId, parentSpanId } = isSession ? traceOfTurn(trace, number) : { ...trace, parentSpanId: spanIdOf(run, 'run') };
  const before = isSession && number > 1 ? traceOfTurn(trace, number - 1) : undefined;
  const links = before && [{ traceId: before.traceId, spanId: rootSpanId(before) }];
  const { error, attributes, ...times } = ending(turn);
  return {
    name: `${OPERATIONS.agent} ${agent}`,
    traceId,
    spanId: spanIdOf(run, 'turn', number),
    ...times,
    attributes: { ...commonAttributes(run, agent), [A.operation]: OPERATIONS.agent, [A.turn]: number, ...attributes },
    ...defined({ parentSpanId, links, error }),
  };
}

function endSpan({ run, traceId, parentSpanId }: RunTrace, end: TracedEnd): SpanRecord {
  const { agent } = end;
  const isWorkflow = end.isWorkflow || end.isFlow === true;
  const operation = isWorkflow ? OPERATIONS.workflow : OPERATIONS.agent;
  const { error, attributes, ...times } = ending(end);
  return {
    name: `${operation} ${agent}`,
    traceId,
    spanId: spanIdOf(run, 'run'),
    ...times,
    attributes: {
      ...commonAttributes(run, agent),
      ...(isWorkflow ? { [A.workflow]: agent } : {}),
      [A.operation]: operation,
      ...attributes,
    },
    ...defined({ parentSpanId, error }),
  };
}

/** Returns the end of the span of a run or a turn. */
function ending(end: TracedEnd): Pick<SpanRecord, 'startTime' | 'endTime' | 'attributes'> & { error: string | undefined } {
  const { status, stopReason, errorCode, usage, steps, toolCalls, from, to } = end;
  const hasFailed = status === 'error' || status === 'terminated' || status === 'timed_out';
  return {
    startTime: from,
    endTime: to,
    attributes: {
      [A.status]: status,
      [A.stopReason]: stopReason,
      [A.steps]: steps,
      [A.modelCalls]: usage.llmCalls,
      [A.toolCalls]: toolCalls,
      ...usageAttributes(usage),
      ...(errorCode === undefined ? {} : { [A.errorType]: errorCode }),
    },
    error: hasFailed ? (errorCode ?? stopReason) : undefined,
  };
}
