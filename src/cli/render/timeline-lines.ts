import { decider, type Decision, RAISE_LIMITS } from '../../core/domain/approvals.ts';
import { type ContentItem, isToolCall, outputText, type Source, sourceText, type ToolCall } from '../../core/domain/content.ts';
import type { AnswerOrigin, SkippedModel } from '../../core/domain/fallback.ts';
import type { HookRecord } from '../../core/domain/hooks.ts';
import { defined } from '../../core/domain/json.ts';
import type { Event, RunRecord } from '../../core/domain/record.ts';
import { counted, printable, printableLine } from '../../core/domain/text.ts';
import { secondsBetween } from '../../core/domain/time.ts';
import {
  newStep,
  newToolCallRecord,
  resultText,
  RUN_CODE,
  type StepResult,
  type ToolCallRecord,
  hasUnknownOutcome,
  verifiedText,
} from '../../core/domain/tool-calls.ts';
import { cachedText } from '../../core/domain/usage.ts';
import type { StepNote } from '../../core/domain/verdicts.ts';
import { lineText, type Output, resultLines } from '../output.ts';
import {
  attemptProblems,
  decisionText,
  endReason,
  eventLine,
  isNotedBetweenSteps,
  STATUS_LOOKS,
  timelineEventLines,
} from './event-lines.ts';

/** Returns the timeline of a run for people: a paragraph for each step, and lines for the events between steps. */
export function timelineLines(
  items: readonly TimelineItem[],
  output: Pick<Output, 'look'>,
  { waiting = new Set(), full = false }: Pick<StepDetails, 'waiting' | 'full'> = {},
): string[] {
  return items.flatMap((item, index) => {
    if (item.type === 'step') return ['', ...stepLines(item.step, output, { ...item, waiting, full })];
    const isFirst = items[index - 1]?.type !== 'event';
    return [...(isFirst ? [''] : []), ...timelineEventLines(item.event, output, full)];
  });
}

/** The lines of code that a step shows. */
const SHOWN_LINES = 20;

/** Facts about a step that are not part of it. */
interface StepDetails {
  /** Decisions about its calls. */
  decisions?: readonly Decision[];
  /** Ids of calls that have no result yet, if the step is not complete. */
  unanswered?: readonly string[];
  /** Ids of calls that wait for a decision. */
  waiting?: ReadonlySet<string>;
  /** The sources of the answer. */
  sources?: readonly Source[];
  /** True to show all of each text, not only its beginning. */
  full?: boolean;
}

/** Returns the lines for a step: the model's thought, its tool calls, the decisions about them, and their results. */
export function stepLines(step: StepResult, output: Pick<Output, 'look'>, details: StepDetails = {}): string[] {
  const finished = details.unanswered === undefined ? step.finishReason : 'not complete yet';
  const { usage } = step;
  const cached = usage === null ? undefined : cachedText(usage);
  const tokens = usage === null ? [] : [`${usage.totalTokens} tokens${cached === undefined ? '' : ` (prompt ${cached})`}`];
  const facts = [finished, ...tokens];
  const agent = step.agent === undefined ? '' : ` · ${printableLine(step.agent)}`;
  const title = `Step ${step.step}${agent}${step.final ? ' (final attempt)' : ''}`;
  return [
    `${output.look('bold', title)} ${output.look('dim', `· ${printable(facts.join(' · '))}`)}`,
    ...originTexts(step, details.unanswered === undefined).map((text) => `  ${output.look('yellow', printableLine(text))}`),
    ...hookLines(step.hooks, output).map((line) => `  ${line}`),
    ...(step.warnings ?? []).map((warning) => `  ${output.look('yellow', lineText(`warning: ${warning}`, details.full))}`),
    ...(step.thought === null ? [] : indented(printable(step.thought))),
    ...(step.hosted ?? []).map(({ name, input = '', isError }) => {
      const outcome = isError ? ' (failed)' : '';
      return `  ${output.look('cyan', lineText(`→ ${name} ${input} (by the provider)${outcome}`, details.full))}`;
    }),
    ...(details.sources ?? []).map((source) => `  ${output.look('dim', lineText(`source: ${sourceText(source)}`, details.full))}`),
    ...step.toolCalls.flatMap((call) => {
      const lines = callLines(call, output, details);
      return call.caller === 'code' ? lines.map((line) => `    ${line}`) : lines;
    }),
  ];
}

const WHY_SKIPPED = {
  too_small: 'is too small',
  cooling_down: 'had failed a moment before',
  no_hosted_tool: 'has no such hosted tool',
  long_wait: 'had used up its limits',
} as const satisfies Record<SkippedModel['reason'], string>;

/**
 * Returns which model answered, and why earlier ones did not; nothing if the agent's first model answered at once. Only a completed step
 * shows the reasons.
 */
function originTexts({ answeredBy, tried = [], skipped = [] }: AnswerOrigin, isComplete: boolean): string[] {
  if (answeredBy === undefined && tried.length === 0) return [];
  const reasons = [
    ...tried.map(({ model, code }) => `${model} failed (${code})`),
    ...skipped.map(({ model, reason }) => `${model} ${WHY_SKIPPED[reason]}`),
  ];
  const by = `answered by ${answeredBy ?? 'the first model'}`;
  if (!isComplete) return [by];
  return [`${by}: ${reasons.length === 0 ? 'as before in this turn' : reasons.join(', ')}`];
}

/** Returns the lines for a call: its arguments or code, the decisions about it, and its result. */
function callLines(call: ToolCallRecord, output: Pick<Output, 'look'>, details: StepDetails): string[] {
  const { code } = call.arguments;
  const version = call.toolVersion === undefined ? '' : output.look('dim', `@${call.toolVersion}`);
  const origin = call.capability === undefined ? '' : output.look('dim', ` (${printableLine(call.capability)})`);
  const name = `${output.look('cyan', printable(call.toolName))}${version}${origin}`;
  const isCode = call.toolName === RUN_CODE && typeof code === 'string';
  return [
    ...(isCode
      ? [`  → ${name}`, ...codeLines(code, details.full)]
      : [`  → ${name} ${lineText(JSON.stringify(call.arguments), details.full)}`]),
    ...(details.decisions ?? [])
      .filter(({ callId }) => callId === call.callId)
      .map((decision) => decisionLine(decision, output, details.full)),
    ...hookLines(call.hooks, output).map((line) => `  ${line}`),
    ...outcomeLines(call, output, details),
    ...(hasUnknownOutcome(call)
      ? [`  ? ${output.look('yellow', 'outcome unknown: it may have taken effect. Find out what it has done')}`]
      : []),
    // How the outcome of a lost call was verified.
    ...(call.verified === undefined ? [] : [`  ✓ ${output.look('yellow', lineText(verifiedText(call.verified)))}`]),
  ];
}

function codeLines(code: string, full = false): string[] {
  const lines = printable(code.trimEnd()).split('\n');
  const shown = full ? lines : lines.slice(0, SHOWN_LINES);
  const left = lines.length - shown.length;
  return [...shown, ...(left > 0 ? [`… ${counted(left, 'more line')}: "show --full" prints all`] : [])].map((line) => `      ${line}`);
}

function decisionLine(decision: Decision, output: Pick<Output, 'look'>, full: boolean | undefined): string {
  const text = lineText(decisionText(decision, `by ${decider(decision)}`), full);
  return decision.type === 'reject' ? `  ✗ ${output.look('red', text)}` : `  ✓ ${output.look('green', text)}`;
}

function outcomeLines(call: ToolCallRecord, output: Pick<Output, 'look'>, { unanswered = [], waiting, full }: StepDetails): string[] {
  if (waiting?.has(call.callId)) return [`  … ${output.look('yellow', 'waits for a decision')}`];
  if (unanswered.includes(call.callId)) return [`  … ${output.look('dim', 'no result yet')}`];
  const { result: text, isError, durationMs } = call;
  return resultLines({ text, isError, durationMs, ...defined({ full }) }, output).map((line) => `  ${line}`);
}

/** Returns the lines of a text, indented. */
export function indented(text: string): string[] {
  return text.split('\n').map((line) => `  ${line}`);
}

const VERBS = { deny: 'denies', modify: 'changes', inject: 'adds', ask: 'asks', failed: 'failed' } as const;

/** Returns a line for each answer of a hook: `⚑ cap changes (pre_tool_use)`, `⚑ guard failed (pre_tool_use): broken`. */
export function hookLines(hooks: readonly HookRecord[] | undefined, output: Pick<Output, 'look'>): string[] {
  return (hooks ?? []).map(({ hook, on, answer, text, denied }) => {
    const verb = `${VERBS[answer]}${denied ? ', and so denies' : ''}`;
    const line = printableLine(`${hook} ${verb} (${on})${text === undefined ? '' : `: ${text}`}`);
    return `⚑ ${output.look(answer === 'deny' || answer === 'failed' ? 'yellow' : 'dim', line)}`;
  });
}

/** The executions of one step that are shown even if nothing went wrong in them. */
const SHOWN_EXECUTIONS = 10;

type LookOutput = Pick<Output, 'look'>;

/** Returns the timeline of a program for people: a paragraph for each unit, with its steps, attempts, violations and durations. */
export function programLines(
  items: readonly ProgramItem[],
  output: LookOutput,
  { waiting = new Set(), isOver, full = false }: ProgramLook,
): string[] {
  const look = { output, waiting, isOver, full };
  return items.flatMap((item, index) => {
    if (item.type === 'event') return [...(items[index - 1]?.type === 'event' ? [] : ['']), eventLine(item.event, output, full)];
    const head = `${output.look('bold', `Unit ${printableLine(item.name)}`)} ${endText(item.end, look)}`;
    return ['', head, ...programStepsLines(item.steps, look)];
  });
}

/** The facts about a run that its events lack. */
interface ProgramLook {
  /** Ids of calls that wait for a decision. */
  waiting?: ReadonlySet<string>;
  /** True if the run has ended, so that nothing in it is running. */
  isOver: boolean;
  /** True to show all of each text, not only its beginning. */
  full?: boolean;
}

type ProgramContext = Required<ProgramLook> & { output: LookOutput };

function programStepsLines(steps: readonly StepItem[], look: ProgramContext): string[] {
  const { output, full } = look;
  const printed = new Map<string, number>();
  const left = new Map<string, number>();
  const lines: string[] = [];
  for (const step of steps) {
    const [name = ''] = step.name.split('[');
    const count = printed.get(name) ?? 0;
    if (!full && count >= SHOWN_EXECUTIONS && step.end?.status === 'completed' && step.attempts <= 1)
      left.set(name, (left.get(name) ?? 0) + 1);
    else {
      printed.set(name, count + 1);
      lines.push(...programStepLines(step, look));
    }
  }
  return [
    ...lines,
    ...[...left].map(([name, count]) => `  ${output.look('dim', `and ${count} more of ${printableLine(name)}, completed`)}`),
  ];
}

function programStepLines(step: StepItem, look: ProgramContext): string[] {
  const { output } = look;
  const indent = '  '.repeat(step.name.split('[').length);
  const facts = [
    step.kind,
    ...(step.attempts > 1 ? [counted(step.attempts, 'attempt')] : []),
    ...(step.tokens > 0 ? [counted(step.tokens, 'token')] : []),
  ];
  return [
    `${indent}${output.look('bold', printableLine(step.name))} ${output.look('dim', `· ${facts.join(' · ')}`)} ${endText(step.end, look)}`,
    ...step.parts.flatMap((part) => partLines(part, look)).map((line) => `${indent}  ${line}`),
  ];
}

/** Returns how a unit or a step ended: ` · completed in 0.55s`. */
function endText(end: EndOf | undefined, { output, isOver, full }: ProgramContext): string {
  if (end === undefined)
    return `${output.look('dim', '·')} ${isOver ? output.look('yellow', 'not finished') : output.look('cyan', 'running')}`;
  const { status = 'completed', seconds, reused } = end;
  const reason = endReason(end);
  const took = status === 'skipped' ? '' : ` in ${seconds.toFixed(2)}s`;
  const text = `${output.look(STATUS_LOOKS[status], status)}${took}${reused ? ', as in an earlier run' : ''}`;
  return `${output.look('dim', '·')} ${text}${reason === undefined ? '' : `: ${lineText(reason, full)}`}`;
}

/** Returns the lines of a part. An attempt other than the first begins with its number. */
function partLines(part: StepPart, { output, waiting, full }: ProgramContext): string[] {
  if (part.type === 'decision') {
    const { decision } = part;
    const text = lineText(decisionText(decision, `by ${decider(decision)}`), full);
    return [decision.type === 'reject' ? `✗ ${output.look('red', text)}` : `✓ ${output.look('green', text)}`];
  }
  const { content, note } = part;
  const problems = attemptProblems(note);
  const look = note.error === undefined ? 'yellow' : 'red';
  const child = note.type === 'start' ? note.child : undefined;
  const lines = [
    ...(child === undefined ? [] : [`→ run ${output.look('cyan', printableLine(child))}`]),
    ...(note.warnings ?? []).map((warning) => output.look('yellow', lineText(`warning: ${warning}`, full))),
    ...content.flatMap((item) => itemLines(item, { output, waiting, full })),
    ...problems.map((problem) => `${note.error === undefined ? '!' : '✗'} ${output.look(look, lineText(problem, full))}`),
  ];
  return part.begins === undefined ? lines : [output.look('dim', `attempt ${part.begins}`), ...lines];
}

function itemLines(item: ContentItem, { output, waiting, full }: Omit<ProgramContext, 'isOver'>): string[] {
  switch (item.type) {
    case 'message':
      return [lineText(outputText(item.content), full)];
    case 'tool_call':
      return [
        `→ ${output.look('cyan', printableLine(item.name))} ${lineText(JSON.stringify(item.arguments), full)}`,
        ...(waiting.has(item.toolCallId) ? [`… ${output.look('yellow', 'waits for a decision')}`] : []),
      ];
    case 'tool_result':
      return resultLines({ text: resultText(item.content), isError: item.status === 'error', full }, output);
  }
}

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
type TimelineItem = TimelineStep | { type: 'event'; event: Event };

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

/** Returns the step with calls that have no results yet. */
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

/** A unit of a program, from its events. */
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
type StepPart = ContentPart | { type: 'decision'; decision: Decision };

/** The content of an event, and its note about the step. */
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
type ProgramItem = UnitItem | { type: 'event'; event: Event };

/** Returns the timeline of a program's run: units in the order in which they began, and other events in their place. */
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
