import { activityInfo } from '@temporalio/activity';
import { RUN_CODE } from '../../src/core/domain/content/tool-text.ts';
import type { RunSegmentOutput } from '../../src/core/domain/code/segment-messages.ts';
import { BYTE_BUDGETS } from '../../src/core/domain/json/byte-budget.ts';
import { canonicalJson, isJsonObject, type JsonObject, type JsonValue } from '../../src/core/domain/json/json.ts';
import { jsonBytes } from '../../src/core/domain/json/payload-limit.ts';
import type { ExecutionResult } from '../../src/core/execution/execution-result.ts';
import { cleanJson } from '../../src/model/clean-json.ts';
import { dataFor } from '../run-queries/data.ts';
import { DEFAULT_BUDGET, limitResultSize } from '../tool-calls/limit-result-size.ts';
import { shortId } from '../tool-calls/short-id.ts';
import { cellText } from './cell-text.ts';
import type { RanSegment } from './namespace.ts';
import { roundedMs } from './rounded-ms.ts';
import type { SegmentWork } from './segment-work.ts';

/** The key of the run's state that holds the working memory of code. */
const SCRATCHPAD = 'scratchpad';

/** Returns the output of a segment with which its cell has ended: without secrets, and within the budget of a tool result. */
export async function endedOutput(
  work: SegmentWork,
  result: ExecutionResult,
  ran: RanSegment,
): Promise<RunSegmentOutput & { type: 'ended' }> {
  const { secrets } = work.runtime;
  const answer = result.isFinal ? { value: secrets.redactJson(result.finalValue) } : undefined;
  const answerProblem = answer === undefined ? undefined : tooLarge('The final answer', answer.value, answerBudget());
  const state = await changedState(work, result);
  const stateProblem =
    state === undefined || !activityInfo().isLocal ? undefined : tooLarge('The scratchpad', state, BYTE_BUDGETS.localChanges);
  const problem = [answerProblem, stateProblem].filter((one) => one !== undefined).join(' ');
  const final = answerProblem === undefined ? answer : undefined;
  const error = result.error ?? (problem === '' ? null : ({ kind: 'runtime', message: problem } as const));
  const redacted = error === null ? null : { kind: error.kind, message: secrets.redact(error.message) };
  const text = cellText({ output: secrets.redact(result.output), final, error: redacted }, maxOutputBytes(work));
  const { content } = await limitResultSize({ name: RUN_CODE, content: [text], isError: false }, DEFAULT_BUDGET, notSpilled);
  return {
    type: 'ended',
    id: shortId(),
    content,
    ...(error === null ? {} : { isError: true }),
    ...(final === undefined ? {} : { final }),
    ...(state === undefined || stateProblem !== undefined ? {} : { state }),
    ...(ran.digest === undefined ? {} : { digest: ran.digest }),
    durationMs: roundedMs(ran.segment.durationMs),
  };
}

/** Returns the scratchpad as a key of the run's state, if it is another one than that of the state. */
async function changedState({ runtime, input }: SegmentWork, result: ExecutionResult): Promise<JsonObject | undefined> {
  const scratchpad = result.scratchpad && cleanJson(result.scratchpad);
  if (!isJsonObject(scratchpad)) return undefined;
  const { state } = await dataFor(input);
  const known = state[SCRATCHPAD];
  const redacted = runtime.secrets.redactJson(scratchpad);
  if (known === undefined ? isEmpty(scratchpad) : canonicalJson(known) === canonicalJson(redacted)) return undefined;
  return { [SCRATCHPAD]: redacted };
}

function isEmpty(scratchpad: JsonObject): boolean {
  return Object.values(scratchpad).every((part) => typeof part === 'object' && part !== null && Object.keys(part).length === 0);
}

function maxOutputBytes({ snapshot }: SegmentWork): number {
  return snapshot.code?.executor.limits.maxOutputBytes ?? BYTE_BUDGETS.toolResult;
}

/** Returns the bytes of JSON that a final answer may have: that of a local segment travels with all that its workflow task produces. */
function answerBudget(): number {
  return activityInfo().isLocal ? BYTE_BUDGETS.toolResult : BYTE_BUDGETS.modelText;
}

function tooLarge(name: string, value: JsonValue, budget: number): string | undefined {
  const bytes = jsonBytes(value);
  return bytes <= budget ? undefined : `${name} is too large: ${bytes} bytes of JSON, over ${budget}. It was not kept.`;
}

function notSpilled(): Promise<never> {
  return Promise.reject(new Error('the result of a cell is not spilled'));
}
