import { type Decision, RAISE_LIMITS } from '../../core/domain/approvals.ts';
import type { ContentItem } from '../../core/domain/content.ts';
import type { StepNote } from '../../core/domain/verdicts.ts';
import type { Event, RunRecord } from '../../core/domain/record.ts';
import { secondsBetween } from '../../core/domain/time.ts';

/** A unit of a program, as its events tell it. */
export interface UnitItem {
  type: 'unit';
  name: string;
  /** In the order in which they began. */
  steps: StepItem[];
  end?: EndOf;
}

/** One execution of a step. */
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
