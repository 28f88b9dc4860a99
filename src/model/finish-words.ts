import type { FinishReason } from '../core/domain/record/step.ts';

/** The finish reason for each word of a provider, in lower case and with underscores. */
const WORDS: Record<string, FinishReason> = {
  stop: 'stop',
  complete: 'stop',
  completed: 'stop',
  end_turn: 'stop',
  eos: 'stop',
  stop_sequence: 'stop',
  tool_call: 'tool_calls',
  tool_calls: 'tool_calls',
  tool_use: 'tool_calls',
  function_call: 'tool_calls',
  length: 'length',
  model_length: 'length',
  max_length: 'length',
  max_tokens: 'length',
  max_output_tokens: 'length',
  content_filter: 'content_filter',
  refusal: 'refusal',
};

/** Returns the finish reason for a provider's word, or the word itself if it is unknown. */
export function finishReasonOf(word: string): FinishReason {
  const plain = word.toLowerCase().replaceAll('-', '_');
  return Object.hasOwn(WORDS, plain) ? (WORDS[plain] ?? word) : word;
}

/** True if the model ended by itself, so that the answer is complete. False for an unknown word. */
export function endedByItself(word: unknown): boolean {
  return typeof word === 'string' && ['stop', 'tool_calls'].includes(finishReasonOf(word));
}
