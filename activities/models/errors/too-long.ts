import { shownValue } from '../../../src/core/domain/text.ts';
import { UsageError } from '../../../src/core/domain/errors.ts';
import { defined } from '../../../src/core/domain/json.ts';
import { requireKnown } from '../../../src/define/option-checks.ts';

/** Your own row for `tooLong` of `openai()`: a server's wording for a conversation that is too long. */
export interface TooLongRule {
  /** The HTTP status. Default: any. An error inside an answer of status 200 has none. */
  status?: number;
  /**
   * A part of the message, ignoring case, or a regular expression for it, tested on the first 8 kB of the provider's text: write an
   * expression whose work grows linearly with the length of the text.
   */
  text: string | RegExp;
}

/** The part of a reported error that the table reads. */
interface Reported {
  status: number | undefined;
  words: readonly string[];
  message: string;
}

/** A row of the table: all of its conditions must hold. */
interface TooLongRow {
  status?: readonly number[];
  /** Matches a machine-readable word of the error. */
  word?: RegExp;
  /** Matches the message. */
  text?: RegExp;
  /** Decides by the message and the numbers that `text` captures. */
  when?: (numbers: number[], message: string) => boolean;
}

/**
 * The providers' wordings for a conversation that is too long for the model. The work of each expression grows linearly with the length of
 * the provider's text: repetitions are bounded.
 */
const TOO_LONG: readonly TooLongRow[] = [
  // OpenAI, Azure, Groq, Cerebras, DeepSeek; llama.cpp; Copilot; GitHub Models.
  {
    word: /^(?:context_length_exceeded|context_window_exceeded|exceed_context_size_error|model_max_prompt_tokens_exceeded|tokens_limit_reached)$/i,
  },
  // Z.ai. Anthropic, for the bytes of the request.
  { status: [400], word: /^1261$/ },
  { status: [413], word: /^request_too_large$/ },
  // LiteLLM, and gateways that put the whole error of another provider into their message.
  { text: /context_length_exceeded|ContextWindowExceeded|exceed_context_size_error|model_context_window_exceeded/ },
  // OpenAI, Azure, vLLM, SGLang, DeepSeek, OpenRouter, Fireworks, Mistral, Ollama.
  { text: /max(?:imum)? context length/i, when: (_, message) => !isFilledByAnswer(message) },
  // OpenAI, Anthropic, llama.cpp, Ollama, Cloudflare.
  { text: /exceed(?:s|ed)? (?:(?:the|this|available|max|maximum|model|model's) ){0,4}context (?:length|window|limit|size)/i },
  // MiniMax, LM Studio.
  { text: /context (?:length|window|size|limit) (?:is |was |has been )?exceed/i },
  // Anthropic, also on Bedrock and Vertex; Bedrock; Fireworks; Ollama.
  { text: /\b(?:prompt|input|conversation) (?:is )?too long\b/i },
  // Gemini, Vertex, Bedrock with Nova, Bedrock with others.
  { text: /input token count[^.]{0,60} (?:exceeds the maximum|but model only supports)/i },
  { text: /number of input tokens exceeds|too many input tokens/i },
  // OpenAI and Azure, for models with a separate input limit.
  { text: /input tokens exceed the configured limit/i },
  // xAI.
  { text: /maximum prompt length is/i },
  // Cohere.
  { text: /too many tokens: (?:size limit exceeded|total number of tokens)/i },
  // Groq, Cerebras, Bedrock with Llama.
  { text: /reduce the length of the (?:messages|input|prompt)/i, when: (_, message) => !isFilledByAnswer(message) },
  // OpenRouter with Poolside, SGLang, TensorRT-LLM, Volcengine.
  { text: /(?:input|prompt) length (?:\(?[\d,.]{1,15}(?: tokens)?\)? )?exceeds (?:the )?max/i },
  // SGLang, Together; vLLM.
  { text: /longer than the (?:model's|maximum) (?:context|model) length/i },
  // LM Studio.
  { text: /tokens to keep from the initial prompt|context length of only|reached context length|n_keep \(/i },
  // vLLM before its messages had numbers; TensorRT-LLM; SiliconFlow.
  { text: /max_tokens must be at least 1, got -|default_max_tokens \(-\d/i },
  { text: /should not exceed max_(?:num_tokens|input_len|seq_len)|must be less than max_seq_len|exceeds max_seq_len/i },
  // TGI, Together.
  {
    text: /inputs`? tokens \+ `?max_new_tokens`? must be <= (\d{1,12})\. Given: \d{1,12} `?inputs`? tokens and (\d{1,12})/i,
    when: ([limit = 0, answer = 0]) => !leavesNoRoom(answer, limit),
  },
  { text: /inputs`? must have less than \d{1,12} tokens/i },
  // Kimi; Z.ai and Fireworks with its models; Volcengine; DashScope; Copilot; a server of DeepSeek's weights.
  { text: /exceeded model token limit/i },
  { text: /prompt exceeds max length|tokens in request more than max tokens allowed/i },
  { text: /exceed max message tokens/i },
  { text: /range of input length should be/i },
  { text: /prompt token count of \d{1,12} exceeds the limit/i },
  { text: /but the configured context size is/i },
  // GitHub Models.
  { status: [413], text: /max size: \d{1,12} tokens/i },
];

/** OpenAI and Groq, for a request that exceeds what the account may send in a minute or a day: waiting does not help. */
const PER_PERIOD = /tokens per (?:min|day)[^:]{0,20}: limit:? (\d[\d,]{0,14}),? (?:used:? \d[\d,]{0,14},? )?requested:? (\d[\d,]{0,14})/i;

/** True for an error that a shorter conversation would fix. `own`: the user's rows. */
export function isTooLong(error: Reported, own: readonly TooLongRule[] = []): boolean {
  if (own.some((rule) => fitsRule(rule, error))) return true;
  if (error.status === 413 || error.status === 429) {
    const [, limit = '', requested = ''] = PER_PERIOD.exec(error.message) ?? [];
    if (numberOf(requested) > numberOf(limit)) return true;
  }
  return TOO_LONG.some((row) => fitsRow(row, error));
}

function fitsRow({ status, word, text, when }: TooLongRow, error: Reported): boolean {
  if (status !== undefined && !status.includes(error.status ?? 0)) return false;
  if (word !== undefined && !error.words.some((candidate) => word.test(candidate))) return false;
  if (text === undefined) return true;
  if (!mayQuoteLength(error.status)) return false;
  const [found, ...numbers] = text.exec(error.message) ?? [];
  return found !== undefined && (when === undefined || when(numbers.map(numberOf), error.message));
}

/** False for a status with another meaning: a key, a path, or a rate, whose messages also mention tokens. */
function mayQuoteLength(status: number | undefined): boolean {
  return status === undefined || (status >= 400 && ![401, 402, 403, 404, 429].includes(status));
}

/** The size of the context, and of the answer that the request asks for, in messages that name both. */
const WINDOW = /maximum context length is (\d{1,12})/i;
const ANSWER =
  /(\d{1,12}) (?:in|for) the completion|requested (\d{1,12}) output tokens|max_(?:completion_)?tokens'? is too large: (\d{1,12})/i;

/** True if the message says that the answer's limit does not fit, which no shorter conversation would fix. */
function isFilledByAnswer(message: string): boolean {
  const [, limit = ''] = WINDOW.exec(message) ?? [];
  const [, ...answers] = ANSWER.exec(message) ?? [];
  const answer = answers.find((text) => text !== undefined);
  return limit !== '' && answer !== undefined && leavesNoRoom(numberOf(answer), numberOf(limit));
}

/** True if an answer of that size takes nearly all of the context. */
function leavesNoRoom(answer: number, limit: number): boolean {
  return answer > limit * 0.9;
}

function numberOf(text: string): number {
  return Number(text.replaceAll(',', ''));
}

function fitsRule({ status, text }: TooLongRule, error: Reported): boolean {
  if (status !== undefined && status !== error.status) return false;
  if (typeof text === 'string') return error.message.toLowerCase().includes(text.toLowerCase());
  text.lastIndex = 0;
  return text.test(error.message);
}

const MOST_RULES = 50;
const LONGEST_RULE = 500;

/** Checks the option `tooLong`. Throws a `UsageError`. */
export function checkTooLong(owner: string, rules: readonly TooLongRule[]): readonly TooLongRule[] {
  if (!Array.isArray(rules)) throw new UsageError(`${owner} is not a list: write [{ status: 400, text: 'input too big' }]`);
  if (rules.length > MOST_RULES) throw new UsageError(`${owner} has ${rules.length} rows, over ${MOST_RULES}`);
  return rules.map((rule: TooLongRule, index) => {
    requireKnown(`${owner}: row ${index + 1}`, rule, { status: true, text: true });
    const { status, text } = rule;
    const source: unknown = text instanceof RegExp ? text.source : text;
    if (typeof source !== 'string' || source.trim() === '' || source.length > LONGEST_RULE) {
      throw new UsageError(`${owner}: row ${index + 1}: "text" must be a text or an expression of at most ${LONGEST_RULE} characters`);
    }
    if (status !== undefined && (!Number.isInteger(status) || status < 400 || status > 599)) {
      throw new UsageError(`${owner}: row ${index + 1}: "status" is ${shownValue(status)}: it must be from 400 to 599`);
    }
    return { ...defined({ status }), text: text instanceof RegExp ? new RegExp(text) : text };
  });
}
