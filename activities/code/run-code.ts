import { getClient, log } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import { toolsFor } from '../../src/core/code/callable-tools.ts';
import { checkCodeCalls } from '../../src/core/code/run-code.ts';
import { codeTools } from '../../src/core/code/describe-functions.ts';
import { type AgentSnapshot, toolOwner } from '../../src/core/domain/agent.ts';
import { canonicalJson, defined, isJsonObject, type JsonObject, type JsonValue } from '../../src/core/domain/json.ts';
import {
  cellFeedback,
  type CodeCallResult,
  type CodeJournal,
  type ExecutionError,
  type ExecutionResult,
  type Executor,
  type JournalCell,
  madeCallsNote,
  nameList,
  namespaceNote,
  type Segment,
} from '../../src/core/domain/execution.ts';
import type { RunSegmentInput, RunSegmentOutput } from '../../src/core/domain/activity-messages.ts';
import type { SpilledContent, ToolResult } from '../../src/core/domain/content.ts';
import { BYTE_BUDGETS, cutText, jsonBytes } from '../../src/core/domain/byte-budgets.ts';
import { RUN_CODE } from '../../src/core/domain/tool-calls.ts';
import { errorMessage, LonghaulError } from '../../src/core/domain/errors.ts';
import { type JournalPage, type JournalQuestion, type OfRun, QUERIES } from '../../src/core/protocol.ts';
import type { ExecutorDefinition } from '../../src/define/code.ts';
import { type PayloadStore, readSpilled, spill } from '../../src/stores/payload-store.ts';
import { requireReviews } from '../all-parts.ts';
import { requireReviewedTool } from '../approvals/approvals.ts';
import { type Attempt, attemptNumber, attemptsAllowed, currentRun, runAttempt, withTimeout } from '../attempts/attempt.ts';
import { failingAs } from '../attempts/failure.ts';
import { queryRun, runKey } from '../run-queries/query-run.ts';
import { type ActivityRuntime, dataFor } from '../runtime.ts';
import { DEFAULT_BUDGET, limitResultSize, shortId } from '../tool-calls/execute-tool.ts';
import { reviewCalls } from '../tool-calls/review-calls.ts';
import { cellId, earlyEnd, Namespace, positionBefore, type RanSegment } from './namespace.ts';
import { EMPTY_SCRATCHPAD, type Scratchpad, scratchpadContext, truncateOutput, withFailedApproach } from '../../src/core/domain/code.ts';
import { cleanJson } from '../../src/model/parse-json.ts';
import { finalValue } from '../../src/model/check-output.ts';
import { attemptInfo } from '../attempts/attempt-info.ts';

const COLD_OUTPUT = { type: 'cold' } as const;

/** Creates the activity that runs one segment of a cell: code up to its next tool calls, or to its end. */
export function runCodeActivity(runtime: ActivityRuntime): (input: RunSegmentInput) => Promise<RunSegmentOutput> {
  return failingAs('internal', async (input) => {
    const output = await runAttempt(runtime.aborts, { heartbeatMs: runtime.heartbeatMs }, async (current) => {
      const snapshot = await snapshotOf(runtime, input);
      return snapshot === undefined ? COLD_OUTPUT : runSegment({ runtime, input, snapshot, attempt: current });
    });
    if (output.type === 'ended') runtime.conversations.addResult(input, output.id, input.eventId, toolResult(input, output));
    // The history does not contain the input of a local activity.
    return attemptInfo().isLocal ? { ...output, at: input.at, segment: input.segment } : output;
  });
}

/** Returns the snapshot of the run. Undefined in a local activity that lacks it, which cannot query its run. */
async function snapshotOf({ snapshots }: ActivityRuntime, input: RunSegmentInput): Promise<AgentSnapshot | undefined> {
  if (!attemptInfo().isLocal) return snapshots.load(input, input.agent);
  const { whole } = input;
  if (whole !== undefined) snapshots.add(whole.snapshot);
  return snapshots.known(input.agent);
}

async function runSegment(work: SegmentWork): Promise<RunSegmentOutput> {
  const { runtime, input, snapshot } = work;
  for (const tool of toolsFor('code', snapshot)) requireReviewedTool(runtime, input, snapshot, tool);
  requireReviews(runtime, snapshot);
  const warm = runtime.namespaces.take(runKey(input), positionBefore(input));
  if (warm !== undefined) return runIn(work, warm);
  if (isFirst(input)) return runIn(work, new Namespace(await codeExecutor(runtime, snapshot)));
  const journal = attemptInfo().isLocal ? input.whole?.journal : await loadJournal(input);
  if (journal === undefined) return COLD_OUTPUT;
  const rebuilt = await rebuildNamespace(work, journal);
  return rebuilt instanceof Namespace ? runIn(work, rebuilt, journal) : lostOutput(work, rebuilt, journal);
}

/** True for the first segment in an empty namespace. */
function isFirst({ cell, segment, after }: RunSegmentInput): boolean {
  return cell === 0 && segment === 0 && after === undefined;
}

/** Runs the segment in a namespace that is at its position, and keeps the namespace for the next segment if it can be used again. */
async function runIn(work: SegmentWork, namespace: Namespace, journal?: CodeJournal): Promise<RunSegmentOutput> {
  const { runtime, input } = work;
  const output = await withNamespace(work.attempt, namespace, async () => {
    const ran = await runInExecutor(input, namespace, journal);
    // Ended from outside: the end says nothing about the code.
    work.attempt.throwIfAborted();
    return ran === undefined ? COLD_OUTPUT : outputOf(work, namespace, ran);
  });
  if (output.type !== 'cold' && namespace.isReliable) runtime.namespaces.put(runKey(input), namespace);
  else await namespace.kill();
  return output;
}

/** Begins or continues the cell. Undefined in a local activity that lacks the code or the results. */
async function runInExecutor(input: RunSegmentInput, namespace: Namespace, journal?: CodeJournal): Promise<RanSegment | undefined> {
  const { cell, segment, moment } = input;
  const isLocal = attemptInfo().isLocal;
  const known = (journal ?? input.whole?.journal)?.cells[cell];
  if (segment === 0) {
    const code = input.code ?? known?.code ?? (isLocal ? undefined : (await loadCell(input, cell)).code);
    return code === undefined ? undefined : namespace.begin({ id: cellId(input), code, moment });
  }
  const results =
    input.results ?? known?.segments[segment - 1]?.results ?? (isLocal ? undefined : await loadResults(input, cell, segment - 1));
  return results === undefined ? undefined : namespace.resume(results);
}

async function outputOf(work: SegmentWork, namespace: Namespace, ran: RanSegment): Promise<RunSegmentOutput> {
  const { segment, digest } = ran;
  if (segment.type === 'calls' && digest !== undefined) {
    const output = await callsOutput(work, segment, digest);
    if (typeof output !== 'string') return output;
    await namespace.kill();
    const ended = earlyEnd(segment, output);
    return cellOutput(work, ended.result, { segment: ended }, namespace.code);
  }
  const { result } = segment.type === 'ended' ? segment : earlyEnd(segment, 'The code was ended');
  const output = await cellOutput(work, result, ran, namespace.code);
  const checkpoint = digest === undefined ? undefined : await takeCheckpoint(work, namespace);
  return { ...output, ...defined({ checkpoint }) };
}

function toolResult({ callId }: RunSegmentInput, { content, isError }: RunSegmentOutput & { type: 'ended' }): ToolResult {
  return { type: 'tool_result', toolCallId: callId, name: RUN_CODE, status: isError ? 'error' : 'success', content };
}

/** Asks the run for its whole journal. */
function loadJournal(run: OfRun): Promise<CodeJournal> {
  return loadJournalPart<CodeJournal>(run, {});
}

/** Asks the run for one cell of its journal. */
function loadCell(run: OfRun, cell: number): Promise<JournalCell> {
  return loadJournalPart<JournalCell>(run, { cell });
}

/** Asks the run for the results of the calls of one segment. */
function loadResults(run: OfRun, cell: number, segment: number): Promise<CodeCallResult[]> {
  return loadJournalPart<CodeCallResult[]>(run, { cell, segment });
}

async function loadJournalPart<Part>(run: OfRun, question: Omit<JournalQuestion, 'from'>): Promise<Part> {
  let text = '';
  for (;;) {
    const page = await queryRun<JournalPage>(run, QUERIES.journal, { ...question, from: text.length } satisfies JournalQuestion);
    text += page.text;
    if (text.length >= page.total) return JSON.parse(text) as Part;
    if (page.text !== '') continue;
    throw ApplicationFailure.create({ type: 'transcript_unavailable', message: 'The run gave only a part of its journal' });
  }
}

/** Milliseconds of cells since the last checkpoint after which the next one is taken. */
const CELLS_MS = 2_000;

/**
 * Takes a checkpoint after a cell, if the cells since the last one took long or the run asks for one, and if this worker can store it.
 * Undefined without a checkpoint, which the run does not need. A failure of the store is logged.
 */
async function takeCheckpoint({ runtime, input, attempt }: SegmentWork, namespace: Namespace): Promise<SpilledContent | undefined> {
  const { payloadStore, secrets } = runtime;
  const { executor, names } = namespace;
  if (payloadStore === undefined || executor.checkpoint === undefined) return undefined;
  if (namespace.cellMs < CELLS_MS && input.checkpoint !== true) return undefined;
  try {
    const spilled = await storeCheckpoint(payloadStore, { bytes: await executor.checkpoint(), names }, attempt.signal);
    namespace.checkpointed(spilled.sha256);
    return spilled;
  } catch (error) {
    attempt.throwIfAborted();
    log.warn('A checkpoint of code could not be stored: its cells are run again instead, if they have to be', {
      agent: input.agentName,
      callId: input.callId,
      error: secrets.redact(errorMessage(error)),
    });
    return undefined;
  }
}

/** Returns the result of a cell that cannot run, because its initial names and values are lost. */
function lostOutput({ runtime, input }: SegmentWork, lost: LostNamespace, journal: CodeJournal): RunSegmentOutput {
  const begun = input.segment > 0;
  const tools = journal.cells.flatMap(({ segments }) => segments.flatMap((segment) => segment.tools ?? []));
  const made = madeCallsNote(tools, begun ? 'this cell and earlier ones have' : 'earlier cells have');
  const text = [
    `The names and values of earlier cells are lost: ${lost.reason}.`,
    begun ? 'This cell was ended before its end.' : 'This cell was not run.',
    ...(lost.names.length === 0 ? [] : [`Lost names: ${nameList(lost.names)}.`]),
    ...(made === undefined ? [] : [made]),
    'Define again what you need.',
  ].join(' ');
  const content = [cutText(runtime.secrets.redact(text.toWellFormed()), BYTE_BUDGETS.errorMessage)];
  return { type: 'ended', id: shortId(), content, isError: true, isLost: true, durationMs: 0 };
}

/**
 * Returns the output of a segment whose code waits for calls: the checked calls, with the approvals that they need. If they are too large
 * to be recorded, returns the reason as text for the model.
 */
async function callsOutput(
  { runtime, input, snapshot, attempt }: SegmentWork,
  { calls: made, durationMs }: Segment & { type: 'calls' },
  digest: string,
): Promise<(RunSegmentOutput & { type: 'calls' }) | string> {
  const checked = checkCodeCalls(made, { snapshot, callId: input.callId, before: input.calls });
  const { calls } = checked;
  const problems = checked.problems && briefProblems(checked.problems);
  const content = { content: calls, ...defined({ problems }) };
  const reviewed = await reviewCalls(
    { runtime, run: input, snapshot, signal: attempt.signal, data: () => dataFor(runtime, input) },
    content,
  );
  const bytes = jsonBytes({ content, ...reviewed });
  const budget = callsBudget();
  if (bytes > budget)
    return `The ${calls.length} calls that the code made at once have ${bytes} bytes of JSON, more than ${budget}: call with less`;
  return {
    type: 'calls',
    calls: calls.map(({ name, arguments: args }) => ({ name, arguments: args })),
    ...reviewed,
    digest,
    durationMs: roundedMs(durationMs),
  };
}

/**
 * Returns the bytes of JSON that calls may have together: the calls of a local segment share a payload with everything else that its
 * workflow task produces.
 */
function callsBudget(): number {
  return attemptInfo().isLocal ? BYTE_BUDGETS.toolResult : BYTE_BUDGETS.modelResponse;
}

/** Cuts problems to the length of an error message. */
function briefProblems(problems: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(problems).map(([id, problem]) => [id, cutText(problem, BYTE_BUDGETS.errorMessage)]));
}

/** The longest time of a rebuild, in milliseconds. It does not count as time of the cell. */
const LONGEST_REBUILD_MS = 60_000;

/** The names and values of a run that cannot be rebuilt. */
interface LostNamespace {
  /** The reason, as the end of a sentence. */
  reason: string;
  /** The lost names that are known. */
  names: readonly string[];
}

/** Ends a rebuild. */
class NamespaceLoss extends Error {}

/**
 * Rebuilds the namespace of a run as it was before a segment: restores the checkpoint, and runs the later cells against the recorded
 * results of their calls. If a segment makes other calls or prints other text than recorded, or the executor cannot continue, the namespace
 * is lost. A failing store or executor is retried first, as long as attempts are left.
 */
async function rebuildNamespace(work: SegmentWork, journal: CodeJournal): Promise<Namespace | LostNamespace> {
  const { runtime, snapshot, input, attempt } = work;
  const cells = journal.cells.slice(0, input.cell);
  const running = input.segment === 0 ? undefined : journal.cells[input.cell];
  if (cells.length < input.cell || (input.segment > 0 && running === undefined)) throw incompleteJournal(input.cell);
  const namespace = new Namespace(await codeExecutor(runtime, snapshot));
  const limit = new RebuildTimeLimit(namespace);
  try {
    return await withNamespace(attempt, namespace, async () => {
      if (journal.checkpoint !== undefined) await restoreCheckpoint(work, namespace, journal.checkpoint);
      for (const cell of cells) await runAgain(namespace, { id: '', cell, segments: cell.segments.length });
      if (running !== undefined) await runAgain(namespace, { id: cellId(input), cell: running, segments: input.segment });
      return namespace;
    });
  } catch (error) {
    attempt.throwIfAborted();
    if (limit.isOver) return { reason: `running the earlier cells again took more than ${limit.ms / 1_000} s`, names: namespace.names };
    if (error instanceof NamespaceLoss) return { reason: error.message, names: namespace.names };
    throw error;
  } finally {
    limit.clear();
  }
}

/** Ends a rebuild that takes too long. */
class RebuildTimeLimit {
  readonly ms = Math.min(LONGEST_REBUILD_MS, (attemptInfo().startToCloseTimeoutMs || Infinity) / 2);
  isOver = false;
  readonly #timer: NodeJS.Timeout;

  constructor(namespace: Namespace) {
    this.#timer = setTimeout(() => {
      this.isOver = true;
      void namespace.kill();
    }, this.ms);
  }

  clear(): void {
    clearTimeout(this.#timer);
  }
}

async function restoreCheckpoint(
  { runtime, attempt }: SegmentWork,
  namespace: Namespace,
  spilled: NonNullable<CodeJournal['checkpoint']>,
): Promise<void> {
  try {
    const { bytes, names } = await readCheckpoint(runtime.payloadStore, spilled, attempt.signal);
    namespace.names = names;
    if (namespace.executor.restore === undefined) throw new Error('the executor cannot restore one');
    await namespace.executor.restore(bytes);
    namespace.checkpointed(spilled.sha256);
  } catch (error) {
    attempt.throwIfAborted();
    throw lostUnlessRetried(`their checkpoint could not be restored: ${errorMessage(error)}`);
  }
}

/** A cell to run again, up to a given segment. */
interface CellAgain {
  id: string;
  cell: JournalCell;
  segments: number;
}

async function runAgain(namespace: Namespace, { id, cell, segments }: CellAgain): Promise<void> {
  let ran = await namespace.begin({ id, code: cell.code, moment: cell.moment });
  for (let index = 0; ; index += 1) {
    requireSame(ran, cell.segments[index]?.digest);
    if (index + 1 === segments) return;
    const results = cell.segments[index]?.results;
    if (ran.segment.type !== 'calls' || results?.length !== ran.segment.calls.length) throw changedRun();
    ran = await namespace.resume(results);
  }
}

/** Throws unless a segment ran as it did before. */
function requireSame({ segment, digest }: RanSegment, recorded: string | undefined): void {
  if (digest === undefined) {
    const error = segment.type === 'ended' ? segment.result.error : null;
    throw lostUnlessRetried(`an earlier cell could not be run again (${error?.kind ?? 'killed'}: ${error?.message ?? 'it was ended'})`);
  }
  if (digest !== recorded) throw changedRun();
}

function changedRun(): NamespaceLoss {
  return new NamespaceLoss('an earlier cell did something else when it was run again');
}

/** Returns the failure of an attempt if another attempt may succeed, otherwise the loss of the namespace. */
function lostUnlessRetried(reason: string): Error {
  if (attemptNumber() >= (attemptsAllowed() ?? Infinity)) return new NamespaceLoss(reason);
  return ApplicationFailure.create({
    type: 'internal',
    message: `The names and values of earlier cells could not be made again: ${reason}`,
  });
}

function incompleteJournal(cell: number): ApplicationFailure {
  return ApplicationFailure.create({ type: 'transcript_unavailable', message: `The journal of the run lacks cells before cell ${cell}` });
}

/** The maximum bytes of a checkpoint: while it is stored, it is in memory several times. */
const MAX_CHECKPOINT_BYTES = 64_000_000;

/** The time limit of one call of the store, in milliseconds. */
const LONGEST_CALL_MS = 30_000;

/** The namespace of a run between two cells. */
interface Checkpoint {
  /** The executor's image. */
  bytes: Uint8Array;
  /** The names that code had declared. */
  names: readonly string[];
}

/** Stores a checkpoint for the current activity's run. Rejects if it is too large, or with the store's error. */
async function storeCheckpoint(store: PayloadStore, { bytes, names }: Checkpoint, stop: AbortSignal): Promise<SpilledContent> {
  if (bytes.length > MAX_CHECKPOINT_BYTES)
    throw new LonghaulError('payload_too_large', `it has ${bytes.length} bytes, more than ${MAX_CHECKPOINT_BYTES}`);
  const run = currentRun();
  const content = [
    { namespace: run.namespace, run: run.runId },
    { bytes: Buffer.from(bytes).toString('base64'), names: [...names] },
  ];
  return withTimeout(() => spill(store, getClient().options.loadedDataConverter, run, content), { ms: LONGEST_CALL_MS, stop });
}

/** Reads a checkpoint. Throws `spilled_unavailable` if the store does not have it for that run: a forged location finds nothing. */
async function readCheckpoint(store: PayloadStore | undefined, spilled: SpilledContent, stop: AbortSignal): Promise<Checkpoint> {
  if (store === undefined) throw new LonghaulError('payload_store_failed', 'this worker has no payload store');
  const read = (): ReturnType<typeof readSpilled> => readSpilled(store, getClient().options.loadedDataConverter, spilled);
  const [owner, content] = await withTimeout(read, { ms: LONGEST_CALL_MS, stop });
  const { namespace, runId } = currentRun();
  const isOwn = isJsonObject(owner) && owner['namespace'] === namespace && owner['run'] === runId;
  if (!isOwn || !isJsonObject(content) || typeof content['bytes'] !== 'string') {
    throw new LonghaulError('spilled_unavailable', 'the stored content is not a checkpoint of this run');
  }
  const names = Array.isArray(content['names']) ? content['names'].filter((name) => typeof name === 'string') : [];
  return { bytes: Buffer.from(content['bytes'], 'base64'), names };
}

/** Creates the executor that is pinned for a run's code, with the tools that code may call and its initial values. */
export async function codeExecutor(
  runtime: Pick<ActivityRuntime, 'registry' | 'createExecutor'>,
  snapshot: AgentSnapshot,
): Promise<Executor> {
  const executor = await runtime.createExecutor(definitionOf(runtime, snapshot), {
    tools: codeTools(snapshot),
    scratchpad: snapshot.replyFormat === 'code',
  });
  for (const [name, value] of Object.entries(snapshot.code?.injected ?? {})) executor.inject(name, value);
  return executor;
}

/** Returns the pinned executor. A user-defined executor's command or function comes from this worker, which must have the agent. */
function definitionOf({ registry }: Pick<ActivityRuntime, 'registry'>, { name, code }: AgentSnapshot): ExecutorDefinition {
  if (code === undefined) throw new LonghaulError('internal', `Agent "${name}" runs no code`);
  const { executor } = code;
  if (executor.kind !== 'custom' && executor.kind !== 'in_process') return executor;
  const { command, create } = registry.agent(name).code?.executor ?? {};
  return { ...executor, ...defined({ command, create }) };
}

/** Returns the output of a segment that ended its cell: without secrets, and within the budget of a tool result. */
async function cellOutput(
  work: SegmentWork,
  result: ExecutionResult,
  ran: RanSegment,
  code: string,
): Promise<RunSegmentOutput & { type: 'ended' }> {
  const { secrets } = work.runtime;
  const given = result.isFinal ? finalAnswer(work, secrets.redactJson(result.finalValue)) : undefined;
  const answer = given === undefined || 'problem' in given ? undefined : given;
  const unfit = given !== undefined && 'problem' in given ? given.problem : undefined;
  const answerProblem = unfit ?? (answer === undefined ? undefined : sizeProblem('The final answer', answer.value, answerBudget()));
  const memory = await workingMemoryAfter(work, result, result.error?.message ?? answerProblem);
  const state = memory?.changed;
  const stateProblem =
    state === undefined || !attemptInfo().isLocal ? undefined : sizeProblem('The scratchpad', state, BYTE_BUDGETS.localChanges);
  const problem = [answerProblem, stateProblem].filter((one) => one !== undefined).join(' ');
  const final = answerProblem === undefined ? answer : undefined;
  const error = result.error ?? (problem === '' ? null : ({ kind: 'runtime', message: problem } as const));
  const redacted = error === null ? null : { kind: error.kind, message: secrets.redact(error.message) };
  const shown = modelText(work, { output: secrets.redact(result.output), final, error: redacted, code, scratchpad: memory?.scratchpad });
  const note = namespaceNote(result);
  const text = note === undefined ? shown : `${shown}\n\n${note}`;
  const { content } = await limitResultSize({ name: RUN_CODE, content: [text], isError: false }, DEFAULT_BUDGET, notSpilled);
  return {
    type: 'ended',
    id: shortId(),
    content,
    ...(error === null ? {} : { isError: true }),
    ...defined({ final }),
    ...(state === undefined || stateProblem !== undefined ? {} : { state }),
    ...defined({ digest: ran.digest }),
    durationMs: roundedMs(ran.segment.durationMs),
  };
}

/** Returns a final answer as the output of the run, if its answers are code, or the reason why it cannot be used. */
function finalAnswer({ runtime, snapshot }: SegmentWork, value: JsonValue): { value: JsonValue } | { problem: string } {
  if (snapshot.replyFormat !== 'code' || snapshot.output === undefined) return { value };
  return finalValue(value, { schema: snapshot.output.schema, zod: runtime.registry.outputZod(toolOwner(snapshot)) });
}

/** Returns the text that the model reads, in the format of the agent. */
function modelText(
  { snapshot }: SegmentWork,
  { code, scratchpad, ...end }: CellEnd & { code: string; scratchpad: Scratchpad | undefined },
): string {
  if (snapshot.code === undefined) return cellText(end, BYTE_BUDGETS.toolResult);
  const { language, limits } = snapshot.code.executor;
  if (snapshot.replyFormat !== 'code') return cellText(end, limits.maxOutputBytes);
  const { output, final, error } = end;
  return cellFeedback({
    result: {
      output,
      error: error === null ? null : { ...error, message: cutText(error.message, BYTE_BUDGETS.errorMessage) },
      isFinal: final !== undefined,
      finalValue: final?.value ?? null,
    },
    code,
    tools: toolsFor('code', snapshot),
    language,
    limits,
    workingMemory: scratchpad === undefined ? '' : scratchpadContext(scratchpad, language),
  });
}

/**
 * Returns the bytes of JSON that a final answer may have: a local segment's answer shares a payload with everything else that its workflow
 * task produces.
 */
function answerBudget(): number {
  return attemptInfo().isLocal ? BYTE_BUDGETS.toolResult : BYTE_BUDGETS.modelText;
}

function sizeProblem(name: string, value: JsonValue, budget: number): string | undefined {
  const bytes = jsonBytes(value);
  return bytes <= budget ? undefined : `${name} is too large: ${bytes} bytes of JSON, over ${budget}. It was not kept.`;
}

function notSpilled(): Promise<never> {
  return Promise.reject(new Error('the result of a cell is not spilled'));
}

/** The end of a cell, without secrets. */
interface CellEnd {
  output: string;
  final?: { value: JsonValue } | undefined;
  error: ExecutionError | null;
}

/** The result of a cell that printed nothing, gave no answer and did not fail. */
const NO_OUTPUT_TEXT = '(no output)';

/**
 * Returns the text that the model reads about a cell: the printed text, then `Final answer: <JSON>`, then `Error (<kind>): <message>`, each
 * on a separate line and only if there is one. Executors cut the output of a run. The output of a cell that was ended between two runs is
 * cut here, to `maxOutputBytes`.
 */
function cellText({ output, final, error }: CellEnd, maxOutputBytes: number): string {
  const parts = [
    ...(output === '' ? [] : [error === null ? output : truncateOutput(output, maxOutputBytes).text]),
    ...(final === undefined ? [] : [`Final answer: ${JSON.stringify(final.value)}`]),
    ...(error === null ? [] : [`Error (${error.kind}): ${cutText(error.message, BYTE_BUDGETS.errorMessage)}`]),
  ];
  return parts.length === 0 ? NO_OUTPUT_TEXT : parts.join('\n');
}

/** The key of the run's state that holds the working memory of code. */
const SCRATCHPAD = 'scratchpad';

const EMPTY: JsonObject = { values: {}, observations: [], failed: [] };

/** The maximum bytes of JSON of the text about a failed approach. */
const FAILURE_BYTES = 500;

/** The working memory of a run after a cell. */
interface WorkingMemory {
  scratchpad: Scratchpad;
  /** The change of the run's state, if the memory differs from the state's. */
  changed?: JsonObject;
}

/**
 * Returns the working memory of a run after a cell, without secrets. If the agent answers with code, an error is noted as a failed
 * approach. Undefined if the code has no working memory.
 */
async function workingMemoryAfter(
  { runtime, input, snapshot }: SegmentWork,
  result: ExecutionResult,
  error: string | undefined,
): Promise<WorkingMemory | undefined> {
  const isReply = snapshot.replyFormat === 'code';
  if (result.scratchpad === undefined && !isReply) return undefined;
  const { state } = await dataFor(runtime, input);
  const known = state[SCRATCHPAD];
  const merged = mergedScratchpad(scratchpadIn(known), result.scratchpad);
  const failure = error === undefined || !isReply ? undefined : `Step ${input.step}: ${cutText(error, FAILURE_BYTES)}`;
  const next = cleanJson(failure === undefined ? merged : withFailedApproach(merged, failure));
  const redacted = runtime.secrets.redactJson(next ?? null);
  const scratchpad = scratchpadIn(redacted);
  const isSame = canonicalJson(redacted) === canonicalJson(known ?? EMPTY);
  return { scratchpad, ...(isSame ? {} : { changed: { [SCRATCHPAD]: redacted } }) };
}

/** Returns the memory that the code left. Only the run knows the approaches that failed because of errors. */
function mergedScratchpad(known: Scratchpad, left: Scratchpad | undefined): Scratchpad {
  if (left === undefined) return known;
  return { ...left, failed: [...known.failed, ...left.failed.filter((approach) => !known.failed.includes(approach))] };
}

/** Reads the scratchpad from a run's state, which tools can also write. */
function scratchpadIn(value: JsonValue | undefined): Scratchpad {
  if (!isJsonObject(value)) return EMPTY_SCRATCHPAD;
  const { values = {}, observations, failed } = value;
  return { values: isJsonObject(values) ? values : {}, observations: textsIn(observations), failed: textsIn(failed) };
}

function textsIn(value: JsonValue | undefined): string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === 'string') : [];
}

/** One attempt of a segment. */
interface SegmentWork {
  runtime: ActivityRuntime;
  input: RunSegmentInput;
  snapshot: AgentSnapshot;
  attempt: Attempt;
}

/**
 * Runs `work` with a namespace, and ends it when the attempt is aborted or the work fails: an attempt without an answer leaves no namespace
 * behind.
 */
async function withNamespace<Result>({ signal }: Attempt, namespace: Namespace, work: () => Promise<Result>): Promise<Result> {
  const kill = (): void => void namespace.kill();
  signal.addEventListener('abort', kill, { once: true });
  try {
    signal.throwIfAborted();
    const result = await work();
    signal.throwIfAborted();
    return result;
  } catch (error) {
    await namespace.kill();
    // The failures of an executor that was ended from outside are meaningless.
    signal.throwIfAborted();
    throw error;
  } finally {
    signal.removeEventListener('abort', kill);
  }
}

/** Returns milliseconds with two digits after the point: more would only take space in the history. */
function roundedMs(ms: number): number {
  return Math.round(ms * 100) / 100;
}
