import { toolsFor } from '../../src/core/code/callable-tools.ts';
import { type AgentSnapshot, toolOwner } from '../../src/core/domain/agent.ts';
import { EMPTY_SCRATCHPAD, type Scratchpad, scratchpadContext, truncateOutput, withFailedApproach } from '../../src/core/domain/code.ts';
import type { RunSegmentInput, RunSegmentOutput } from '../../src/core/domain/activity-messages.ts';
import { BYTE_BUDGETS, cutText, jsonBytes } from '../../src/core/domain/byte-budgets.ts';
import { defined } from '../../src/core/domain/defined.ts';
import { RUN_CODE } from '../../src/core/domain/tool-calls.ts';
import { canonicalJson, isJsonObject, type JsonObject, type JsonValue } from '../../src/core/domain/json.ts';
import { cellFeedback, type ExecutionError, type ExecutionResult, namespaceNote } from '../../src/core/domain/execution.ts';
import { cleanJson } from '../../src/model/parse-json.ts';
import { attemptInfo } from '../attempts/attempt-info.ts';
import { finalValue } from '../../src/model/check-output.ts';
import type { Attempt } from '../attempts/attempt.ts';
import { type ActivityRuntime, dataFor } from '../runtime.ts';
import { DEFAULT_BUDGET, limitResultSize, shortId } from '../tool-calls/execute-tool.ts';
import type { Namespace, RanSegment } from './namespace.ts';

/** Returns the output of a segment with which its cell has ended: without secrets, and within the budget of a tool result. */
export async function cellOutput(
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

/** Returns a final answer as the output of the run, if its answers are code, or the reason why it cannot be. */
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

/** Returns the bytes of JSON that a final answer may have: that of a local segment travels with all that its workflow task produces. */
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
 * Returns the text that the model reads about a cell: the printed text as it is, then `Final answer: <JSON>`, then
 * `Error (<kind>): <message>`, each on a separate line and only if there is one. Executors cut the output of a run. That of a cell
 * which was ended between two runs is cut here, to `maxOutputBytes`.
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

/** Bytes of JSON of the text about an approach that failed. */
const FAILURE_BYTES = 500;

/** The working memory of a run after a cell. */
interface WorkingMemory {
  scratchpad: Scratchpad;
  /** The change of the run's state, if the memory is another one than that of the state. */
  changed?: JsonObject;
}

/**
 * Returns the working memory of a run after a cell, without secrets. If the agent answers with code, an error becomes an approach that
 * failed. Undefined if the code has no working memory.
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

/** Returns the memory that the code has left. Approaches that failed because of errors are known to the run alone. */
function mergedScratchpad(known: Scratchpad, left: Scratchpad | undefined): Scratchpad {
  if (left === undefined) return known;
  return { ...left, failed: [...known.failed, ...left.failed.filter((approach) => !known.failed.includes(approach))] };
}

/** Reads the state of a run, which tools can write, too. */
function scratchpadIn(value: JsonValue | undefined): Scratchpad {
  if (!isJsonObject(value)) return EMPTY_SCRATCHPAD;
  const { values = {}, observations, failed } = value;
  return { values: isJsonObject(values) ? values : {}, observations: textsIn(observations), failed: textsIn(failed) };
}

function textsIn(value: JsonValue | undefined): string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === 'string') : [];
}

/** One attempt of a segment. */
export interface SegmentWork {
  runtime: ActivityRuntime;
  input: RunSegmentInput;
  snapshot: AgentSnapshot;
  attempt: Attempt;
}

/**
 * Works with a namespace, which is ended when the attempt is aborted, or if the work fails: an attempt that has no answer leaves none
 * behind.
 */
export async function withNamespace<Result>({ signal }: Attempt, namespace: Namespace, work: () => Promise<Result>): Promise<Result> {
  const kill = (): void => void namespace.kill();
  signal.addEventListener('abort', kill, { once: true });
  try {
    signal.throwIfAborted();
    const result = await work();
    signal.throwIfAborted();
    return result;
  } catch (error) {
    await namespace.kill();
    // An executor that was ended from outside fails in ways that say nothing.
    signal.throwIfAborted();
    throw error;
  } finally {
    signal.removeEventListener('abort', kill);
  }
}

/** Returns milliseconds with two digits after the point: the rest would only take room in the history. */
export function roundedMs(ms: number): number {
  return Math.round(ms * 100) / 100;
}
