import type { ModelResponse } from '../../core/domain/model/model.ts';
import { finishReasonOf } from '../finish-words.ts';

/** The text of an answer, and the answer without its text. */
export interface TextResponse {
  text: string;
  rest: Omit<ModelResponse, 'content' | 'toolCalls' | 'structured'>;
}

/**
 * Returns the text of an answer to read as a reply. Undefined if the answer is none: it calls tools in the provider's own way, the
 * model refused, or the provider withheld it. Nothing in the answer is trusted.
 */
export function textResponse(response: ModelResponse): TextResponse | undefined {
  const given: unknown = response;
  const fields = (typeof given === 'object' && given !== null ? given : {}) as Partial<Record<keyof ModelResponse, unknown>>;
  const { content, toolCalls, structured, refusal, finishReason } = fields;
  if (Array.isArray(toolCalls) && toolCalls.length > 0) return undefined;
  if (typeof refusal === 'string' && refusal !== '') return undefined;
  if (typeof finishReason === 'string' && finishReasonOf(finishReason) === 'content_filter') return undefined;
  const { content: _, toolCalls: __, structured: ___, ...rest } = { ...response };
  return { text: typeof content === 'string' && content !== '' ? content.toWellFormed() : jsonText(structured), rest };
}

/** Returns the text of a value that a client has parsed; an empty text if there is none. */
function jsonText(structured: unknown): string {
  if (typeof structured !== 'object' || structured === null) return '';
  try {
    return JSON.stringify(structured);
  } catch {
    return '';
  }
}
