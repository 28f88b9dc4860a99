import type { LonghaulClient } from '../../client/longhaul-client.ts';
import type { RunHandle } from '../../client/run-handle.ts';
import { workerWaitText } from '../../client/worker-waits.ts';
import { requireRun } from '../../client/visibility.ts';
import type { ApprovalView, Decision, RefusedRequest, RememberedDecision } from '../../core/domain/approvals.ts';
import { errorCode, errorMessage } from '../../core/domain/errors.ts';
import type { HookRecord } from '../../core/domain/hooks.ts';
import { defined, type JsonValue } from '../../core/domain/json.ts';
import type { LimitRaise, RunLimits } from '../../core/domain/limits.ts';
import { type Missing, missingText } from '../../core/domain/missing-definitions.ts';
import { DEFAULT_MODEL_CALLS, type StepKind } from '../../core/domain/program-document.ts';
import type { ProgramStepResult, UnitResult } from '../../core/domain/program-run.ts';
import { type Event, recordsInOrder, type RunRecord } from '../../core/domain/record.ts';
import { ProgramResult, type RunResult } from '../../core/domain/result.ts';
import {
  type Archiving,
  eventsText,
  type Identity,
  identityText,
  isTerminal,
  type NotArchived,
  type RunStatus,
  type RunSubject,
  type StopReason,
} from '../../core/domain/run.ts';
import { sessionTotals, type SessionView } from '../../core/domain/sessions.ts';
import type { WaitForWorker } from '../../core/domain/views.ts';
import { counted, printable, printableLine } from '../../core/domain/text.ts';
import { callsText, isCutOff, notRunTexts, type StepResult } from '../../core/domain/tool-calls.ts';
import { type AggregatedUsage, cachedText, costText, dollarsSpent } from '../../core/domain/usage.ts';
import { type PostponedCall, PROGRAM_RUN, type RunningCall, type StatusView, type UnreadMessage } from '../../core/protocol.ts';
import { checkRunId, describeRun } from '../../temporal/run-workflow.ts';
import { failIfUnreachable } from '../../temporal/server-calls.ts';
import { type Fact, factLines, type Look, type Output, pointInTime, visibleText } from '../output.ts';
import { attemptProblems } from './event-lines.ts';
import { type EndOf, programTimelineOf, type StepItem } from './timeline-lines.ts';

/** The fields of a run's status that are shown unchanged, live or ended. */
type StatusField = 'version' | 'runId' | 'agentName' | 'about' | 'status' | 'usage' | 'toolCallsTotal' | 'toolCallsNotRun' | 'queued';

/** A run as `longhaul show` prints it, live or ended: a RunResult with its steps, in which unknown fields are null. */
export interface RunView extends Pick<StatusView, StatusField> {
  /** The current or last agent, if the run was handed over; otherwise null. */
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
  /** The answers of the hooks at the start and the end of the run. Absent if there are none. */
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
  /** Why no worker takes the run's tasks; null if one does. */
  waitsForWorker: WaitForWorker | null;
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
  /** The messages that no model has read. */
  unread: readonly UnreadMessage[];
  /** Events and steps, in order. */
  records: RunRecord[];
  /** The turns and the limits of a session; null for other runs. */
  session: SessionView | null;
  /** The units of a program; while it is running, the units that have begun. Null for an agent. */
  units: readonly UnitResult[] | null;
}

/** Reads a run. Throws `run_not_found`. */
export async function runView(client: LonghaulClient, runId: string): Promise<RunView> {
  const handle = client.handle<JsonValue>(runId);
  const { start, close, isProgram } = await runTimes(client, runId);
  const view = await withUnread(handle, await readView(handle, { start, close }));
  return isProgram ? { ...view, units: view.units ?? unitsSoFar(view.records) } : view;
}

/** Adds the messages that no model has read, of which the status has only the number. */
async function withUnread(handle: RunHandle<JsonValue>, view: RunView): Promise<RunView> {
  if (view.queued === 0) return view;
  const { unread = [] } = await handle.context({ from: Number.MAX_SAFE_INTEGER });
  return { ...view, unread };
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
  const { archiving = null, notArchived = [], missing = [], postponed = [], waitsForWorker = null } = status;
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
    waitsForWorker,
    archiving,
    notArchived,
    postponed,
    running,
    pending: [],
    remembered: [],
    decisions: events.flatMap(({ decision }) => (decision === undefined ? [] : [decision])),
    refused: events.flatMap(({ refused }) => (refused === undefined ? [] : [refused])),
    unread: [],
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

/** The part of a run handle that reads its records. */
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

/** Returns the begun units of a program from the events of its run, in the form of its result but without outputs. */
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
 * workflow of the user.
 */
export async function runTimes({ temporal }: LonghaulClient, runId: string): Promise<RunTimes> {
  return failIfUnreachable(temporal, async () => {
    const { startTime, closeTime, type } = await describeRun(temporal, checkRunId(runId));
    requireRun(temporal, runId, type);
    return { start: startTime, close: closeTime, isProgram: type === PROGRAM_RUN };
  });
}

/** Returns the facts of a run, one per line: its status, its usage and limits, and times. */
export function runFacts(run: RunView, link: string | undefined, output: Pick<Output, 'look'>): string[] {
  const status = output.look(LOOKS[run.status], run.status);
  const more = run.stopReason === null || ['final_answer', run.status].includes(run.stopReason) ? '' : ` (${run.stopReason})`;
  const { session, startTime, limits, about } = run;
  const { tags = [], ...principal } = about;
  return factLines(
    [
      ['Run', printable(run.runId)],
      [run.units === null ? 'Agent' : 'Program', agentText(run)],
      // The timeline has the input, and a session has its title.
      ['For', principalText(principal)],
      ['Tags', tags.length === 0 ? undefined : printableLine(tags.join(', '))],
      ['Status', `${status}${more}`],
      ['Finish', run.finishReason !== null && isCutOff(run.finishReason) ? printable(run.finishReason) : undefined],
      ...(session === null ? ownFacts(run) : [...sessionFacts(session, startTime), ...turnFacts(run, session)]),
      ['Started', startTime ?? '?'],
      ['Duration', run.durationSeconds === null ? 'still running' : `${run.durationSeconds.toFixed(2)}s`],
      ['Deadline', session === null ? deadlineText(startTime, limits?.deadlineMs) : undefined],
      ['Queued', run.queued === 0 ? undefined : counted(run.queued, 'message')],
      ...run.postponed.map(({ toolName, until, reason }): Fact => ['Waits', printableLine(`${toolName} until ${until}: ${reason}`)]),
      ['Waits', run.waitsForWorker === null ? undefined : printableLine(workerWaitText(run.waitsForWorker))],
      ...run.missing.map((one): Fact => ['Waits', printableLine(missingText(one))]),
      ['Archive', run.archiving === null ? undefined : `takes ${eventsText(run.archiving)} since ${run.archiving.since}`],
      ...run.notArchived.map((range): Fact => ['Archive', printable(`lacks ${eventsText(range)}: ${range.message}`)]),
      ['UI', link],
    ],
    output,
  );
}

/** Returns the run's first agent, and the current one if it was handed over. */
function agentText({ agentName, currentAgent }: RunView): string {
  return [agentName, ...(currentAgent === null || currentAgent === agentName ? [] : [currentAgent])].map(printable).join(' → ') || '?';
}

/** Returns a run's usage against its limits. */
function ownFacts(run: RunView): Fact[] {
  const { usage, limits } = run;
  return [
    ...progressFacts(run),
    ['Tokens', tokensText(usage, limits ?? {})],
    ['Cost', costText(dollarsSpent(usage), limits ?? {}) ?? unpricedText(run)],
  ];
}

/** Says that the cost of a run is unknown because its worker has no price, if it has called a model. */
function unpricedText({ usage, records }: RunView): string | undefined {
  if (usage.llmCalls === 0) return undefined;
  const models = new Set(
    records.flatMap((record) => (record.type === 'event' && record.answeredBy !== undefined ? [record.answeredBy] : [])),
  );
  const named = [...models].map((model) => `"${printableLine(model)}"`).join(', ');
  return `unknown: no price for ${named === '' ? 'its model' : `model ${named}`}`;
}

/** Returns the usage of a session's newest turn against its agent's limits. */
function turnFacts(run: RunView, { turns, turn }: SessionView): Fact[] {
  // The result of a closed session has the amounts of all its turns.
  if (turns === 0 || isTerminal(run.status)) return [];
  const steps = stepsOfNewestTurn(run.records, { goesOn: turn !== undefined });
  const { usage, limits } = run;
  return [
    [`Turn ${turns}`, `${steps}${atMost(stepLimit(limits))} steps, with ${callFacts(run)}`],
    ['', tokensText(usage, limits ?? {})],
  ];
}

/** Returns the limit of steps. Undefined for a run whose agent was never resolved: it has no limits, or 0 steps in their place. */
function stepLimit(limits: RunView['limits']): number | undefined {
  return limits === null || limits.steps === 0 ? undefined : limits.steps;
}

/** Returns the run's usage against its limits. */
function progressFacts(run: RunView): Fact[] {
  const { units, stepsUsed, limits, usage } = run;
  const most = stepLimit(limits);
  if (units === null) return [['Steps', `${stepsUsed}${atMost(most)}, with ${callFacts(run)}`]];
  // The default was not chosen by the author, and a run rarely comes near it.
  const limit = most === DEFAULT_MODEL_CALLS ? undefined : most;
  return [
    ['Units', unitsText(units, { isOver: isTerminal(run.status) })],
    ['Calls', `${counted(limit === undefined ? usage.llmCalls : stepsUsed, 'model call')}${atMost(limit)}, ${callFacts(run)}`],
  ];
}

/** Returns the number of units by their status: `2 completed, 1 running`. */
function unitsText(units: readonly Pick<UnitResult, 'status'>[], run: { isOver: boolean }): string {
  const counts = new Map<string, number>();
  for (const unit of units) counts.set(unitStatus(unit, run), (counts.get(unitStatus(unit, run)) ?? 0) + 1);
  return [...counts].map(([status, count]) => `${count} ${status}`).join(', ') || 'none has begun';
}

/** Returns the status of a unit in words. A unit that was running when the run ended is not finished. */
export function unitStatus({ status }: Pick<UnitResult, 'status'>, { isOver }: { isOver: boolean }): string {
  return isOver && status === 'running' ? 'not finished' : status.replace('_', ' ');
}

const LOOKS: Record<RunStatus, Look> = {
  completed: 'green',
  running: 'cyan',
  idle: 'cyan',
  pending_confirmation: 'yellow',
  paused: 'yellow',
  max_iterations_reached: 'yellow',
  limit_reached: 'yellow',
  cancelled: 'yellow',
  error: 'red',
};

type Limits = Partial<RunLimits>;

function callFacts({ toolCallsTotal, toolCallsNotRun, limits }: RunView): string {
  const ofTools = Object.entries(limits?.toolCallsByName ?? {}).map(([name, limit]) => `${printable(name)} at most ${limit}`);
  const notRun = notRunTexts(toolCallsNotRun, { times: ' ×', name: printable });
  const ran = `${counted(toolCallsTotal, 'tool call')}${atMost(limits?.toolCalls)}${ofTools.length === 0 ? '' : ` (${ofTools.join(', ')})`}`;
  return [ran, ...notRun].join(', ');
}

/** Returns the tokens used. Limits count estimated tokens like reported ones. */
function tokensText(usage: AggregatedUsage, limits: Limits): string {
  const { promptTokens, completionTokens, totalTokens, llmCalls, estimated } = usage;
  const cached = cachedText(usage);
  const read = `prompt ${promptTokens + (estimated?.promptTokens ?? 0)}${atMost(limits.inputTokens)}`;
  const prompt = cached === undefined ? read : `${read}, ${cached}`;
  const completion = `completion ${completionTokens + (estimated?.completionTokens ?? 0)}${atMost(limits.outputTokens)}`;
  const guessed = estimated === undefined ? '' : `; ${estimated.totalTokens} of them estimated`;
  const total = `${totalTokens + (estimated?.totalTokens ?? 0)}${atMost(limits.totalTokens)}`;
  return `${total} (${prompt}, ${completion}${guessed}) in ${counted(llmCalls, 'model call')}`;
}

function deadlineText(startTime: string | null, deadlineMs: number | null | undefined): string | undefined {
  return startTime === null || deadlineMs == null ? undefined : pointInTime(Date.parse(startTime) + deadlineMs);
}

function atMost(limit: number | undefined): string {
  return limit === undefined ? '' : ` of at most ${limit}`;
}

/** Returns the facts of a session, as names and values: its title, its turns, and the amounts of all turns against its limits. */
export function sessionFacts(session: SessionView, startTime: string | null): Fact[] {
  const { title, limits, limitReached } = session;
  return [
    ['Title', title === undefined ? undefined : printableLine(title)],
    ['Turns', turnsText(session)],
    ['Used', usedText(session)],
    ['Deadline', deadlineText(startTime, limits.deadlineMs)],
    ['Limit', limitReached === undefined ? undefined : `${limitReached.message}: messages are refused until the limit is raised`],
  ];
}

function turnsText({ turns, turn, limits, idleSince }: SessionView): string {
  const goesOn = turn === undefined ? '' : `, turn ${turn} is running`;
  const idle = turn === undefined && idleSince !== undefined ? `, the last one ended at ${pointInTime(idleSince)}` : '';
  return `${turns}${ofAtMost(limits.turns)}${goesOn}${idle}`;
}

/** Returns the amounts of all turns including descendants, which is what limits count. */
function usedText({ spent, limits }: SessionView): string {
  const { tokens, cost } = sessionTotals(spent);
  const costOfTurns = costText(cost === 0 ? undefined : cost, limits);
  return [
    `${tokens}${ofAtMost(limits.totalTokens)} tokens`,
    ...(costOfTurns === undefined ? [] : [costOfTurns]),
    counted(spent.stepsUsed, 'step'),
    counted(spent.toolCallsTotal, 'tool call'),
    ...notRunTexts(spent.toolCallsNotRun, { times: ' ×', name: printable }),
  ].join(', ');
}

function ofAtMost(limit: number | null): string {
  return limit === null ? '' : ` of at most ${limit}`;
}

/** Returns the number of steps of the newest turn of a session, which `goesOn` or has ended, from its records. */
export function stepsOfNewestTurn(records: readonly RunRecord[], { goesOn }: { goesOn: boolean }): number {
  let sinceTurn = 0;
  let ofTurn = 0;
  for (const record of records) {
    if (record.type === 'step') sinceTurn += 1;
    else if (record.turn !== undefined) [ofTurn, sinceTurn] = [sinceTurn, 0];
  }
  return goesOn ? sinceTurn : ofTurn;
}

/** Returns a run's principal as one line; undefined if it has none. */
export function principalText(identity: Identity): string | undefined {
  const text = identityText(identity);
  return text === undefined ? undefined : visibleLine(text);
}

/** Returns the principal and subject of a run, as names and values. Each value is one line. */
export function subjectFacts({ agentName, title, question, tags = [], ...principal }: RunSubject): Fact[] {
  return [
    ['agent', visibleLine(agentName)],
    ['for', principalText(principal)],
    ['tags', tags.length === 0 ? undefined : visibleLine(tags.join(', '))],
    ['title', title === undefined ? undefined : visibleLine(title)],
    ['asked', question === undefined ? undefined : visibleLine(question)],
  ];
}

/** Returns a text on one line, showing everything that a terminal would hide or reorder. */
function visibleLine(text: string): string {
  return printableLine(visibleText(text));
}

/**
 * Returns a result as one line: `[completed] clerk | 2/10 steps | 1 tool call (look_up_order ×1), 1 refused (refund) | 30 tokens |
 * 2.50s`.
 */
export function resultLine(result: RunResult<unknown>): string {
  const { status, agentName, turns, stepsUsed, limits, usage, durationSeconds, finishReason, mediaTypes } = result;
  const { totalTokens: estimated } = usage.estimated ?? {};
  return [
    `[${status}] ${agentName}`,
    ...(result instanceof ProgramResult
      ? [`units: ${unitsText(result.units, { isOver: true })}`, counted(usage.llmCalls, 'model call')]
      : [turns === undefined ? `${stepsUsed}/${limits.steps} steps` : `${counted(turns, 'turn')} | ${counted(stepsUsed, 'step')}`]),
    callsText(result, { times: ' ×', name: printable }),
    `${counted(usage.totalTokens + (estimated ?? 0), 'token')}${estimated === undefined ? '' : ` (${estimated} of them estimated)`}`,
    ...(durationSeconds === null ? [] : [`${durationSeconds.toFixed(2)}s`]),
    ...(finishReason !== undefined && isCutOff(finishReason) ? [`finish: ${printable(finishReason)}`] : []),
    ...(result.hasMedia ? [`media: ${mediaTypes.join('+')}`] : []),
  ].join(' | ');
}
