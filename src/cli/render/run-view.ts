import type { LonghaulClient } from '../../client/longhaul-client.ts';
import type { RunHandle } from '../../client/run-handle.ts';
import { requireRun } from '../../client/visibility.ts';
import type { ApprovalView, Decision, RefusedRequest, RememberedDecision } from '../../core/domain/approvals.ts';
import { errorCode, errorMessage } from '../../core/domain/errors.ts';
import type { HookRecord } from '../../core/domain/hooks.ts';
import { defined, type JsonValue } from '../../core/domain/json.ts';
import type { LimitRaise, RunLimits } from '../../core/domain/limits.ts';
import type { Missing } from '../../core/domain/missing-definitions.ts';
import type { StepKind } from '../../core/domain/program-document.ts';
import type { ProgramStepResult, UnitResult } from '../../core/domain/program-run.ts';
import { type Event, recordsInOrder, type RunRecord } from '../../core/domain/record.ts';
import { ProgramResult } from '../../core/domain/result.ts';
import type { Archiving, NotArchived, StopReason } from '../../core/domain/run.ts';
import type { SessionView } from '../../core/domain/sessions.ts';
import type { StepResult } from '../../core/domain/tool-calls.ts';
import { type PostponedCall, PROGRAM_RUN, type RunningCall, type StatusView } from '../../core/protocol.ts';
import { checkRunId, describeRun } from '../../temporal/run-workflow.ts';
import { failIfUnreachable } from '../../temporal/server-calls.ts';
import { attemptProblems } from './event-facts.ts';
import { type EndOf, programTimelineOf, type StepItem } from './timeline.ts';

/** What a run shows of itself as it is, live or ended. */
type StatusField = 'version' | 'runId' | 'agentName' | 'about' | 'status' | 'usage' | 'toolCallsTotal' | 'toolCallsNotRun' | 'queued';

/** A run as `longhaul show` prints it, live or ended: a RunResult with its steps, in which unknown fields are null. */
export interface RunView extends Pick<StatusView, StatusField> {
  /** The agent that acts, or acted last, if the run was handed over; otherwise null. */
  currentAgent: string | null;
  stopReason: StopReason | null;
  /** Why the model ended its last answer; null before the end of the run, and for a program. */
  finishReason: string | null;
  steps: StepResult[];
  stepsUsed: number;
  output: JsonValue;
  outputText: string;
  error: string | null;
  errorCode: string | null;
  cancelReason: string | null;
  /** The answers of the hooks at the start and at the end of the run. Absent if there are none. */
  hooks?: HookRecord[];
  startTime: string | null;
  endTime: string | null;
  durationSeconds: number | null;
  /** The current limits; null if the agent was never resolved. */
  limits: RunLimits | null;
  /** The newest error of a tool or a request in a live run. */
  lastError: string | null;
  /** Everything that the run waits for because no worker that took its tasks has had it so far. */
  missing: Missing[];
  /** The events that are being sent to the archive; null if there are none. */
  archiving: Archiving | null;
  /** The events of the run that are not in the archive. */
  notArchived: NotArchived[];
  /** Calls that wait until a time. */
  postponed: PostponedCall[];
  /** Running calls, with the progress that they report. */
  running: RunningCall[];
  /** Pending decisions. */
  pending: ApprovalView[];
  /** Remembered decisions, which apply to further calls. */
  remembered: RememberedDecision[];
  decisions: Decision[];
  refused: RefusedRequest[];
  raised: LimitRaise[];
  /** Events and steps, in order. */
  records: RunRecord[];
  /** The turns and the limits of a session; null for other runs. */
  session: SessionView | null;
  /** The units of a program; of a run that continues, those that have begun. Null for an agent. */
  units: readonly UnitResult[] | null;
}

/** Reads a run. Throws `run_not_found`. */
export async function runView(client: LonghaulClient, runId: string): Promise<RunView> {
  const handle = client.handle<JsonValue>(runId);
  const { start, close, isProgram } = await runTimes(client, runId);
  const view = await readView(handle, { start, close });
  return isProgram ? { ...view, units: view.units ?? unitsSoFar(view.records) } : view;
}

async function readView(handle: RunHandle<JsonValue>, { start, close }: Pick<RunTimes, 'start' | 'close'>): Promise<RunView> {
  if (close === undefined) return await liveView(handle);
  try {
    return await endedView(handle);
  } catch (error) {
    if (!['run_terminated', 'run_timed_out', 'internal'].includes(errorCode(error) ?? '')) throw error;
    // It was ended from outside: there is no result, but the record can still be read.
    const ending = { endTime: close.toISOString(), durationSeconds: (close.getTime() - start.getTime()) / 1000 };
    const failure = { stopReason: 'error', error: errorMessage(error), errorCode: errorCode(error) ?? null } as const;
    const [status, records] = await Promise.all([handle.status(), runRecords(handle, { live: false })]);
    return { ...viewOfStatus(status, records), ...ending, ...failure, status: 'error', lastError: null };
  }
}

async function endedView(handle: RunHandle<JsonValue>): Promise<RunView> {
  const [result, status, records] = await Promise.all([handle.result(), handle.status(), runRecords(handle, { live: false })]);
  const { success: _, hasMedia: __, mediaTypes: ___, limits: ____, maxIterations: _____, ...fields } = result.toJSON();
  return {
    ...viewOfStatus(status, records),
    ...fields,
    steps: stepsOf(records),
    units: result instanceof ProgramResult ? result.units : null,
    finishReason: fields.finishReason ?? null,
    errorCode: fields.errorCode ?? null,
    cancelReason: fields.cancelReason ?? null,
    ...defined({ hooks: fields.hooks }),
    notArchived: fields.notArchived ?? [],
    lastError: null,
  };
}

async function liveView(handle: RunHandle<JsonValue>): Promise<RunView> {
  const [status, approvals, records] = await Promise.all([handle.status(), handle.approvals(), runRecords(handle, { live: true })]);
  const { pending, remembered } = approvals;
  return { ...viewOfStatus(status, records), pending, remembered };
}

/** Returns the view of a run from its own status and records. */
function viewOfStatus(status: StatusView, records: RunRecord[]): RunView {
  const { runId, agentName, usage, toolCallsTotal, startTime, limits, queued, lastError, running = [] } = status;
  const { archiving = null, notArchived = [], missing = [], postponed = [] } = status;
  const steps = stepsOf(records);
  const events = records.filter((record) => record.type === 'event');
  return {
    version: 1,
    runId,
    agentName,
    currentAgent: status.currentAgent ?? null,
    about: status.about,
    status: status.status,
    stopReason: null,
    finishReason: null,
    steps,
    stepsUsed: status.currentStep,
    usage,
    toolCallsTotal,
    ...defined({ toolCallsNotRun: status.toolCallsNotRun }),
    output: null,
    outputText: '',
    error: null,
    errorCode: null,
    cancelReason: null,
    startTime,
    endTime: null,
    durationSeconds: null,
    limits: limits ?? null,
    queued,
    lastError: lastError ?? null,
    missing,
    archiving,
    notArchived,
    postponed,
    running,
    pending: [],
    remembered: [],
    decisions: events.flatMap(({ decision }) => (decision === undefined ? [] : [decision])),
    refused: events.flatMap(({ refused }) => (refused === undefined ? [] : [refused])),
    raised: events.flatMap(({ raised }) => (raised === undefined ? [] : [raised])),
    records,
    session: status.session ?? null,
    units: null,
  };
}

function stepsOf(records: readonly RunRecord[]): StepResult[] {
  return records.flatMap((record) => {
    if (record.type !== 'step') return [];
    const { type: _type, index: _index, ...step } = record;
    return [step];
  });
}

/** The part of a run handle that its records are read through. */
export type ReadableRun = Pick<RunHandle<unknown>, 'steps' | 'export'> & { events: () => AsyncGenerator<Event> };

/**
 * Returns the events and steps of a run, in order. A live run is queried. For a run that has ended, or whose
 * beginning the server has removed, its history is read, as far as it is left.
 */
export async function runRecords(run: ReadableRun, { live }: { live: boolean }): Promise<RunRecord[]> {
  if (!live) return await readExport(run);
  try {
    const events: Event[] = [];
    for await (const event of run.events()) events.push(event);
    // Read after the events, so that every step that they complete is included.
    const steps = await run.steps();
    return [...recordsInOrder({ firstOffset: 0, events, firstStep: 0, steps })];
  } catch (error) {
    if (errorCode(error) !== 'history_removed') throw error;
    return await readExport(run);
  }
}

async function readExport(run: ReadableRun): Promise<RunRecord[]> {
  const records: RunRecord[] = [];
  for await (const line of run.export()) if (line.type === 'event' || line.type === 'step') records.push(line);
  return records;
}

/** Returns the units of a program that have begun, in the form of its result, from the events of its run. Outputs are not among them. */
export function unitsSoFar(records: readonly RunRecord[]): UnitResult[] {
  return programTimelineOf(records).flatMap((item) =>
    item.type === 'unit' ? [{ name: item.name, ...endFields(item.end), steps: item.steps.map(stepResult) }] : [],
  );
}

function stepResult({ name, kind, attempts, parts, end }: StepItem): ProgramStepResult {
  const last = parts.findLast((part) => part.type === 'content' && part.note.type === 'attempt' && part.note.verdict !== undefined);
  const violations = last?.type === 'content' ? attemptProblems(last.note) : [];
  return {
    name,
    // The interpreter has recorded it.
    kind: kind as StepKind,
    ...endFields(end),
    attempts,
    ...(violations.length === 0 ? {} : { violations }),
  };
}

function endFields(end: EndOf | undefined): Pick<ProgramStepResult, 'status' | 'error' | 'reason' | 'durationMs'> {
  if (end === undefined) return { status: 'running' };
  const { status = 'completed', error, reason, seconds } = end;
  return {
    status,
    ...defined({ error, reason }),
    durationMs: Math.round(seconds * 1000),
  };
}

/** The times of a run, and the kind of run. */
interface RunTimes {
  start: Date;
  close: Date | undefined;
  isProgram: boolean;
}

/**
 * Returns the start of a run's workflow and, if it has closed, its end. Throws `run_not_found`, and `not_a_run` for a
 * workflow of the user's own.
 */
export async function runTimes({ temporal }: LonghaulClient, runId: string): Promise<RunTimes> {
  return failIfUnreachable(temporal, async () => {
    const { startTime, closeTime, type } = await describeRun(temporal, checkRunId(runId));
    requireRun(temporal, runId, type);
    return { start: startTime, close: closeTime, isProgram: type === PROGRAM_RUN };
  });
}
