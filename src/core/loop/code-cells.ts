import type { AgentSnapshot } from '../domain/agent.ts';
import { jsonBytes } from '../domain/byte-budgets.ts';
import { Finalizer, finalText, MultipleFinalAnswers } from '../domain/code.ts';
import { defined } from '../domain/defined.ts';
import { errorMessage } from '../domain/errors.ts';
import type { CodeCallResult, CodeJournal, JournalCell } from '../domain/execution.ts';
import { canonicalJson, type JsonValue } from '../domain/json.ts';
import type { CallsEnd, EndedCalls } from './next-step.ts';
import type { RunPorts, ToolOutcome } from './ports.ts';
import type { CodeState, RunState } from './state/run-state.ts';

// Shared state: the cells of a run.

/** Bytes of JSON of the journal that is carried into the next execution. */
export const CARRIED_JOURNAL_BYTES = 300_000;

/** Bytes of a segment in JSON besides its digest and its results. */
const SEGMENT_BYTES = 30;

/** Returns the code of the run, which begins with its first cell. */
export function codeOf(state: RunState): CodeState {
  return (state.code ??= { ...emptyJournal(), records: [] });
}

/** Begins a cell, as the last one of the journal. */
export function beginCell(state: RunState, cell: JournalCell): void {
  const code = codeOf(state);
  code.journal.cells.push(cell);
  code.journalBytes += jsonBytes(cell);
}

/** Returns the cell in progress, which is the last one of the journal. */
export function currentCell(state: RunState): JournalCell {
  const cell = codeOf(state).journal.cells.at(-1);
  if (cell === undefined) throw new TypeError('The journal of the run has no cell');
  return cell;
}

/** Adds a segment to the cell in progress. */
export function addSegment(state: RunState, digest: string, tools?: string[]): void {
  currentCell(state).segments.push({ digest, ...defined({ tools }) });
  codeOf(state).journalBytes += digest.length + SEGMENT_BYTES + (tools === undefined ? 0 : jsonBytes({ tools }));
}

/** Returns the digest of the last segment in the journal; that of its checkpoint if there is none since. */
export function lastDigest({ cells, checkpoint }: CodeJournal): string | undefined {
  const last = cells.findLast(({ segments }) => segments.length > 0);
  return last?.segments.at(-1)?.digest ?? checkpoint?.sha256;
}

/** Adds the results of its calls to the segment that has ended last. */
export function addResults(state: RunState, results: CodeCallResult[]): void {
  const segment = currentCell(state).segments.at(-1);
  if (segment === undefined) throw new TypeError('The cell has no segment');
  segment.results = results;
  codeOf(state).journalBytes += jsonBytes(results);
}

/** Removes the cell in progress from the journal: its values are not part of the namespace. */
export function dropCell(state: RunState): void {
  const code = codeOf(state);
  code.journal = { ...code.journal, cells: code.journal.cells.slice(0, -1) };
  code.journalBytes = jsonBytes(code.journal);
}

/** Begins a new journal: after a checkpoint, or without the names and values so far. */
export function beginJournal(state: RunState, journal: Omit<CodeJournal, 'cells'> = {}): void {
  Object.assign(codeOf(state), { journal: { ...journal, cells: [] }, journalBytes: jsonBytes(journal) });
}

export function callsOf({ segments }: JournalCell): number {
  return segments.reduce((calls, { results = [] }) => calls + results.length, 0);
}

/** Returns the bytes of JSON that the code of a run takes in the carried state. */
export function continuedCodeBytes({ journalBytes, records, calls }: CodeState): number {
  return journalBytes + jsonBytes(records) + (calls === undefined ? 0 : jsonBytes(calls));
}

/** Forgets the cells between two steps if they are too large to be carried. The model is told with the result of the next cell. */
export function forgetLargeJournal(state: RunState): void {
  if (state.code !== undefined && state.code.journalBytes > CARRIED_JOURNAL_BYTES) beginJournal(state, { isLost: 'too_large' });
}

/** Forgets the cells of a run whose agent runs code in another way from now on, or none. The model is told with the result of the next cell. */
export function forgetCellsOfOtherCode(state: RunState, before: AgentSnapshot['code']): void {
  const { snapshot, code } = state;
  if (code === undefined || canonicalJson(toJson(before)) === canonicalJson(toJson(snapshot.code))) return;
  const { cells, checkpoint, isLost } = code.journal;
  if (snapshot.code === undefined) delete state.code;
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
 * Bytes that local segments, and the local calls of their code, may produce one after the other. All that one workflow task produces is
 * one message of at most 4 MB; the server refuses a larger one, and the task is retried forever.
 */
const MAX_LOCAL_BYTES = 1_000_000;

/** Local segments one after the other. The size of the history is known only after a workflow task. */
const MAX_LOCAL_SEGMENTS = 50;

/** True if the next segment must not be local: it ends the workflow task. */
export function endsTask({ code }: RunState): boolean {
  const { bytes, segments } = code?.localWork ?? { bytes: 0, segments: 0 };
  return bytes > MAX_LOCAL_BYTES || segments >= MAX_LOCAL_SEGMENTS;
}

/** Counts a segment that has ended. A remote one begins a new workflow task. */
export function countSegment(state: RunState, isLocal: boolean, outcome: object): void {
  const code = codeOf(state);
  const { bytes, segments } = code.localWork ?? { bytes: 0, segments: 0 };
  if (isLocal) code.localWork = { bytes: bytes + jsonBytes(outcome), segments: segments + 1 };
  else delete code.localWork;
}

/** Counts the outcomes of calls of code. A remote one among them begins a new workflow task. */
export function countCalls(state: RunState, areLocal: boolean, outcomes: readonly unknown[]): void {
  const code = codeOf(state);
  const { bytes, segments } = code.localWork ?? { bytes: 0, segments: 0 };
  if (areLocal) code.localWork = { bytes: bytes + jsonBytes(outcomes), segments };
  else delete code.localWork;
}

// Tool phase: the final answer of a cell.

type Outcomes = readonly (ToolOutcome | null)[];

/**
 * Returns the output of a run whose answers are code, if one of its cells has given a final answer: the value itself if the agent has
 * an output schema, otherwise its text, cut to the limit of output. In other runs a final answer is a result that the model reads.
 */
export function finalAnswerOfCode({ state: { snapshot }, outcomes }: EndedCalls): CallsEnd | undefined {
  if (snapshot.replyFormat !== 'code' || snapshot.code === undefined) return undefined;
  const found = givenAnswer(outcomes);
  if (found === undefined) return undefined;
  if (snapshot.output !== undefined) return { output: found.value };
  return { output: finalText(found.value, snapshot.code.executor) };
}

/**
 * Returns the outcome of a cell, which is an error if the cell has given a final answer, and another cell of the same response has
 * given that of the run.
 */
export function withOneFinalAnswer({ snapshot }: RunState, ports: RunPorts, outcomes: Outcomes, outcome: ToolOutcome): ToolOutcome {
  if (snapshot.replyFormat !== 'code' || outcome.type !== 'result' || outcome.finalAnswer === undefined) return outcome;
  const first = givenAnswer(outcomes);
  const finalizer = new Finalizer();
  try {
    if (first !== undefined) finalizer.set(first.value, { now: ports.now() });
    finalizer.set(outcome.finalAnswer.value, { now: ports.now() });
    return outcome;
  } catch (error) {
    if (!(error instanceof MultipleFinalAnswers)) throw error;
    const { finalAnswer: _, resultId: __, ...others } = outcome;
    return { ...others, status: 'error', content: [errorMessage(error), { first: error.first, attempted: error.attempted }] };
  }
}

function givenAnswer(outcomes: Outcomes): { value: JsonValue } | undefined {
  return outcomes.flatMap((outcome) => (outcome?.type === 'result' && outcome.finalAnswer !== undefined ? [outcome.finalAnswer] : []))[0];
}
