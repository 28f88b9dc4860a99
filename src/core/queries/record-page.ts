import type { Event } from '../domain/record/event.ts';
import { EVENTS_READ, type RecordPage } from '../protocol.ts';
import { jsonBytes } from '../domain/json/payload-limit.ts';
import { page } from './pages.ts';
import type { QueriedRun } from './queried-run.ts';

/** Argument of the `record` query. Any other value means the beginning. */
export interface RecordQuestion {
  /** Offset of the first event to return. */
  from?: unknown;
  /** Index of the first step to return. */
  step?: unknown;
  /** Bytes of JSON that the events may have together: for code of the user, which is given a bounded number of events. */
  bytes?: unknown;
  /** Only with `bytes`: the number of newest events to return. */
  last?: unknown;
  /** False: no steps. */
  steps?: unknown;
}

/** Bytes of events and steps in one answer, which is one payload of at most 2 MiB. */
const ANSWER_BYTES = 1_800_000;

/** Answers the `record` query with events and steps of this execution. A page that would begin before them begins with the first. */
export function recordPage({ state }: QueriedRun, question: RecordQuestion): RecordPage {
  const { events = [], currentStep: counted = 0 } = state?.context ?? {};
  // A program counts its model calls, and has no steps of an agent.
  const currentStep = state?.program === undefined ? counted : 0;
  const { steps = [], firstOffset = 0, status = 'running' } = state ?? {};
  const firstStep = currentStep - steps.length;
  const paged =
    question.bytes === undefined ? wholePage(events, index(question.from) - firstOffset) : boundedPage(events, firstOffset, question);
  return {
    version: 1,
    status,
    firstOffset,
    from: firstOffset + paged.index,
    events: paged.events,
    ...(paged.cut ? { cut: true } : {}),
    total: firstOffset + events.length,
    firstStep,
    steps: question.steps === false ? [] : page(steps, index(question.step) - firstStep, ANSWER_BYTES - jsonBytes(paged.events)),
    totalSteps: currentStep,
  };
}

interface PagedEvents {
  /** The index of the first of them. */
  index: number;
  events: Event[];
  cut?: true;
}

function wholePage(events: readonly Event[], from: number): PagedEvents {
  return { index: Math.max(0, from), events: page(events, from) };
}

/** Returns the newest events, or those from an offset on, within the bounds for code of the user. */
function boundedPage(events: readonly Event[], firstOffset: number, { from, last, bytes }: RecordQuestion): PagedEvents {
  const start = Math.max(0, index(from) - firstOffset);
  const most = Math.min(index(bytes), EVENTS_READ.mostBytes);
  if (last === undefined) {
    const wanted = events.slice(start, start + EVENTS_READ.events);
    const fitting = within(wanted, most);
    return { index: start, events: fitting, ...(fitting.length < wanted.length ? { cut: true } : {}) };
  }
  const newest = events.slice(start).slice(-Math.min(index(last), EVENTS_READ.mostEvents));
  const fitting = within(newest.toReversed(), most).toReversed();
  return { index: events.length - fitting.length, events: fitting, ...(fitting.length < newest.length ? { cut: true } : {}) };
}

/** Returns the first events that have at most so many bytes together. */
function within(events: readonly Event[], most: number): Event[] {
  let bytes = 0;
  const over = events.findIndex((event) => (bytes += jsonBytes(event)) > most);
  return events.slice(0, over < 0 ? events.length : over);
}

function index(value: unknown): number {
  return typeof value === 'number' && value > 0 ? Math.floor(value) : 0;
}
