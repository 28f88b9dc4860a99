import type { RunSegmentOutput } from '../../domain/activity-messages.ts';
import type { AgentSnapshot } from '../../domain/agent.ts';
import { jsonBytes } from '../../domain/byte-budgets.ts';
import { Finalizer, finalText, MultipleFinalAnswers } from '../../domain/code.ts';
import { isToolCall, type ToolCall } from '../../domain/content.ts';
import { canonicalJson, defined, type JsonValue } from '../../domain/json.ts';
import { type ErrorCode, errorMessage } from '../../domain/errors.ts';
import { cellCode, type CodeCallResult, type CodeJournal, type JournalCell, madeCallsNote, type Moment } from '../../domain/execution.ts';
import { boundedNotes, laterTexts, noteOnCode, withNotes } from '../../domain/notes.ts';
import { ANY_JSON, anyObject, object } from '../../domain/shape.ts';
import { cellOfCall, resultText, RUN_CODE, type ToolCallRecord } from '../../domain/tool-calls.ts';
import type { WindowEvent } from '../../domain/window.ts';
import type { Capability } from '../../kernel/capability.ts';
import type { CallsEnd, EndedCalls, NextStep, PhasePosition, ToolBatchContext, ToolsPosition } from '../../kernel/next-step.ts';
import { callResult, interruptedResult, noWorker, type RunPorts, type ToolOutcome, type ToolResultOutcome } from '../../kernel/ports.ts';
import { countToolCall, recordEvent, type RunState, slice, type WithSlices } from '../../kernel/run-state.ts';
import { stateProblem } from '../../domain/deps.ts';
import { setState } from '../../domain/record.ts';
import { continueBeforeTool } from '../../kernel/continue-as-new.ts';
import { findEvent, problemOf, recordResults, recordsOf, resultOf } from '../../kernel/tool-calls.ts';
import { points } from '../../kernel/points.ts';

// Capability: code that the model writes. Names and values that it defines persist between cells.

export interface CodePorts extends RunPorts {
  runSegment(call: SegmentCall): Promise<SegmentOutcome>;
}

export interface SegmentCall {
  step: number;
  /** The call of `run_code`, the offset and the id of its event, and its index in the content. */
  call: ToolCall;
  offset: number;
  index: number;
  eventId: string;
  code: string;
  moment: Moment;
  /** The number of cells in the journal before this one. */
  cell: number;
  /** The digest of the previous segment of any cell, or of the checkpoint. Absent: the namespace is empty. */
  after?: string;
  /** The cell's earlier segments, the calls that they made, and their duration in milliseconds. */
  segment: number;
  calls: number;
  spentMs: number;
  /** The segment must not be local. */
  remote?: true;
  /** A checkpoint is requested after the cell. */
  checkpoint?: true;
  /** The results of the previous segment's calls. */
  results?: CodeCallResult[];
}

export type SegmentOutcome =
  | Exclude<RunSegmentOutput, { type: 'cold' | 'calls' }>
  /** `id`: the id of the event of the calls. */
  | (Omit<Extract<RunSegmentOutput, { type: 'calls' }>, 'calls'> & { id: string; calls: ToolCall[] })
  /** The segment did not run, or its answer was lost. */
  | { type: 'failed'; message: string; noWorker?: { code: ErrorCode; message: string } }
  | { type: 'cancelled' };

/** The code that a run has executed. */
interface CodeState {
  journal: CodeJournal;
  /** Bytes of JSON of the journal. Counted as it grows, because computing them each time would take longer with each cell. */
  journalBytes: number;
  /** The local segments since the last remote activity, and the bytes that they and their calls produced. */
  localWork?: { bytes: number; segments: number };
  /** The event of the calls that the cell in progress waits for. */
  calls?: WindowEvent;
  /** The calls made by code in this step. */
  records: ToolCallRecord[];
  /** The notes about the calls of the cell in progress. Absent: none. */
  notes?: string[];
}

/** Absent before the first cell. */
const executed = slice<CodeState>('code', anyObject<CodeState>(), { bytes: continuedCodeBytes });

/** The final answer of a cell, in the cell's outcome. */
const finalAnswer = slice<{ value: JsonValue }>('finalAnswer', object({ value: ANY_JSON }));

/** The maximum bytes of JSON of the journal that is carried over. */
const CARRIED_JOURNAL_BYTES = 300_000;

/** Bytes of a segment's JSON without its digest and its results. */
const SEGMENT_BYTES = 30;

/** Returns the code of the run, initialized at its first cell. */
function codeOf(state: RunState): CodeState {
  const known = executed.of(state);
  if (known !== undefined) return known;
  const begun: CodeState = { ...emptyJournal(), records: [] };
  executed.set(state, begun);
  return begun;
}

/** Returns the journal of the cells that made the namespace, or undefined before the first cell. */
export function journalOf(run: WithSlices): CodeJournal | undefined {
  return executed.of(run)?.journal;
}

/** Returns a call that the current cell waits for. */
export function callOfCode(run: WithSlices, callId: string): ToolCall | undefined {
  return executed
    .of(run)
    ?.calls?.content.filter(isToolCall)
    .find(({ toolCallId }) => toolCallId === callId);
}

/** Begins a cell, as the last one of the journal. */
function beginCell(state: RunState, cell: JournalCell): void {
  const code = codeOf(state);
  code.journal.cells.push(cell);
  code.journalBytes += jsonBytes(cell);
}

/** Returns the current cell, which is the last one of the journal. */
function currentCell(state: RunState): JournalCell {
  const cell = codeOf(state).journal.cells.at(-1);
  if (cell === undefined) throw new TypeError('The journal of the run has no cell');
  return cell;
}

function addSegment(state: RunState, digest: string, tools?: string[]): void {
  currentCell(state).segments.push({ digest, ...defined({ tools }) });
  codeOf(state).journalBytes += digest.length + SEGMENT_BYTES + (tools === undefined ? 0 : jsonBytes({ tools }));
}

/** Returns the digest of the journal's last segment, or of its checkpoint if there is no later segment. */
export function lastDigest({ cells, checkpoint }: CodeJournal): string | undefined {
  const last = cells.findLast(({ segments }) => segments.length > 0);
  return last?.segments.at(-1)?.digest ?? checkpoint?.sha256;
}

/** Adds the results of its calls to the segment that ended last. */
function addResults(state: RunState, results: CodeCallResult[]): void {
  const segment = currentCell(state).segments.at(-1);
  if (segment === undefined) throw new TypeError('The cell has no segment');
  segment.results = results;
  codeOf(state).journalBytes += jsonBytes(results);
}

/** Removes the current cell from the journal: its values are not part of the namespace. */
function dropCell(state: RunState): void {
  const code = codeOf(state);
  code.journal = { ...code.journal, cells: code.journal.cells.slice(0, -1) };
  code.journalBytes = jsonBytes(code.journal);
}

/** Begins a new journal, either after a checkpoint or without the names and values so far. */
function beginJournal(state: RunState, journal: Omit<CodeJournal, 'cells'> = {}): void {
  Object.assign(codeOf(state), { journal: { ...journal, cells: [] }, journalBytes: jsonBytes(journal) });
}

function callsOf({ segments }: JournalCell): number {
  return segments.reduce((calls, { results = [] }) => calls + results.length, 0);
}

/** Returns the bytes of JSON of the run's code in the carried state. */
function continuedCodeBytes({ journalBytes, records, calls, notes }: CodeState): number {
  return journalBytes + jsonBytes(records) + (calls === undefined ? 0 : jsonBytes(calls)) + (notes === undefined ? 0 : jsonBytes(notes));
}

/** Forgets the cells between two steps if they are too large to be carried. The next cell's result tells the model. */
function forgetLargeJournal(state: RunState): void {
  if (!isCarriable(state)) beginJournal(state, { isLost: 'too_large' });
}

/** False if the journal is too large to be carried. It is forgotten only between two steps, never in the middle of a cell. */
function isCarriable(state: RunState): boolean {
  return (executed.of(state)?.journalBytes ?? 0) <= CARRIED_JOURNAL_BYTES;
}

/** Forgets the cells if the agent now runs code in a different way, or not at all. The next cell's result tells the model. */
function forgetCellsOfOtherCode(state: RunState, { code: before }: AgentSnapshot): void {
  const { snapshot } = state;
  const code = executed.of(state);
  if (code === undefined || canonicalJson(toJson(before)) === canonicalJson(toJson(snapshot.code))) return;
  const { cells, checkpoint, isLost } = code.journal;
  if (snapshot.code === undefined) executed.clear(state);
  else if (cells.length > 0 || checkpoint !== undefined || isLost !== undefined) beginJournal(state, { isLost: 'agent_changed' });
}

function toJson(code: AgentSnapshot['code']): JsonValue {
  return code === undefined ? null : (JSON.parse(JSON.stringify(code)) as JsonValue);
}

function emptyJournal(): Pick<CodeState, 'journal' | 'journalBytes'> {
  return { journal: { cells: [] }, journalBytes: 0 };
}

// Tool phase: segments and calls inside one workflow task.

/**
 * Bytes that consecutive local segments, and the local calls of their code, may produce. The output of one workflow task is one message of
 * at most 4 MB; the server refuses a larger one, and the task is retried forever.
 */
const MAX_LOCAL_BYTES = 1_000_000;

/** The maximum number of consecutive local segments. The size of the history is known only after a workflow task. */
const MAX_LOCAL_SEGMENTS = 50;

/** True if the next segment must not be local: it ends the workflow task. */
function endsTask(state: RunState): boolean {
  const { bytes, segments } = executed.of(state)?.localWork ?? { bytes: 0, segments: 0 };
  return bytes > MAX_LOCAL_BYTES || segments >= MAX_LOCAL_SEGMENTS;
}

/** Counts a segment that has ended. A remote segment begins a new workflow task. */
function countSegment(state: RunState, isLocal: boolean, outcome: object): void {
  const code = codeOf(state);
  const { bytes, segments } = code.localWork ?? { bytes: 0, segments: 0 };
  if (isLocal) code.localWork = { bytes: bytes + jsonBytes(outcome), segments: segments + 1 };
  else delete code.localWork;
}

/** Counts the outcomes of calls made by code. A remote call begins a new workflow task. */
function countCalls(state: RunState, areLocal: boolean, outcomes: readonly unknown[]): void {
  const code = codeOf(state);
  const { bytes, segments } = code.localWork ?? { bytes: 0, segments: 0 };
  if (areLocal) code.localWork = { bytes: bytes + jsonBytes(outcomes), segments };
  else delete code.localWork;
}

// Tool phase: the final answer of a cell.

type Outcomes = readonly (ToolOutcome | null)[];

/**
 * Returns the output of a run that answers with code, if a cell has given a final answer: the value itself if the agent has an output
 * schema, otherwise its text, cut to the output limit. In other runs, a final answer is a result that the model reads.
 */
function finalAnswerOfCode({ state: { snapshot }, outcomes }: EndedCalls): CallsEnd | undefined {
  if (snapshot.replyFormat !== 'code' || snapshot.code === undefined) return undefined;
  const found = givenAnswer(outcomes);
  if (found === undefined) return undefined;
  if (snapshot.output !== undefined) return { output: found.value };
  return { output: finalText(found.value, snapshot.code.executor) };
}

/** Returns the outcome of a cell. It is an error if the cell gave a final answer after another cell of the response had given one. */
function withOneFinalAnswer({ snapshot }: RunState, ports: RunPorts, outcomes: Outcomes, outcome: ToolOutcome): ToolOutcome {
  if (snapshot.replyFormat !== 'code' || outcome.type !== 'result') return outcome;
  const given = finalAnswer.of(outcome);
  if (given === undefined) return outcome;
  const first = givenAnswer(outcomes);
  const finalizer = new Finalizer();
  try {
    if (first !== undefined) finalizer.set(first.value, { now: ports.now() });
    finalizer.set(given.value, { now: ports.now() });
    return outcome;
  } catch (error) {
    if (!(error instanceof MultipleFinalAnswers)) throw error;
    const { resultId: _, slices: __, ...others } = outcome;
    return { ...others, status: 'error', content: [errorMessage(error), { first: error.first, attempted: error.attempted }] };
  }
}

function givenAnswer(outcomes: Outcomes): { value: JsonValue } | undefined {
  return outcomes.flatMap((outcome) => (outcome?.type === 'result' ? (finalAnswer.of(outcome) ?? []) : []))[0];
}

/** Forgets the namespace: names and values belong to the agent that ran the code, and to the conversation that shows it. */
function forgetCode(state: RunState): void {
  executed.clear(state);
}

/** Returns the records of the calls that code made in the ending step, and forgets them. */
function takeRecords(state: RunState): readonly ToolCallRecord[] {
  const code = executed.of(state);
  if (code === undefined) return [];
  const { records } = code;
  code.records = [];
  // The next activity is a model call, which is remote.
  delete code.localWork;
  return records;
}

/** The stored state of code, and when it is forgotten. The phase of its cells is in `code`. */
const namespace: Omit<Capability, 'name'> = {
  slices: [executed, finalAnswer],
  eventBeside(run, id) {
    const calls = executed.of(run)?.calls;
    return calls?.id === id ? calls : undefined;
  },
  recordsBeside: takeRecords,
  callsEnded: finalAnswerOfCode,
  beforeContinuing: forgetLargeJournal,
  mayContinue: isCarriable,
  agentRefreshed: forgetCellsOfOtherCode,
  agentSwitched: forgetCode,
  conversationCleared: forgetCode,
};

// Tool phase: one segment of a cell.

/**
 * Runs the next segment of a cell. The calls that its code makes are recorded and passed to the tool phase, which returns with their
 * results. If the history is full, the run continues with this segment in the next execution.
 */
async function runCellPhase(state: RunState, ports: CodePorts, position: PhasePosition): Promise<NextStep> {
  const { tools, index } = position;
  // A cell that has begun in the previous execution is dropped: a session runs further cells, and its next turn must not build on half of it.
  if (ports.cancelRequested())
    return afterCell(
      state,
      position,
      position.spentMs === undefined ? interruptedResult() : endOfCell(state, position, { type: 'cancelled' }),
    );
  if (continueBeforeTool(state, ports, tools)) return { type: 'continue', position };
  if (position.spentMs === undefined) beginCell(state, cellAt(ports, tools, index));
  const call = segmentCall(state, position);
  const outcome = await ports.runSegment(call);
  countSegment(state, state.snapshot.code?.tier === 'local' && call.remote !== true, outcome);
  if (outcome.type !== 'calls')
    return afterCell(state, position, withOneFinalAnswer(state, ports, tools.outcomes, endOfCell(state, position, outcome)));
  addSegment(
    state,
    outcome.digest,
    outcome.calls.map(({ name }) => name),
  );
  const { type: _, digest: __, id, calls: content, durationMs, ...review } = outcome;
  const author = state.snapshot.name;
  codeOf(state).calls = { offset: state.window.through, id, author, content };
  recordEvent(state, ports, { id, author, content, caller: 'code', ...points.madeParts(state, { content, ...review }) });
  return {
    type: 'run_tools',
    response: {
      id,
      content,
      finishReason: 'tool_calls',
      usage: null,
      ...review,
    },
    final: false,
    outcomes: [],
    within: { ...position, spentMs: (position.spentMs ?? 0) + durationMs },
  };
}

/** Bytes of the journal's JSON above which a checkpoint is requested, so that it can be carried over. */
const CHECKPOINT_BYTES = 100_000;

/** Returns the next step after a cell with this outcome: the calls of its response continue. */
function afterCell(state: RunState, { tools, index }: PhasePosition, outcome: ToolOutcome): ToolsPosition {
  return { ...tools, outcomes: tools.outcomes.with(index, withNotesOfCalls(state, outcome)) };
}

/** Returns the outcome of a cell with the notes about its calls: the model wrote these calls, and reads only the result of the cell. */
function withNotesOfCalls(state: RunState, outcome: ToolOutcome): ToolOutcome {
  const code = executed.of(state);
  const { notes = [] } = code ?? {};
  delete code?.notes;
  return outcome.type === 'result' ? withNotes(outcome, ...notes) : outcome;
}

/** Keeps the notes about calls that the cell has made. */
function noteCalls(state: RunState, { calls }: Pick<ToolBatchContext, 'calls'>, outcomes: Outcomes): void {
  const notes = calls.flatMap((call, index) => {
    const outcome = outcomes[index];
    return outcome?.type === 'result' ? (outcome.notes ?? []).map((note) => noteOnCode(call, note)) : [];
  });
  if (notes.length === 0) return;
  const code = codeOf(state);
  code.notes = boundedNotes([...(code.notes ?? []), ...notes]);
}

function cellAt(ports: RunPorts, { response }: ToolsPosition, index: number): JournalCell {
  const call = response.content.filter(isToolCall)[index];
  const moment = { now: response.receivedAt ?? ports.now(), seed: seedOf(`${response.id}/${index}`) };
  return { code: call === undefined ? '' : (cellCode(response.content, call) ?? ''), moment, segments: [] };
}

function segmentCall(state: RunState, { tools: { response }, index, spentMs = 0 }: PhasePosition): SegmentCall {
  const call = response.content.filter(isToolCall)[index];
  if (call === undefined) throw new TypeError(`Response "${response.id}" has no call ${index}`);
  const { code, moment, segments } = currentCell(state);
  const results = segments.at(-1)?.results;
  const after = lastDigest(codeOf(state).journal);
  return {
    step: state.context.currentStep + 1,
    call,
    offset: findEvent(state, response.id)?.offset ?? state.window.through - 1,
    index: response.content.indexOf(call),
    eventId: response.id,
    code,
    moment,
    cell: codeOf(state).journal.cells.length - 1,
    segment: segments.length,
    ...defined({ after }),
    calls: callsOf(currentCell(state)),
    spentMs,
    ...(codeOf(state).journalBytes > CHECKPOINT_BYTES ? { checkpoint: true as const } : {}),
    ...(endsTask(state) ? { remote: true as const } : {}),
    ...defined({ results }),
  };
}

/** Applies the end of a cell to the namespace and the state of the run, and returns the result for the model. */
function endOfCell(state: RunState, cell: PhasePosition, outcome: Exclude<SegmentOutcome, { type: 'calls' }>): ToolOutcome {
  const code = codeOf(state);
  delete code.calls;
  if (outcome.type !== 'ended') {
    dropCell(state);
    if (outcome.type === 'cancelled') return { type: 'cancelled' };
    const { message, noWorker: missing } = outcome;
    return withMadeCalls(state, cell, {
      ...callResult('error', `The code could not be run: ${message}`),
      durationMs: null,
      ...defined({ noWorker: missing }),
    });
  }
  if (outcome.digest === undefined) dropCell(state);
  else addSegment(state, outcome.digest);
  if (outcome.isLost) beginJournal(state);
  if (outcome.checkpoint !== undefined) beginJournal(state, { checkpoint: outcome.checkpoint });
  const result = toResult(state, outcome);
  // The worker has named the calls of a cell whose names are lost.
  return outcome.digest === undefined && !outcome.isLost ? withMadeCalls(state, cell, result) : result;
}

/**
 * Returns the result of a cell that did not reach its end, with the calls that it has made: they have taken effect, and the model, which
 * reads nothing else of them, may run the code again.
 */
function withMadeCalls(state: RunState, { tools: { response }, index }: PhasePosition, result: ToolResultOutcome): ToolResultOutcome {
  const cell = response.content.filter(isToolCall)[index]?.toolCallId;
  const made = codeOf(state).records.filter(({ callId, notRun }) => cellOfCall(callId) === cell && notRun === undefined);
  const note = madeCallsNote(made.map(({ toolName }) => toolName));
  if (note === undefined) return result;
  // The result in the worker's cache lacks the note.
  const { resultId: _, ...told } = result;
  return { ...told, content: [`${resultText(result.content)}\n\n${note}`] };
}

/** The note on the first result after cells whose names and values were lost, by reason. */
const LOST = {
  too_large: 'The names and values of earlier cells are lost, because together they were too large to be kept. Define them again.',
  agent_changed: 'The names and values of earlier cells are lost, because the way in which code runs has changed. Define them again.',
} as const;

function toResult(
  state: RunState,
  { id, content, isError, final, state: changes, durationMs }: SegmentOutcome & { type: 'ended' },
): ToolResultOutcome {
  const { journal } = codeOf(state);
  const problem = changes && stateProblem(state.context.state, changes);
  if (problem !== undefined) {
    const refused = callResult('error', ...content, problem);
    return { ...withNotes(refused, ...laterTexts(refused.content)), durationMs };
  }
  for (const [key, value] of Object.entries(changes ?? {})) setState(state.context, key, value);
  const { isLost } = journal;
  delete journal.isLost;
  const result: ToolResultOutcome = {
    type: 'result',
    status: isError ? 'error' : 'success',
    content,
    durationMs,
    resultId: id,
    applied: true,
  };
  return finalAnswer.addTo(isLost === undefined ? result : withNotes(result, LOST[isLost]), final);
}

// Tool phase: calls made by code.

/** Returns the result of a cell that must not continue. */
function endedEarly(why: string): ToolResultOutcome {
  return { ...callResult('error', `The code was ended before its end, because ${why}.`), durationMs: null };
}

/** Records the results of calls made by code and continues with the cell, or ends the cell if the run must not continue with it. */
function afterCallsOfCode(acting: ToolBatchContext, ports: RunPorts, cell: PhasePosition, outcomes: (ToolOutcome | null)[]): NextStep {
  const { state, calls } = acting;
  recordResults(acting, ports, outcomes);
  const code = codeOf(state);
  for (const record of recordsOf(acting, outcomes)) {
    countToolCall(state, record);
    code.records.push({ ...record, caller: 'code' });
  }
  const isLocal = (name: string): boolean => state.snapshot.tools.some((tool) => tool.name === name && tool.tier === 'local');
  countCalls(
    state,
    calls.every(({ name }) => isLocal(name)),
    outcomes,
  );
  noteCalls(state, acting, outcomes);
  const { approvals } = state;
  approvals.approved = approvals.approved.filter(({ callId }) => !calls.some(({ toolCallId }) => toolCallId === callId));
  const ended = replacementOutcome(ports, outcomes);
  if (ended !== undefined) {
    dropCell(state);
    delete code.calls;
    return afterCell(state, cell, ended.type === 'result' ? withMadeCalls(state, cell, ended) : ended);
  }
  addResults(
    state,
    calls.map((call, index) => resultForCode(resultOf(call, outcomes[index] ?? interruptedResult()))),
  );
  return cell;
}

/** Returns the value or the error of a call for the code: the only item of its content, or the list if there are several. */
function resultForCode({ status, content }: Pick<ToolOutcome & { type: 'result' }, 'status' | 'content'>): CodeCallResult {
  if (status === 'error') return { error: resultText(content) };
  const [value = null, ...more] = content;
  return { value: more.length === 0 ? value : content };
}

/** Returns the outcome of a cell that must not continue: the run is cancelled or steered, or no worker could make a call. */
function replacementOutcome(ports: RunPorts, outcomes: readonly (ToolOutcome | null)[]): ToolOutcome | undefined {
  const missing = noWorker(outcomes);
  if (missing !== undefined) return { ...endedEarly('no worker could make a call'), noWorker: missing };
  if (ports.cancelRequested() || outcomes.some((outcome) => outcome?.type === 'cancelled')) return { type: 'cancelled' };
  return ports.inbox.isSteered ? endedEarly('a message to the run arrived') : undefined;
}

/** Returns the indexes of the cells that have no outcome yet. */
function pendingCells({ state, response, calls, final }: ToolBatchContext, outcomes: readonly (ToolOutcome | null)[]): number[] {
  if (state.snapshot.code === undefined || final) return [];
  return calls.flatMap((call, index) =>
    call.name === RUN_CODE && (outcomes[index] ?? null) === null && problemOf(response, call) === undefined ? [index] : [],
  );
}

// Tool phase: the randomness of a cell.

/** Hashes a text to an integer (FNV-1a, 32 bits). */
function seedOf(text: string): number {
  let hash = 0x81_1c_9d_c5;
  for (let index = 0; index < text.length; index += 1) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01_00_01_93);
  return hash >>> 0;
}

export const code: Capability<CodePorts> = {
  name: 'code',
  ...namespace,
  phases: { cell: { caller: 'code', pending: pendingCells, run: runCellPhase, callsEnded: afterCallsOfCode } },
};
