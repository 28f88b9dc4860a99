import type { Event } from '../../domain/record/event.ts';
import { isBlock, kindOf, type ProgramDocument, type UnitDocument } from '../../domain/program/document.ts';
import type { StepNote } from '../../domain/program/step-note.ts';
import type { JsonObject } from '../../domain/json/json.ts';
import { formatError } from '../errors/format-error.ts';
import { resolveRefine } from '../refine/refine-config.ts';
import { addressText, parseAddress, type StepAddress } from '../state/address.ts';
import { type IndexedStep, indexOf, type ProgramIndex } from '../state/program-index.ts';
import { attemptEvents } from './attempt-events.ts';
import { roundedMs } from '../../domain/trace/rounded-ms.ts';
import { type EventPlace, type TraceEvent, traceEvent } from '../../domain/trace/trace-event.ts';
import { secondsOf } from '../../domain/record/time.ts';

/** One line of a trace. Spans are named by the unit, or by the address of the block. Times are in seconds since the epoch. */
export type TraceEntry =
  | { type: 'start'; span: string; inside?: string; name: string; at: number; metadata?: JsonObject }
  | { type: 'event'; span: string; event: TraceEvent }
  | { type: 'end'; span: string; at: number; metadata?: JsonObject };

/** The most characters of the persona and of the context that the span of a unit shows. */
const MAX_SHOWN = 200;

/** Returns the lines of the trace that one recorded event stands for. It depends on nothing but the event and the document. */
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

function unitMetadata({ persona = '', context = '', effort = '' }: UnitDocument): JsonObject {
  return { persona: persona.slice(0, MAX_SHOWN), context: context.slice(0, MAX_SHOWN), effort };
}

function endMetadata({ startedAt, status, reason }: StepNote, at: number): JsonObject {
  return {
    ...(startedAt === undefined ? {} : { duration_ms: roundedMs(at - secondsOf(startedAt)) }),
    ...(status === undefined ? {} : { status }),
    ...(reason === undefined ? {} : { reason }),
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
      // The record of a call begins no step.
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

/** Returns the span of a step: the block around it, in the same item and round, or its unit. */
function spanOf(index: ProgramIndex, { unit, indexes }: StepAddress, { block }: IndexedStep): string {
  if (block === undefined) return unit;
  return addressText({ unit, step: block, indexes: indexes.slice(0, index.get(unit, block).loops.length) });
}

function startEvents({ step }: IndexedStep, place: EventPlace): TraceEvent[] {
  const started = traceEvent('step_start', place, step.ask === undefined ? {} : { user_prompt_length: step.ask.prompt.length });
  const { maxAttempts, backoff } = resolveRefine(step.refine);
  return maxAttempts > 1 ? [started, traceEvent('refine_start', place, { max_attempts: maxAttempts, backoff })] : [started];
}

/** AXON has no end for a step that is skipped because its attempts are used up. */
function endEvents({ status, startedAt, error, reason, reused }: StepNote, place: EventPlace): TraceEvent[] {
  if (status === 'skipped' && error !== undefined) return [];
  const durationMs = startedAt === undefined ? 0 : roundedMs(place.at - secondsOf(startedAt));
  const data = {
    ...(status === 'completed' ? { success: true } : {}),
    ...(error === undefined ? {} : { error: formatError(error) }),
    ...(status === 'skipped' ? { skipped: true } : {}),
    ...(reused === undefined ? {} : { reused }),
    ...(reason === undefined ? {} : { reason }),
  };
  return [traceEvent('step_end', place, data, durationMs)];
}
