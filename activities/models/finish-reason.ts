import type { FinishReason } from '../../src/domain/step.ts';

const WORDS: Record<string, FinishReason> = {
  stop: 'stop',
  completed: 'stop',
  end_turn: 'stop',
  eos: 'stop',
  stop_sequence: 'stop',
  tool_calls: 'tool_calls',
  tool_use: 'tool_calls',
  function_call: 'tool_calls',
  length: 'length',
  max_tokens: 'length',
  max_output_tokens: 'length',
  content_filter: 'content_filter',
  refusal: 'refusal',
};

/**
 * The finish reason in our words, or the provider's own word where there is none. What the answer holds counts more
 * than `stop`: servers say it beside tool calls and beside refusals.
 */
export function normalFinishReason(word: string | undefined, answer: { toolCalls: number; refusal: string }): FinishReason {
  const known = word === undefined ? 'stop' : Object.hasOwn(WORDS, word) ? (WORDS[word] ?? word) : word;
  if (known === 'length' || known === 'content_filter') return known;
  if (answer.refusal !== '') return 'refusal';
  return answer.toolCalls > 0 ? 'tool_calls' : known;
}
