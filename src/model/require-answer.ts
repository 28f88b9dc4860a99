import { type ErrorCode, ModelCallError } from '../core/domain/errors.ts';
import type { ModelResponse } from '../core/domain/model.ts';
import { finishFault, finishReasonOf } from './finish-words.ts';
import { splitReasoning } from './split-reasoning.ts';
import { responseFields } from './response-fields.ts';

/** Facts about an answer beside the response. */
interface ExpectedAnswer {
  /** The caller handles an empty answer itself. */
  mayBeEmpty?: boolean;
  /** Reasoning in tags was taken out of its text. */
  hasReasoned?: boolean;
}

/**
 * Throws a `ModelCallError` for a response that answers nothing: it is empty, has reasoning alone, announces calls that
 * it lacks, or ended with an error. The half of an answer is none either, unless the model was cut off at its length.
 * Nothing in the response is trusted to be of its type. A refusal is an answer.
 */
export function requireAnswer(
  response: ModelResponse,
  model: string,
  { mayBeEmpty = false, hasReasoned = false }: ExpectedAnswer = {},
): void {
  const { content, toolCalls, structured, refusal, finishReason } = responseFields(response);
  const word = typeof finishReason === 'string' ? finishReason : '';
  if ((typeof refusal === 'string' && refusal !== '') || finishReasonOf(word) === 'refusal') return;
  const fault = finishFault(word);
  if (fault === 'withheld') fail('content_filter', `The provider of "${model}" withheld the answer (content filter)`, word);
  if (fault === 'context_full') fail('context_length_exceeded', `The context of model "${model}" was full before its answer ended`, word);
  if (fault === 'failed') fail('model_no_answer', `Model "${model}" did not finish its answer`, word);
  if (Array.isArray(toolCalls) && toolCalls.length > 0) return;
  if (mayBeEmpty || (structured !== undefined && structured !== null)) return;
  if (finishReasonOf(word) === 'tool_calls')
    fail('model_no_answer', `The answer of model "${model}" announces tool calls and has none`, word);
  const text = typeof content === 'string' ? content : '';
  if (splitReasoning(text).text.trim() !== '') return;
  const isReasoning = hasReasoned || text.trim() !== '';
  fail('model_no_answer', `The answer of model "${model}" ${isReasoning ? 'has reasoning alone' : 'is empty'}`, word);
}

function fail(code: ErrorCode, message: string, word: string): never {
  throw new ModelCallError(code, `${message} (${word === '' ? 'no finish reason' : `finish reason ${JSON.stringify(word.slice(0, 64))}`})`);
}
