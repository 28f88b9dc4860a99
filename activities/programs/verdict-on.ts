import { type Anchor, checkAnchors } from '../../src/anchors/anchors.ts';
import { isToolCall } from '../../src/core/domain/content.ts';
import { defined, isJsonObject, type JsonValue } from '../../src/core/domain/json.ts';
import { FINAL_ANSWER } from '../../src/core/domain/tool-calls.ts';
import type { ModelResponse, RecordedResponse } from '../../src/core/domain/model.ts';
import type { AskDocument } from '../../src/core/domain/program-document.ts';
import type { AnswerVerdict } from '../../src/core/domain/verdicts.ts';
import { answerOf, thoughtOf } from '../../src/core/kernel/next-step.ts';
import { ContextError, insertedText, type UnitContext } from '../../src/core/program/references.ts';
import { validateAnswer } from '../../src/core/program/ask.ts';
import { cleanJson } from '../../src/model/parse-json.ts';

/** The checks of the answers of a step. */
interface AnswerChecks {
  /** The form of the answer, and its rules. */
  ask: DeclaredAnswer;
  anchors: readonly Anchor[];
  /** The document is lenient: an answer without the declared form is accepted unchanged. */
  lenient: boolean;
  /** The name of the step. */
  step: string;
}

type DeclaredAnswer = Pick<AskDocument, 'output' | 'type' | 'confidenceFloor' | 'requiredFields' | 'range'>;

/**
 * Adds an answer to the conversation and checks it: all anchors, then its form, then its type, confidence, fields and range. An answer
 * without text is not checked, and an answer that breaches an anchor is not validated.
 */
export async function verdictOn(response: RecordedResponse, checks: AnswerChecks, context: UnitContext): Promise<AnswerVerdict> {
  const { ask, anchors, lenient, step } = checks;
  const text = thoughtOf(response.content) ?? '';
  const refused = response.refusal === undefined ? {} : { misfit: `the model refused to answer: ${response.refusal}` };
  const output = answerOf(response, ask) ?? (lenient ? text : undefined);
  const shown = text === '' ? structuredText(response, output) : text;
  if (refused.misfit === undefined && !isAppended(context, shown)) return { empty: true };
  const checked = anchors.length === 0 ? undefined : await checkAnchors(text, anchors, { step });
  const verdict: AnswerVerdict = { ...defined({ anchors: checked }), ...refused };
  if (checked?.passed === false || refused.misfit !== undefined) return verdict;
  if (output === undefined) return { ...verdict, misfit: formProblem(response) };
  return isValidated(ask, lenient) ? { ...verdict, ...validationVerdict(output, ask, response) } : verdict;
}

/** Returns an answer without text as text: its value, or the model's substitute for it. */
function structuredText({ content }: RecordedResponse, output: JsonValue | undefined): string {
  if (output !== undefined) return insertedText(output);
  const call = content.filter(isToolCall).find(({ name }) => name === FINAL_ANSWER);
  return call === undefined ? '' : insertedText(call.arguments);
}

/** Adds the answer to the conversation. False if it is empty, which no conversation accepts. */
function isAppended(context: UnitContext, answer: string): boolean {
  try {
    context.append('assistant', answer);
    return true;
  } catch (error) {
    if (error instanceof ContextError) return false;
    throw error;
  }
}

function formProblem({ output }: RecordedResponse): string {
  return output?.type === 'problem' ? output.problem : 'the answer has no value of that form';
}

function validationVerdict(
  answer: JsonValue,
  { type, confidenceFloor, requiredFields, range }: DeclaredAnswer,
  { confidence: reported }: RecordedResponse,
): AnswerVerdict {
  const { violations, confidence } = validateAnswer(
    answer,
    defined({ type, confidenceFloor, reportedConfidence: reported, requiredFields, range }),
  );
  return { violations, ...(confidence === null ? {} : { confidence }) };
}

/** True if the answer must be validated: the step declares anything about it, or in a lenient program, its form or type. */
function isValidated({ output, type, confidenceFloor, requiredFields, range }: DeclaredAnswer, lenient: boolean): boolean {
  const rules = lenient ? [output, type] : [output, type, confidenceFloor, requiredFields, range];
  return rules.some((rule) => rule !== undefined);
}

/**
 * Returns a response of a lenient program with the value that the model gives in addition to its text, even if it does not match the
 * declared form or none is declared. Without such a value, or with an empty object, the text is the answer, as in AXON.
 */
export function asGiven(response: RecordedResponse, answer: ModelResponse): RecordedResponse {
  const { output, ...others } = response;
  if (output !== undefined && output.type !== 'problem') return response;
  const structured = isEmpty(answer.structured) ? undefined : cleanJson(answer.structured);
  const value = structured ?? response.content.filter(isToolCall).find(({ name }) => name === FINAL_ANSWER)?.arguments['output'];
  return value === undefined ? others : { ...others, output: { type: 'parsed', value } };
}

function isEmpty(structured: unknown): boolean {
  return structured === undefined || structured === null || (isJsonObject(structured) && Object.keys(structured).length === 0);
}
