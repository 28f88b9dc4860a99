import { hash, randomBytes } from 'node:crypto';
import { UsageError } from '../core/domain/errors.ts';
import { defined } from '../core/domain/json.ts';
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

/** Returns the run of a workflow. `key`: the key of a run inside a workflow of the user, or empty. */
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
  /** The caller's span, or the span of the parent's call. Absent: the run is the root of its trace. */
  parentSpanId?: string;
  /** Whether the caller records this trace. Absent: there is no caller's trace, and the worker's ratio decides. */
  isSampled?: boolean;
  /** True for a session of callers, each of whose turns is a trace. */
  isSession?: true;
  /** The turn at this place. Absent: the place of the whole run. */
  turn?: number;
}

/** The subject of a span. `child`: the call that started a child, as recorded by the parent. */
export type SpanSubject = 'run' | 'turn' | 'chat' | 'tool' | 'wait' | 'child' | 'cell';

const TRACE_ID_LENGTH = 32;
const SPAN_ID_LENGTH = 16;

/** Returns the trace id of a run without a caller's trace or a parent. The same in every process and every attempt. */
export function traceIdOf(run: TracedRun): string {
  return digest(TRACE_ID_LENGTH, ['trace', ...identityOf(run)]);
}

/** Returns the id of a span of a run. `path` distinguishes the spans of one subject. */
export function spanIdOf(run: TracedRun, subject: SpanSubject, ...path: (string | number)[]): string {
  return digest(SPAN_ID_LENGTH, ['span', ...identityOf(run), subject, ...path]);
}

/** The facts about an attempt that everyone who may report it knows: its worker, the next attempt, and a reader of the record. */
export type NamedAttempt = Pick<TracedLoss, 'call' | 'activity' | 'attempt' | 'earlier' | 'localAt'>;

/** Returns the id of a span of an attempt at a call. `path` distinguishes several spans of one attempt. */
export function attemptSpanId(run: TracedRun, subject: 'chat' | 'tool', attempted: NamedAttempt, ...path: (string | number)[]): string {
  const { call, activity, attempt, earlier, localAt } = attempted;
  const after = earlier === undefined || earlier === 0 ? [] : ['after', earlier];
  // If a workflow task is repeated, so is the first attempt at a local call, with the same number.
  const at = localAt === undefined ? [] : ['at', localAt];
  return spanIdOf(run, subject, call, activity, attempt, ...after, ...at, ...path);
}

/** Returns the place of a run that begins a trace, or continues the caller's. */
export function traceOfStart(run: TracedRun, traceparent: string | undefined): RunTrace {
  const caller = traceparent === undefined ? undefined : readTraceparent(traceparent);
  if (caller === undefined) return { run, traceId: traceIdOf(run) };
  return { run, traceId: caller.traceId, parentSpanId: caller.spanId, isSampled: caller.isSampled };
}

/** Returns the place of a turn of a session. The first turn is in the caller's trace, each later one has a separate trace. */
export function traceOfTurn(session: RunTrace, turn: number): RunTrace {
  if (turn <= 1) return { ...session, turn };
  const { run } = session;
  return { run, traceId: digest(TRACE_ID_LENGTH, ['trace', ...identityOf(run), turn]), isSession: true, turn };
}

/** A cache of root span ids, which each call of a run needs. */
const roots = new WeakMap<RunTrace, string>();

/** Returns the id of the root span at a place: of the run or the turn. */
export function rootSpanId(place: RunTrace): string {
  const { run, turn } = place;
  const id = roots.get(place) ?? (turn === undefined ? spanIdOf(run, 'run') : spanIdOf(run, 'turn', turn));
  roots.set(place, id);
  return id;
}

/** Returns the place of a child run: below the call that started it. */
export function traceOfChild(run: TracedRun, parent: RunTrace): RunTrace {
  const { run: above, traceId, isSampled } = parent;
  return { run, traceId, parentSpanId: spanIdOf(above, 'child', run.runId), ...defined({ isSampled }) };
}

function identityOf({ namespace, runId, firstExecutionId }: TracedRun): string[] {
  return [namespace, runId, firstExecutionId];
}

/** Hashes the parts as JSON, so that no two lists have the same digest. */
function digest(length: number, parts: (string | number)[]): string {
  return hash('sha256', JSON.stringify(parts)).slice(0, length);
}

/** True if a trace is recorded. Depends only on its id, so that all processes agree. */
export function isInSample(traceId: string, ratio: number): boolean {
  if (ratio >= 1) return true;
  // By convention, samplers read the last seven bytes as a random number.
  return Number.parseInt(traceId.slice(-14), 16) / 2 ** 56 >= 1 - ratio;
}

/** Makes ids for the spans of an OpenTelemetry SDK. */
export interface IdGenerator {
  /** Returns 32 hexadecimal digits. */
  generateTraceId(): string;
  /** Returns 16 hexadecimal digits. */
  generateSpanId(): string;
}

/** The ids of the span that is being started. The SDK requests them before `startSpan` returns. */
let given: { traceId: string; spanId: string } | undefined;

/** Gives Longhaul's spans ids derived from their run, and all other spans random ids. */
export const idGenerator: IdGenerator = {
  generateTraceId: () => given?.traceId ?? randomBytes(TRACE_ID_LENGTH / 2).toString('hex'),
  generateSpanId: () => given?.spanId ?? randomBytes(SPAN_ID_LENGTH / 2).toString('hex'),
};

/** Starts a span with these ids. */
export function withIds<Span>(ids: { traceId: string; spanId: string }, start: () => Span): Span {
  given = ids;
  try {
    return start();
  } finally {
    given = undefined;
  }
}

/** Returns the fraction of traces to record. Throws a UsageError for an invalid number. */
export function checkedRatio(ratio: unknown): number {
  if (typeof ratio === 'number' && ratio >= 0 && ratio <= 1) return ratio;
  throw new UsageError(`telemetry: "sampleRatio" is ${JSON.stringify(ratio)}: write a number from 0 to 1, such as 0.1`);
}
