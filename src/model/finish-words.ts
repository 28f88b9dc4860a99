import type { FinishReason } from '../core/domain/record/step.ts';

/** What providers say, in lower case and with underscores, as our own words. */
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

/** A provider's word as one of ours, or as it is where there is none. */
export function inOurWords(word: string): FinishReason {
  const plain = word.toLowerCase().replaceAll('-', '_');
  return Object.hasOwn(WORDS, plain) ? (WORDS[plain] ?? word) : word;
}

/** True where the model ended by itself: the answer is whole. Of a word that nobody knows that is not known. */
export function endedByItself(word: unknown): boolean {
  return typeof word === 'string' && ['stop', 'tool_calls'].includes(inOurWords(word));
}
