import type { Event } from '../../../src/core/domain/record.ts';
import type { UnitResult } from '../../../src/core/domain/program-run.ts';
import type { ExecutionTraceJson, TraceSpanJson } from '../../../src/core/domain/trace.ts';
import { isJsonObject, type JsonValue } from '../../../src/core/domain/json.ts';
import { OF_ONE_RUN } from '../checks/plain-record.ts';
import type { ChildRecord, ErrandRecord } from './errand-record.ts';

/** The parts of a record that are equal in all runs of the program, as JSON. */
export interface PlainErrand {
  result: JsonValue;
  events: JsonValue;
  trace: JsonValue;
  children: JsonValue;
  /** The effects of tools, by name. */
  effects: string[];
  /** The model calls, by the points where their answers were read. */
  asks: string[];
}

/** More fields that differ between any two runs: times in notes and traces, and the cost of lost attempts. */
const OF_ONE_PROGRAM = new Set([...OF_ONE_RUN, 'startedAt', 'start_time', 'end_time', 'duration_ms', 'estimated']);

/**
 * A record without the fields that differ between runs. Parallel steps are recorded in any order: the record is sorted by step, and the
 * events of one step stay in their order.
 */
export function plainErrand({ runId, result, events, trace, children, effects, asks }: ErrandRecord): PlainErrand {
  const plain = (value: unknown): JsonValue => withoutTimes(JSON.parse(JSON.stringify(value).replaceAll(runId, 'the run')) as JsonValue);
  return {
    result: plain({ ...result, units: result.units.map(unitInOrder) }),
    events: plain(eventsInOrder(events)),
    trace: plain(traceInOrder(trace)),
    children: plain(Object.fromEntries(Object.entries(children).map(([path, child]) => [path, childInOrder(child)]))),
    effects: effects.map(({ effect }) => effect).toSorted(),
    asks: asks.map(({ told }) => told).toSorted(),
  };
}

function childInOrder({ result, events }: ChildRecord): ChildRecord {
  return { result, events: eventsInOrder(events) };
}

/** The address of a step is kept under another name than a time. */
function eventsInOrder(events: readonly Event[]): Event[] {
  return inOrder(events, ({ step, decision }) => step?.at ?? decision?.callId ?? '').map((event) =>
    event.step === undefined ? event : { ...event, step: { ...event.step, address: event.step.at } },
  );
}

function unitInOrder(unit: UnitResult): UnitResult {
  return { ...unit, steps: inOrder(unit.steps, ({ name }) => name) };
}

function traceInOrder(trace: ExecutionTraceJson): ExecutionTraceJson {
  return { ...trace, spans: spansInOrder(trace.spans) };
}

function spansInOrder(spans: readonly TraceSpanJson[]): TraceSpanJson[] {
  return inOrder(spans, ({ name }) => name).map(({ children = [], ...span }) => ({
    ...span,
    events: inOrder(span.events, ({ step_name = '' }) => step_name),
    children: spansInOrder(children),
  }));
}

function inOrder<Item>(items: readonly Item[], keyOf: (item: Item) => string): Item[] {
  return items.toSorted((one, other) => (keyOf(one) < keyOf(other) ? -1 : Number(keyOf(one) > keyOf(other))));
}

/** A value without such fields, and with its fields in the order of their names. */
function withoutTimes(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(withoutTimes);
  if (!isJsonObject(value)) return value;
  const kept = Object.entries(value).filter(([key]) => !OF_ONE_PROGRAM.has(key));
  return Object.fromEntries(inOrder(kept, ([key]) => key).map(([key, field]) => [key, withoutTimes(field)]));
}
