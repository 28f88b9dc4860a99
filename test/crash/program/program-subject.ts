import type { Subject, Hit } from '../subject.ts';
import { type ErrandRecord, runErrand, type ChildRecord } from './errand-run.ts';
import type { Event } from '../../../src/core/domain/record.ts';
import type { UnitResult } from '../../../src/core/domain/program-run.ts';
import type { ExecutionTraceJson, TraceSpanJson } from '../../../src/core/domain/trace.ts';
import { isJsonObject, type JsonValue } from '../../../src/core/domain/json.ts';
import { OF_ONE_RUN, asksOver, hitProblems, partsThatDiffer, randomAsks } from '../checks.ts';
import { unless } from '../../processes/command.ts';
import { errand, KEPT } from './errand.ts';
import { allSteps, isBlock, type ProgramDocument } from '../../../src/core/domain/program-document.ts';
import type { Pass } from '../processes/crash-testbed.ts';

/** The timeout of these activities does not depend on the heartbeats of the testbed. */
const NOTICED_LATE = /(before|after) (resolve|notifyWaiting|authorizeDecision|useMemory|readResult)/;

/** The run of a program with steps of every kind. */
export const programSubject: Subject<ErrandRecord, PlainErrand> = {
  name: 'program',
  eventsOfExecution: 90,
  // A call that a busy worker seems to have lost is made again, and its answer paid twice.
  heartbeatMs: 1_500,
  run: runErrand,
  plain: plainErrand,
  undisturbedProblems,
  pointProblems,
  randomProblems,
  isSlow: (point) => NOTICED_LATE.test(point) || point.endsWith('query data'),
  sample: samplePoints,
};

/** The parts of a record that are equal in all runs of the program, as JSON. */
interface PlainErrand {
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

/** The problems with the undisturbed run, the reference for all others. Every step must have a point where runs are hit. */
export function undisturbedProblems(record: ErrandRecord, points: readonly string[]): string[] {
  const { result, executions, kills } = record;
  const lost = stepsWithoutPoint(errand(() => undefined).document, points);
  return [
    ...unless(result.status === 'completed', `it ended with status ${result.status}: ${result.error ?? result.stopReason}`),
    ...unless(executions > 1, 'it did not continue as new'),
    ...unless(kills === 0, `a process was killed ${kills} times`),
    ...waitProblems(record),
    ...unless(lost.length === 0, `it has no point in these steps: ${lost.join(', ')}`),
    ...asksOver(record, () => 1),
    ...effectProblems(record),
    ...memoryProblems(record),
  ];
}

/**
 * The problems with a run that was hit at a point: only a model call that was in flight at the kill may have been made again, and one
 * that the server has given up meanwhile, because a busy machine has delayed its heartbeats.
 */
export function pointProblems(undisturbed: PlainErrand, hit: Hit, record: ErrandRecord): string[] {
  return [...hitProblems(hit, record), ...recordProblems(undisturbed, record)];
}

/** The problems with a run that was hit at random: each kill may make one more model call necessary. */
export function randomProblems(undisturbed: PlainErrand, record: ErrandRecord): string[] {
  return [...recordProblems(undisturbed, record), ...randomAsks(record)];
}

function recordProblems(undisturbed: PlainErrand, record: ErrandRecord): string[] {
  return [
    ...partsThatDiffer(undisturbed, plainErrand(record)),
    ...waitProblems(record),
    ...effectProblems(record),
    ...memoryProblems(record),
  ];
}

function waitProblems({ waiting: { status, waitingFor } }: ErrandRecord): string[] {
  return unless(
    status === 'pending_confirmation' && waitingFor.join(', ') === 'work.Who',
    `while it waited for the answer, it said that it is ${status} and waits for: ${waitingFor.join(', ') || 'nothing'}`,
  );
}

/** Each effect must have happened once: with one idempotency key. */
function effectProblems({ effects }: ErrandRecord): string[] {
  const names = [...new Set(effects.map(({ effect }) => effect))];
  return names.flatMap((name) => {
    const keys = effects.filter(({ effect }) => effect === name).map(({ key }) => key);
    return unless(keys.length === 1, `"${name}" was done with ${keys.length} idempotency keys: ${keys.join(', ')}`);
  });
}

function memoryProblems({ memory }: ErrandRecord): string[] {
  const isOnce = memory.length === 1 && memory[0]?.value === KEPT;
  return unless(isOnce, `the memory has these entries of the run: ${JSON.stringify(memory)}`);
}

/** The steps where no run can be hit. A block is hit at the steps inside it. */
export function stepsWithoutPoint(document: ProgramDocument, points: readonly string[]): string[] {
  const steps = allSteps(document).filter(({ step }) => !isBlock(step));
  const addresses = steps.map(({ unit, step }) => `${unit.name}.${step.name}`);
  // A point ends with the address, the index of an item or round, or the number of the attempt.
  return addresses.filter((address) => !points.some((point) => point.split(/[ [:]/).includes(address)));
}

/**
 * A sample of the points: in the pass of the workers one point of each step, and one of each other thing that happens, also in
 * children; in the pass of the servers another point of every third of them.
 */
export function samplePoints(points: readonly string[], pass: Pass): string[] {
  const groups = [...Map.groupBy(points, subjectOf).values()];
  const isWorker = pass === 'worker';
  const chosen = groups.filter((_, index) => isWorker || index % 3 === 0);
  const sampled = new Set(chosen.map((group, index) => group[(index + (isWorker ? 0 : 1)) % group.length]));
  return points.filter((point) => sampled.has(point));
}

/** The thing that a point belongs to: a step in all its items, rounds and attempts, or what else the point names. */
function subjectOf(point: string): string {
  const [, child = '', name = ''] = /^(.+: )?(.+)$/.exec(point) ?? [];
  const [last = ''] = name
    .replace(/ #\d+$/, '')
    .split(' ')
    .slice(-1);
  return `${child}${last.replace(/\[.*$|#\d+$/, '').replace(/\.review$/, '')}`;
}
