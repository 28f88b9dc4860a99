import { hash, randomBytes } from 'node:crypto';
import { UsageError } from '../core/domain/errors.ts';
import { readTraceparent } from '../core/domain/run-input.ts';
import type { TracedLoss } from '../core/domain/traced-part.ts';

/** A run across its executions. */
export interface TracedRun {
  namespace: string;
  /** The workflow id, and the key of a run inside a workflow of the user. */
  runId: string;
  /** Temporal's run id of the first execution: another run may have the same workflow id later. */
  firstExecutionId: string;
}

/** Returns a run by its workflow. `key`: that of a run inside a workflow of the user, or empty. */
export function tracedRun({
  namespace,
  workflowId,
  firstExecutionId,
  key,
}: Pick<TracedRun, 'namespace' | 'firstExecutionId'> & { workflowId: string; key: string }): TracedRun {
  return { namespace, runId: key === '' ? workflowId : `${workflowId}/${key}`, firstExecutionId };
}

/** The place of a run in a trace. */
export interface RunTrace {
  run: TracedRun;
  traceId: string;
  /** The span of the caller, or of the call of the parent. Absent: the run is the root of its trace. */
  parentSpanId?: string;
  /** False: the caller has decided that this trace is not recorded. */
  isSampled: boolean;
  /** The run is a session of callers, each of whose turns is a trace. */
  isSession?: true;
  /** The turn that this is the place of. Absent: it is that of the run as a whole. */
  turn?: number;
}

/** What a span is about. `child`: the call that has started a child, as the record of the parent has it. */
export type SpanSubject = 'run' | 'turn' | 'chat' | 'tool' | 'wait' | 'child' | 'cell';

const TRACE_ID_LENGTH = 32;
const SPAN_ID_LENGTH = 16;

/** Returns the id of the trace of a run that no caller and no parent has given one. The same in every process, and for every attempt. */
export function traceIdOf(run: TracedRun): string {
  return digest(TRACE_ID_LENGTH, ['trace', ...identityOf(run)]);
}

/** Returns the id of a span of a run. `path` tells the spans of one subject apart. */
export function spanIdOf(run: TracedRun, subject: SpanSubject, ...path: (string | number)[]): string {
  return digest(SPAN_ID_LENGTH, ['span', ...identityOf(run), subject, ...path]);
}

/** An attempt at a call, as each knows it who reports the attempt: its worker, the next attempt, or a reader of the record. */
export type NamedAttempt = Pick<TracedLoss, 'call' | 'activity' | 'attempt' | 'earlier' | 'localAt'>;

/** Returns the id of a span of an attempt at a call. `path` tells several spans of one attempt apart. */
export function attemptSpanId(run: TracedRun, subject: 'chat' | 'tool', attempted: NamedAttempt, ...path: (string | number)[]): string {
  const { call, activity, attempt, earlier, localAt } = attempted;
  const after = earlier === undefined || earlier === 0 ? [] : ['after', earlier];
  // The first attempt at a local call is made again, with the same number, if the workflow task around it is.
  const at = localAt === undefined ? [] : ['at', localAt];
  return spanIdOf(run, subject, call, activity, attempt, ...after, ...at, ...path);
}

/** Returns the place of a run that begins a trace, or continues that of its caller. */
export function traceOfStart(run: TracedRun, traceparent: string | undefined): RunTrace {
  const caller = traceparent === undefined ? undefined : readTraceparent(traceparent);
  if (caller === undefined) return { run, traceId: traceIdOf(run), isSampled: true };
  return { run, traceId: caller.traceId, parentSpanId: caller.spanId, isSampled: caller.isSampled };
}

/** Returns the place of a turn of a session. The first is in the trace of the caller, each other one has its own trace. */
export function traceOfTurn(session: RunTrace, turn: number): RunTrace {
  if (turn <= 1) return { ...session, turn };
  const { run, isSampled } = session;
  return { run, traceId: digest(TRACE_ID_LENGTH, ['trace', ...identityOf(run), turn]), isSampled, isSession: true, turn };
}

/** The ids of roots, which each call of a run asks for. */
const roots = new WeakMap<RunTrace, string>();

/** Returns the id of the span that all others at a place are below: that of the run, or of the turn. */
export function rootSpanId(place: RunTrace): string {
  const { run, turn } = place;
  const id = roots.get(place) ?? (turn === undefined ? spanIdOf(run, 'run') : spanIdOf(run, 'turn', turn));
  roots.set(place, id);
  return id;
}

/** Returns the place of a run that another one has started as its child: below the call that has started it. */
export function traceOfChild(run: TracedRun, parent: RunTrace): RunTrace {
  return { run, traceId: parent.traceId, parentSpanId: spanIdOf(parent.run, 'child', run.runId), isSampled: parent.isSampled };
}

function identityOf({ namespace, runId, firstExecutionId }: TracedRun): string[] {
  return [namespace, runId, firstExecutionId];
}

/** As JSON, so that no two lists have one digest. */
function digest(length: number, parts: (string | number)[]): string {
  return hash('sha256', JSON.stringify(parts)).slice(0, length);
}

/** True if a trace belongs to the part that is recorded. It depends on the id alone, so that all processes answer the same. */
export function isInSample(traceId: string, ratio: number): boolean {
  if (ratio >= 1) return true;
  // The last seven bytes are those that the conventions of samplers read as a random number.
  return Number.parseInt(traceId.slice(-14), 16) / 2 ** 56 >= 1 - ratio;
}

/** Makes ids for the spans of an OpenTelemetry SDK. */
export interface IdGenerator {
  /** Returns 32 hexadecimal digits. */
  generateTraceId(): string;
  /** Returns 16 hexadecimal digits. */
  generateSpanId(): string;
}

/** The ids of the span that is being started. The SDK asks for them before `startSpan` returns. */
let given: { traceId: string; spanId: string } | undefined;

/** Gives the spans of Longhaul the ids that follow from their run, and all others random ones. */
export const idGenerator: IdGenerator = {
  generateTraceId: () => given?.traceId ?? randomBytes(TRACE_ID_LENGTH / 2).toString('hex'),
  generateSpanId: () => given?.spanId ?? randomBytes(SPAN_ID_LENGTH / 2).toString('hex'),
};

/** Starts a span whose ids are given. */
export function withIds<Span>(ids: { traceId: string; spanId: string }, start: () => Span): Span {
  given = ids;
  try {
    return start();
  } finally {
    given = undefined;
  }
}

/** Returns the part of traces that is recorded. Throws a UsageError for a number that is none. */
export function checkedRatio(ratio: unknown): number {
  if (typeof ratio === 'number' && ratio >= 0 && ratio <= 1) return ratio;
  throw new UsageError(`telemetry: "sampleRatio" is ${JSON.stringify(ratio)}: write a number from 0 to 1, such as 0.1`);
}
