import { type Decision, RAISE_LIMITS } from '../../core/domain/approvals.ts';
import { isToolCall, outputText, type ToolCall } from '../../core/domain/content.ts';
import type { Event, RunRecord } from '../../core/domain/record.ts';
import { newStep, newToolCallRecord, resultText, type StepResult, type ToolCallRecord } from '../../core/domain/tool-calls.ts';

/** A step of a timeline, with the decisions about its calls. The calls have the arguments that the model requested. */
export interface TimelineStep {
  type: 'step';
  step: StepResult;
  decisions: Decision[];
  /** Ids of calls that have no result yet, if the step is not complete. */
  unanswered?: string[];
}

/** An item of a timeline: a step, or an event between steps. */
export type TimelineItem = TimelineStep | { type: 'event'; event: Event };

/**
 * Returns the timeline of a run: its steps, with the decisions about their calls, and the messages and requests
 * between them.
 */
export function timelineOf(records: readonly RunRecord[]): TimelineItem[] {
  const items: TimelineItem[] = [];
  let decisions: Decision[] = [];
  let response: Event | undefined;
  let results: Event[] = [];
  let steps = 0;
  for (const record of records) {
    if (record.type === 'step') {
      items.push({ type: 'step', step: withRequestedArguments(record, response), decisions });
      steps = record.step;
      [decisions, results, response] = [[], [], undefined];
    } else if (record.decision !== undefined && record.decision.toolName !== RAISE_LIMITS) decisions.push(record.decision);
    else if (isBetweenSteps(record)) items.push({ type: 'event', event: record });
    else if (isResponse(record)) response = record;
    else results.push(record);
  }
  if (response !== undefined) items.push(unfinishedStep(steps + 1, response, results, decisions));
  return items;
}

/** True for the conversation that the run began with, messages, recalled entries, decisions about limits, requests, model calls that produced no step, the ends of turns, notices, and new resolutions of the agent. */
function isBetweenSteps({
  author,
  content,
  given,
  decision,
  refused,
  raised,
  permissions,
  interrupted,
  failed,
  turn,
  refresh,
  cleared,
  compaction,
  memory,
  notices,
}: Event): boolean {
  if (given) return true;
  if (notices !== undefined && content.length === 0) return true;
  if (cleared) return true;
  if (compaction !== undefined) return false;
  const isMessage = content.some((item) => item.type === 'message' && item.role === 'user');
  return (
    isMessage ||
    [decision, refused, raised, permissions, interrupted, failed, turn, refresh, memory].some((one) => one !== undefined) ||
    author === 'user'
  );
}

function isResponse({ content, usage, compaction }: Event): boolean {
  return usage !== undefined && compaction === undefined && !content.some(({ type }) => type === 'tool_result');
}

/**
 * Returns a step with the arguments that the model requested, taken from its response. The step itself records the
 * arguments that its calls ran with.
 */
function withRequestedArguments(
  { type: _type, index: _index, ...step }: Extract<RunRecord, { type: 'step' }>,
  response: Event | undefined,
): StepResult {
  const requested = new Map(response?.content.filter(isToolCall).map((call) => [call.toolCallId, call.arguments]));
  return { ...step, toolCalls: step.toolCalls.map((call) => ({ ...call, arguments: requested.get(call.callId) ?? call.arguments })) };
}

/** Returns the step whose calls do not all have results yet. */
function unfinishedStep(
  number: number,
  { content, usage, timestamp }: Event,
  results: readonly Event[],
  decisions: Decision[],
): TimelineStep {
  const thought = content.flatMap((item) => (item.type === 'message' ? [outputText(item.content)] : [])).join('\n');
  const answers = new Map(
    results.flatMap((event) => event.content.flatMap((item) => (item.type === 'tool_result' ? [[item.toolCallId, item] as const] : []))),
  );
  const toRecord = (call: ToolCall): ToolCallRecord => {
    const record = {
      ...newToolCallRecord(call.name, call.toolCallId, timestamp),
      arguments: call.arguments,
    };
    const result = answers.get(call.toolCallId);
    return result === undefined ? record : { ...record, result: resultText(result.content), isError: result.status === 'error' };
  };
  const ofCode = results.filter(({ caller }) => caller === 'code').flatMap((event) => event.content.filter(isToolCall));
  const toolCalls = [
    ...content.filter(isToolCall).map(toRecord),
    ...ofCode.map((call): ToolCallRecord => ({ ...toRecord(call), caller: 'code' })),
  ];
  const step: StepResult = {
    ...newStep(number),
    thought: thought === '' ? null : thought,
    toolCalls,
    usage: usage ?? null,
    finishReason: 'tool_calls',
  };
  const unanswered = toolCalls.flatMap(({ callId }) => (answers.has(callId) ? [] : [callId]));
  return { type: 'step', step, decisions, unanswered };
}
