import { type Decision, RAISE_LIMITS } from '../../core/domain/approvals.ts';
import { type ContentItem, isToolCall, outputText, type Source, type ToolCall } from '../../core/domain/content.ts';
import { defined } from '../../core/domain/json.ts';
import type { Event, RunRecord } from '../../core/domain/record.ts';
import { secondsBetween } from '../../core/domain/time.ts';
import { newStep, newToolCallRecord, resultText, type StepResult, type ToolCallRecord } from '../../core/domain/tool-calls.ts';
import type { StepNote } from '../../core/domain/verdicts.ts';
import { isNotedBetweenSteps } from './event-facts.ts';

/** A step of a timeline, with the decisions about its calls. The calls have the arguments that the model requested. */
interface TimelineStep {
  type: 'step';
  step: StepResult;
  decisions: Decision[];
  /** The sources of the answer. Absent: none. */
  sources?: readonly Source[];
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
      const { sources } = response ?? {};
      items.push({ type: 'step', step: withRequestedArguments(record, response), decisions, ...defined({ sources }) });
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
function isBetweenSteps(event: Event): boolean {
  const { author, content, given, cleared, compaction, notices } = event;
  if (given) return true;
  if (notices !== undefined && content.length === 0) return true;
  if (cleared) return true;
  if (compaction !== undefined) return false;
  const isMessage = content.some((item) => item.type === 'message' && item.role === 'user');
  return isMessage || isNotedBetweenSteps(event) || author === 'user';
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
  { content, usage, answeredBy, timestamp }: Event,
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
    ...defined({ answeredBy }),
    thought: thought === '' ? null : thought,
    toolCalls,
    usage: usage ?? null,
    finishReason: 'tool_calls',
  };
  const unanswered = toolCalls.flatMap(({ callId }) => (answers.has(callId) ? [] : [callId]));
  return { type: 'step', step, decisions, unanswered };
}

/** A unit of a program, as its events tell it. */
interface UnitItem {
  type: 'unit';
  name: string;
  /** In the order in which they began. */
  steps: StepItem[];
  end?: EndOf;
}

export interface StepItem {
  /** The name with the indexes of its items and rounds: `Sum[3]`. */
  name: string;
  kind: string;
  /** Answers, calls, results, failures and decisions, in order. */
  parts: StepPart[];
  /** The number of attempts that have begun. */
  attempts: number;
  tokens: number;
  end?: EndOf;
}

/** A part of a step: content with the note of its event, or a decision about a call. */
export type StepPart = ContentPart | { type: 'decision'; decision: Decision };

/** The content of an event, and what it says of the step. */
interface ContentPart {
  type: 'content';
  content: ContentItem[];
  note: StepNote;
  /** The number of the attempt that begins with this part, from the second one on. */
  begins?: number;
}

/** The end of a unit or a step, with the time that it took. */
export type EndOf = StepNote & { seconds: number };

/** An item of the timeline of a program: a unit with its steps, or an event outside of them. */
export type ProgramItem = UnitItem | { type: 'event'; event: Event };

/** Returns the timeline of the run of a program: the events that belong to no step in their place, and units in the order in which they began. */
export function programTimelineOf(records: readonly RunRecord[]): ProgramItem[] {
  const items: ProgramItem[] = [];
  const units = new Map<string, UnitItem>();
  const steps = new Map<string, StepItem>();
  const calls = new Map<string, StepItem>();
  for (const record of records) {
    if (record.type === 'step') continue;
    const { step: note, decision } = record;
    const decided = decision === undefined || decision.toolName === RAISE_LIMITS ? undefined : calls.get(decision.callId);
    if (decided !== undefined && decision !== undefined) decided.parts.push({ type: 'decision', decision });
    else if (note === undefined) items.push({ type: 'event', event: record });
    else if (note.kind === 'unit') {
      const unit = unitOf(note.at);
      if (note.type === 'end') unit.end = endOf(note, record);
    } else {
      const step = stepOf(note);
      for (const item of record.content) if (item.type === 'tool_call') calls.set(item.toolCallId, step);
      addNote(step, note, record);
    }
  }
  return items;

  function unitOf(name: string): UnitItem {
    const known = units.get(name);
    if (known !== undefined) return known;
    const unit: UnitItem = { type: 'unit', name, steps: [] };
    units.set(name, unit);
    items.push(unit);
    return unit;
  }

  function stepOf({ at, kind }: StepNote): StepItem {
    const known = steps.get(at);
    if (known !== undefined) return known;
    const dot = at.indexOf('.');
    const step: StepItem = { name: at.slice(dot + 1), kind, parts: [], attempts: 0, tokens: 0 };
    steps.set(at, step);
    unitOf(at.slice(0, dot)).steps.push(step);
    return step;
  }
}

function addNote(step: StepItem, note: StepNote, event: Event): void {
  const { attempt = 0 } = note;
  const begins = attempt > 1 && attempt > step.attempts ? { begins: attempt } : {};
  step.attempts = Math.max(step.attempts, attempt);
  step.tokens += event.usage?.totalTokens ?? event.estimated?.totalTokens ?? 0;
  if (note.type === 'end') step.end = endOf(note, event);
  const begunChild = note.type === 'start' && note.child !== undefined;
  if (event.content.length > 0 || begunChild || (note.type === 'attempt' && note.error !== undefined))
    step.parts.push({ type: 'content', content: event.content, note, ...begins });
}

function endOf(note: StepNote, { timestamp }: Event): EndOf {
  return { ...note, seconds: Math.max(0, secondsBetween(note.startedAt ?? timestamp, timestamp)) };
}
