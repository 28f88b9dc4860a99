import { partsOfModelName } from '../domain/model.ts';
import { defined, type JsonObject, parsedJson } from '../domain/json.ts';
import { isBlock, kindOf, modelsOf, type ProgramDocument, type UnitDocument } from '../domain/program-document.ts';
import type { Event } from '../domain/record.ts';
import { roundedMs, secondsOf } from '../domain/time.ts';
import { type EventPlace, ExecutionTrace, type TraceEvent, traceEvent, Tracer, type TraceSpan } from '../domain/trace.ts';
import type { AnchorVerdict, AnswerVerdict, StepNote } from '../domain/verdicts.ts';
import { addressText, type IndexedStep, indexOf, parseAddress, type ProgramIndex, type StepAddress } from './program-index.ts';
import { resolveRefine } from './refine.ts';
import { formatError, seedNameOf } from './step-errors.ts';

/** Returns the trace of a program from the events of its run. Open spans end with the newest event. */
export function traceOf(document: ProgramDocument, events: readonly Event[]): ExecutionTrace {
  const [first] = events;
  const last = events.at(-1);
  const entries = events.flatMap((event) => traceEntries(document, event));
  const header = { ...traceNames(document), startTime: first === undefined ? 0 : secondsOf(first.timestamp) };
  return assembleTrace(last === undefined ? header : { ...header, endTime: secondsOf(last.timestamp) }, entries);
}

/** Assembles a trace from its lines. Drops lines of a span whose beginning is missing. */
export function assembleTrace(header: TraceHeader, entries: readonly TraceEntry[]): ExecutionTrace {
  const tracer = new Tracer();
  const spans = new Map<string, TraceSpan>();
  for (const entry of entries) {
    const span = spans.get(entry.span);
    if (entry.type === 'start') {
      const inside = entry.inside === undefined ? undefined : spans.get(entry.inside);
      spans.set(entry.span, tracer.start(entry, inside ?? null));
    } else if (span !== undefined && entry.type === 'event') tracer.emit(entry.event, span);
    else if (span !== undefined && entry.type === 'end') tracer.end(entry.at, entry.metadata, span);
  }
  return new ExecutionTrace({ ...header, spans: tracer.finalize(header.endTime ?? header.startTime) });
}

/** One line of a trace. Spans are named after the unit, or after the address of the block. Times are in seconds since the epoch. */
export type TraceEntry =
  | { type: 'start'; span: string; inside?: string; name: string; at: number; metadata?: JsonObject }
  | { type: 'event'; span: string; event: TraceEvent }
  | { type: 'end'; span: string; at: number; metadata?: JsonObject };

/** The maximum characters of a persona and a context in a unit's span. */
const MAX_SHOWN_CHARACTERS = 200;

/** Returns the trace lines for one recorded event. It depends only on the event and the document. */
export function traceEntries(document: ProgramDocument, event: Event): TraceEntry[] {
  const { step: note } = event;
  if (note === undefined) return [];
  return note.kind === 'unit' ? unitEntries(document, event, note) : stepEntries(document, event, note);
}

function unitEntries({ units }: ProgramDocument, { timestamp }: Event, note: StepNote): TraceEntry[] {
  const at = secondsOf(timestamp);
  const unit = units.find(({ name }) => name === note.at);
  const metadata = unit === undefined ? {} : unitMetadata(unit);
  if (note.type === 'start') return [{ type: 'start', span: note.at, name: `unit:${note.at}`, at, metadata }];
  return [{ type: 'end', span: note.at, at, metadata: endMetadata(note, at) }];
}

function unitMetadata({ persona = '', context = '', effort }: UnitDocument): JsonObject {
  return { persona: persona.slice(0, MAX_SHOWN_CHARACTERS), context: context.slice(0, MAX_SHOWN_CHARACTERS), effort: effort ?? '' };
}

function endMetadata({ startedAt, status, reason }: StepNote, at: number): JsonObject {
  return {
    ...(startedAt === undefined ? {} : { duration_ms: roundedMs(at - secondsOf(startedAt)) }),
    ...defined({ status, reason }),
  };
}

function stepEntries(document: ProgramDocument, event: Event, note: StepNote): TraceEntry[] {
  const index = indexOf(document);
  const address = parseAddress(note.at);
  const indexed = index.get(address.unit, address.step);
  const span = spanOf(index, address, indexed);
  const place: EventPlace = { step: note.at.slice(address.unit.length + 1), at: secondsOf(event.timestamp) };
  const inSpan = (events: TraceEvent[]): TraceEntry[] => events.map((one) => ({ type: 'event', span, event: one }));
  const isSpan = isBlock(indexed.step);
  switch (note.type) {
    case 'start': {
      // The record of a call does not begin a step.
      if (note.attempt !== undefined) return [];
      const started = inSpan(startEvents(indexed, place));
      const name = `${kindOf(indexed.step)}:${place.step}`;
      return isSpan ? [...started, { type: 'start', span: note.at, inside: span, name, at: place.at }] : started;
    }
    case 'attempt':
      return inSpan(attemptEvents({ event, note, place, indexed, document }));
    case 'end': {
      const ended = inSpan(endEvents(note, place));
      return isSpan ? [{ type: 'end', span: note.at, at: place.at, metadata: endMetadata(note, place.at) }, ...ended] : ended;
    }
  }
}

/** Returns the span that contains a step: the block around it, in the same item and round, or its unit. */
function spanOf(index: ProgramIndex, { unit, indexes }: StepAddress, { block }: IndexedStep): string {
  if (block === undefined) return unit;
  return addressText({ unit, step: block, indexes: indexes.slice(0, index.get(unit, block).loops.length) });
}

function startEvents({ step }: IndexedStep, place: EventPlace): TraceEvent[] {
  const started = traceEvent('step_start', place, defined({ user_prompt_length: step.ask?.prompt.length }));
  const { maxAttempts, backoff } = resolveRefine(step.refine);
  return maxAttempts > 1 ? [started, traceEvent('refine_start', place, { max_attempts: maxAttempts, backoff })] : [started];
}

/** AXON has no end event for a step that is skipped because its attempts are used up. */
function endEvents({ status, startedAt, error, reason, reused }: StepNote, place: EventPlace): TraceEvent[] {
  if (status === 'skipped' && error !== undefined) return [];
  const durationMs = startedAt === undefined ? 0 : roundedMs(place.at - secondsOf(startedAt));
  const data = {
    ...(status === 'completed' ? { success: true } : {}),
    ...(error === undefined ? {} : { error: formatError(error) }),
    ...(status === 'skipped' ? { skipped: true } : {}),
    ...defined({ reused, reason }),
  };
  return [traceEvent('step_end', place, data, durationMs)];
}

interface EndedAttempt extends AnsweredStep {
  event: Event;
  note: StepNote;
  /** The end of the attempt. */
  place: EventPlace;
}

/** Returns the events of one attempt in AXON's order: the call, the answer, its checks, and the failure, if any. */
function attemptEvents(attempt: EndedAttempt): TraceEvent[] {
  const { note, place } = attempt;
  const { error } = note;
  // The record of a decision has no start time: nothing was called.
  const called = note.startedAt === undefined ? [] : callEvents(attempt, secondsOf(note.startedAt));
  if (error === undefined) return called;
  const data = { attempt: note.attempt ?? 1, reason: formatError(error), error_type: seedNameOf(error.code) };
  return [...called, traceEvent('retry_attempt', place, data)];
}

function callEvents(attempt: EndedAttempt, startedAt: number): TraceEvent[] {
  const { indexed, note, place, event } = attempt;
  const begun = { ...place, at: startedAt };
  const { ask, tool, agent, program, remember, recall } = indexed.step;
  if (ask !== undefined) return [traceEvent('model_call', begun, promptData(attempt)), ...responseEvents(attempt, startedAt)];
  if (tool !== undefined) return [traceEvent('model_call', begun, { tool_name: tool.name })];
  if (agent !== undefined) return [traceEvent('model_call', begun, { agent_name: agent.name })];
  if (program !== undefined) return [traceEvent('model_call', begun, { program_name: program.name })];
  const durationMs = roundedMs(place.at - startedAt);
  if (note.error !== undefined) return [];
  if (remember !== undefined) return [traceEvent('memory_write', place, { key: String(recordedOutput(event)) }, durationMs)];
  if (recall === undefined) return [];
  const found = recordedOutput(event);
  const data = { top_k: recall.topK ?? 5, ...(Array.isArray(found) ? { results_count: found.length } : {}) };
  return [traceEvent('memory_read', place, data, durationMs)];
}

/** AXON calls the number of a prompt's characters its tokens. */
function promptData({ indexed, note }: EndedAttempt): JsonObject {
  const effort = indexed.step.ask?.effort ?? indexed.unit.effort;
  return defined({ effort, prompt_tokens: note.promptLength });
}

function responseEvents(attempt: EndedAttempt, startedAt: number): TraceEvent[] {
  const { note, place } = attempt;
  const { verdict, answerLength = 0 } = note;
  if (verdict === undefined) return [];
  const data = {
    content_length: answerLength,
    has_structured: note.structured === true,
    ...defined({ confidence: verdict.confidence }),
  };
  const response = traceEvent('model_response', place, data, roundedMs(place.at - startedAt));
  return [response, ...answerEvents(verdict, attempt, place)];
}

/** Returns the recorded output of a step: memory steps write it as JSON. */
function recordedOutput({ content: [item] }: Event): unknown {
  if (item?.type !== 'message' || typeof item.content !== 'string') return undefined;
  return parsedJson(item.content);
}

/** The document of the step whose answer was checked. */
interface AnsweredStep {
  indexed: IndexedStep;
  document: ProgramDocument;
}

/**
 * Returns the events of an answer's checks: anchors in document order, then the validation. The validator comes last, and only if no anchor
 * blocks the answer.
 */
function answerEvents(verdict: AnswerVerdict, step: AnsweredStep, place: EventPlace): TraceEvent[] {
  const { anchors } = verdict;
  if (verdict.empty) return [];
  const checks = anchors === undefined ? [] : anchorEvents(anchors, step.indexed, place);
  return anchors?.passed === false ? checks : [...checks, ...validationEvents(verdict, step, place)];
}

function anchorEvents(verdict: AnchorVerdict, { unit, step }: IndexedStep, place: EventPlace): TraceEvent[] {
  const names = [...new Set([...(unit.anchors ?? []), ...(step.ask?.anchors ?? [])])];
  return names.flatMap((anchor) => {
    if (verdict.excused.includes(anchor))
      return [traceEvent('anchor_pass', place, { anchor, passed: true, reason: 'bypassed_by_agnostic_fallback' })];
    if (!verdict.checked.includes(anchor)) return [];
    const check = traceEvent('anchor_check', place, { anchor_name: anchor });
    const breach = [...verdict.breaches, ...verdict.warnings].find((one) => one.anchor === anchor);
    if (breach === undefined) return [check, traceEvent('anchor_pass', place, { anchor, passed: true })];
    const severity = verdict.warnings.includes(breach) ? 'warning' : 'error';
    return [check, traceEvent('anchor_breach', place, { anchor, passed: false, severity, violations: breach.violations })];
  });
}

function validationEvents(
  { violations, misfit, confidence }: AnswerVerdict,
  { indexed, document }: AnsweredStep,
  place: EventPlace,
): TraceEvent[] {
  const { type, confidenceFloor: floor } = indexed.step.ask ?? {};
  const expected = defined({ expected_type: type });
  if (misfit !== undefined) return [traceEvent('validation_fail', place, { ...expected, violations: [misfit] })];
  if (violations === undefined) return [];
  const messages = violations.map(({ message }) => message);
  const data = { ...expected, ...(messages.length === 0 ? {} : { violations: messages }) };
  const isValid = violations.every(({ severity }) => severity !== 'error');
  const validation = traceEvent(isValid ? 'validation_pass' : 'validation_fail', place, data);
  // AXON's executor has no separate event for the confidence, which it validates along with the rest.
  if (floor === undefined || confidence === undefined || document.lenient === true) return [validation];
  return [traceEvent('confidence_check', place, { score: confidence, floor, passed: confidence >= floor }), validation];
}

/** The part of a trace that is not in the events. Times are in seconds since the epoch. */
interface TraceHeader {
  programName: string;
  /** The provider of the program's model; empty for a program without model calls. */
  backendName: string;
  startTime: number;
  /** The time of the newest event. Absent if there are no events. */
  endTime?: number;
}

/** Returns the names in the header of a program's trace. */
export function traceNames(document: ProgramDocument): Pick<TraceHeader, 'programName' | 'backendName'> {
  const [model = ''] = [document.model, ...modelsOf(document)].filter((one) => one !== undefined && one !== '');
  return { programName: document.name, backendName: partsOfModelName(model).provider };
}

/** Answer of the `trace` query: the trace lines for a page of events. Offsets are event offsets. */
export interface TracePage extends TraceHeader {
  version: 1;
  runId: string;
  /** Offset of the first event in the answering execution. Earlier events are in earlier executions. */
  firstOffset: number;
  /** Offset of the first event of this page. */
  from: number;
  /** Offset of the first event of the next page. There is a next page while it is less than `total`. */
  next: number;
  total: number;
  entries: TraceEntry[];
  /** For an agent's run, whose trace is built from its events and steps: `provider/model`. */
  model?: string;
}
