import type { FinishReason } from '../core/domain/tool-calls.ts';

/** The finish reason for each word of a provider, in lower case and with underscores. */
const WORDS: Record<string, FinishReason> = {
  stop: 'stop',
  complete: 'stop',
  completed: 'stop',
  end_turn: 'stop',
  eos: 'stop',
  eos_token: 'stop',
  stop_sequence: 'stop',
  tool_call: 'tool_calls',
  tool_calls: 'tool_calls',
  tool_use: 'tool_calls',
  function_call: 'tool_calls',
  length: 'length',
  model_length: 'length',
  max_length: 'length',
  max_tokens: 'length',
  max_new_tokens: 'length',
  max_completion_tokens: 'length',
  max_output_tokens: 'length',
  content_filter: 'content_filter',
  refusal: 'refusal',
};

/** What a finish reason says about the answer, if it is neither whole nor cut at its length. */
export type FinishFault =
  /** The provider withheld it. */
  | 'withheld'
  /** The context of the model was full before the answer ended. */
  | 'context_full'
  /** The provider gave up. */
  | 'failed';

/** Words of OpenAI, Anthropic, Gemini, Bedrock, DeepSeek, Zhipu, vLLM, SGLang, OpenRouter and LiteLLM. */
const FAULTS: Record<string, FinishFault> = {
  content_filter: 'withheld',
  content_filtered: 'withheld',
  safety: 'withheld',
  image_safety: 'withheld',
  recitation: 'withheld',
  blocklist: 'withheld',
  prohibited_content: 'withheld',
  spii: 'withheld',
  sensitive: 'withheld',
  guardrail_intervened: 'withheld',
  model_context_window_exceeded: 'context_full',
  context_window_exceeded: 'context_full',
  context_length_exceeded: 'context_full',
  error: 'failed',
  failed: 'failed',
  abort: 'failed',
  aborted: 'failed',
  cancelled: 'failed',
  canceled: 'failed',
  timeout: 'failed',
  network_error: 'failed',
  server_error: 'failed',
  overloaded: 'failed',
  insufficient_system_resource: 'failed',
  malformed_function_call: 'failed',
  malformed_tool_call: 'failed',
  malformed_tool_use: 'failed',
  malformed_model_output: 'failed',
  malformed_response: 'failed',
  unexpected_tool_call: 'failed',
  too_many_tool_calls: 'failed',
};

/** Returns the finish reason for a provider's word, or the word itself if it is unknown. */
export function finishReasonOf(word: string): FinishReason {
  return rowOf(WORDS, word) ?? word;
}

/** Returns the reason why an answer that ended with this word cannot be used; undefined for any other word. */
export function finishFault(word: unknown): FinishFault | undefined {
  return typeof word === 'string' ? rowOf(FAULTS, word) : undefined;
}

/** True if the model ended by itself, so that the answer is complete. False for an unknown word. */
export function endedByItself(word: unknown): boolean {
  return typeof word === 'string' && ['stop', 'tool_calls'].includes(finishReasonOf(word));
}

function rowOf<Row>(table: Record<string, Row>, word: string): Row | undefined {
  // Gemini says more behind a colon: `content_filter: PROHIBITED_CONTENT`.
  const [kind = ''] = word.split(':', 1);
  const plain = kind
    .trim()
    .replace(/([a-z])([A-Z])/g, '$1_$2')
    .toLowerCase()
    .replaceAll(/[\s-]/g, '_');
  return Object.hasOwn(table, plain) ? table[plain] : undefined;
}
