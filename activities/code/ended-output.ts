import { activityInfo } from '@temporalio/activity';
import { toolsFor } from '../../src/core/code/callers.ts';
import { toolOwner } from '../../src/core/domain/agent/tool-owner.ts';
import type { Scratchpad } from '../../src/core/domain/code/scratchpad.ts';
import { scratchpadContext } from '../../src/core/domain/code/scratchpad-context.ts';
import { cutText } from '../../src/core/domain/content/cut-content.ts';
import { RUN_CODE } from '../../src/core/domain/content/tool-text.ts';
import type { RunSegmentOutput } from '../../src/core/domain/code/segment-messages.ts';
import { BYTE_BUDGETS } from '../../src/core/domain/json/byte-budget.ts';
import type { JsonValue } from '../../src/core/domain/json/json.ts';
import { jsonBytes } from '../../src/core/domain/json/payload-limit.ts';
import { cellFeedback } from '../../src/core/execution/cell-feedback.ts';
import { namespaceNote } from '../../src/core/execution/namespace-note.ts';
import type { ExecutionResult } from '../../src/core/execution/execution-result.ts';
import { finalValue } from '../../src/model/reply-formats/code/final-value.ts';
import { DEFAULT_BUDGET, limitResultSize } from '../tool-calls/limit-result-size.ts';
import { shortId } from '../tool-calls/short-id.ts';
import { type CellEnd, cellText } from './cell-text.ts';
import type { RanSegment } from './namespace.ts';
import { roundedMs } from './rounded-ms.ts';
import type { SegmentWork } from './segment-work.ts';
import { workingMemoryAfter } from './working-memory.ts';

/** Returns the output of a segment with which its cell has ended: without secrets, and within the budget of a tool result. */
export async function endedOutput(
  work: SegmentWork,
  result: ExecutionResult,
  ran: RanSegment,
  code: string,
): Promise<RunSegmentOutput & { type: 'ended' }> {
  const { secrets } = work.runtime;
  const given = result.isFinal ? finalAnswer(work, secrets.redactJson(result.finalValue)) : undefined;
  const answer = given === undefined || 'problem' in given ? undefined : given;
  const unfit = given !== undefined && 'problem' in given ? given.problem : undefined;
  const answerProblem = unfit ?? (answer === undefined ? undefined : tooLarge('The final answer', answer.value, answerBudget()));
  const memory = await workingMemoryAfter(work, result, result.error?.message ?? answerProblem);
  const state = memory?.changed;
  const stateProblem =
    state === undefined || !activityInfo().isLocal ? undefined : tooLarge('The scratchpad', state, BYTE_BUDGETS.localChanges);
  const problem = [answerProblem, stateProblem].filter((one) => one !== undefined).join(' ');
  const final = answerProblem === undefined ? answer : undefined;
  const error = result.error ?? (problem === '' ? null : ({ kind: 'runtime', message: problem } as const));
  const redacted = error === null ? null : { kind: error.kind, message: secrets.redact(error.message) };
  const shown = textOf(work, { output: secrets.redact(result.output), final, error: redacted, code, scratchpad: memory?.scratchpad });
  const note = namespaceNote(result);
  const text = note === undefined ? shown : `${shown}\n\n${note}`;
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

/** Returns a final answer as the output of the run, if its answers are code, or the reason why it cannot be. */
function finalAnswer({ runtime, snapshot }: SegmentWork, value: JsonValue): { value: JsonValue } | { problem: string } {
  if (snapshot.replyFormat !== 'code' || snapshot.output === undefined) return { value };
  return finalValue(value, { schema: snapshot.output.schema, zod: runtime.registry.outputZod(toolOwner(snapshot)) });
}

/** Returns the text that the model reads, in the format of the agent. */
function textOf(
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
  return activityInfo().isLocal ? BYTE_BUDGETS.toolResult : BYTE_BUDGETS.modelText;
}

function tooLarge(name: string, value: JsonValue, budget: number): string | undefined {
  const bytes = jsonBytes(value);
  return bytes <= budget ? undefined : `${name} is too large: ${bytes} bytes of JSON, over ${budget}. It was not kept.`;
}

function notSpilled(): Promise<never> {
  return Promise.reject(new Error('the result of a cell is not spilled'));
}
