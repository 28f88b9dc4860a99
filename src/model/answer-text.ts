import { type ErrorCode, ModelCallError } from '../core/domain/errors.ts';
import { isJsonObject } from '../core/domain/json.ts';
import type { ModelResponse, RawToolCall } from '../core/domain/model.ts';
import { unknownField } from '../core/domain/text.ts';
import type { ModelDelta } from '../core/domain/stream.ts';
import type { FinishReason } from '../core/domain/tool-calls.ts';

/** Facts about an answer in addition to the response. */
interface ExpectedAnswer {
  /** True if the caller handles an empty answer itself. */
  mayBeEmpty?: boolean;
  /** True if reasoning in tags was removed from its text. */
  hasReasoned?: boolean;
}

/**
 * Throws a `ModelCallError` for a response without an answer: it is empty, has only reasoning, announces calls that
 * it lacks, or ended with an error. A partial answer is also refused, unless the model was cut off at its length.
 * Nothing in the response is trusted to be of its type. A refusal is an answer.
 */
export function requireAnswer(
  response: ModelResponse,
  model: string,
  { mayBeEmpty = false, hasReasoned = false }: ExpectedAnswer = {},
): void {
  const { content, toolCalls, structured, refusal, finishReason } = responseFields(response);
  const unknown = unknownField(responseFields(response), RESPONSE_FIELDS);
  if (unknown !== undefined)
    throw new ModelCallError('model_error', `The client of model "${model}" returned an answer with an ${unknown}`);
  const word = typeof finishReason === 'string' ? finishReason : '';
  if ((typeof refusal === 'string' && refusal !== '') || finishReasonOf(word) === 'refusal') return;
  const fault = finishFault(word);
  if (fault === 'withheld') failAnswer('content_filter', `The provider of "${model}" withheld the answer (content filter)`, word);
  if (fault === 'context_full')
    failAnswer('context_length_exceeded', `The context of model "${model}" was full before its answer ended`, word);
  if (fault === 'failed') failAnswer('model_no_answer', `Model "${model}" did not finish its answer`, word);
  if (Array.isArray(toolCalls) && toolCalls.length > 0) return;
  if (mayBeEmpty || (structured !== undefined && structured !== null)) return;
  if (finishReasonOf(word) === 'tool_calls')
    failAnswer('model_no_answer', `The answer of model "${model}" announces tool calls and has none`, word);
  const text = typeof content === 'string' ? content : '';
  if (VISIBLE.test(splitReasoning(text).text)) return;
  const isReasoning = hasReasoned || VISIBLE.test(text);
  failAnswer('model_no_answer', `The answer of model "${model}" ${isReasoning ? 'has reasoning alone' : 'is empty'}`, word);
}

/** The fields of a client's answer. The compiler reports a missing and an unknown one. */
const RESPONSE_FIELDS: Readonly<Record<keyof ModelResponse, true>> = {
  content: true,
  toolCalls: true,
  usage: true,
  finishReason: true,
  refusal: true,
  structured: true,
  confidence: true,
  providerItems: true,
  account: true,
  notices: true,
  warnings: true,
  sources: true,
  files: true,
  hosted: true,
  raw: true,
};

/** A visible character: neither whitespace nor a formatting character such as a zero-width space. */
const VISIBLE = /[^\s\p{Cf}]/u;

function failAnswer(code: ErrorCode, message: string, word: string): never {
  throw new ModelCallError(code, `${message} (${word === '' ? 'no finish reason' : `finish reason ${JSON.stringify(word.slice(0, 64))}`})`);
}

const CALL_OPEN = '<tool_call>';
const CALL_CLOSE = '</tool_call>';

/**
 * Converts a response whose whole text consists of calls of known tools, as servers without a parser for their model send
 * it, to one with these calls. `<tool_call>{"name": …, "arguments": {…}}</tool_call>` is the form that most open models are
 * trained on. If anything else is in the text, or anything is missing, it stays text.
 */
export function readCallsInText(response: ModelResponse, tools: readonly { name: string }[]): ModelResponse {
  const { content, toolCalls, finishReason, refusal } = responseFields(response);
  if (typeof content !== 'string' || (Array.isArray(toolCalls) && toolCalls.length > 0) || refusal) return response;
  if (!endedByItself(finishReason)) return response;
  const calls = callsIn(splitReasoning(content).text, new Set(tools.map(({ name }) => name)));
  return calls === undefined ? response : { ...response, content: '', toolCalls: calls, finishReason: 'tool_calls' };
}

/** Holds back the text of an answer from readers while it may consist of calls, which is known only at its end. */
export class CallsInTextHold {
  #held = '';
  #isText: boolean;

  /** Without tools, no text is a call. */
  constructor({ tools }: { tools: readonly unknown[] }) {
    this.#isText = tools.length === 0;
  }

  /** Returns what may be shown after a delta. */
  add(delta: ModelDelta): ModelDelta[] {
    if (delta.type === 'tool_input') return [...this.release(), delta];
    if (delta.type !== 'text' || this.#isText) return [delta];
    this.#held += delta.text;
    const begun = this.#held.slice(0, MAX_BLANKS + CALL_OPEN.length).trimStart();
    const mayBeCall = begun.startsWith(CALL_OPEN) || CALL_OPEN.startsWith(begun);
    return mayBeCall ? [] : this.release();
  }

  /** Returns the held text, which is no call. */
  release(): ModelDelta[] {
    const text = this.#held;
    this.#held = '';
    this.#isText = true;
    return text === '' ? [] : [{ type: 'text', text }];
  }
}

function callsIn(text: string, tools: ReadonlySet<string>): RawToolCall[] | undefined {
  const calls: RawToolCall[] = [];
  let rest = text.trim();
  while (rest !== '') {
    const close = rest.startsWith(CALL_OPEN) ? rest.indexOf(CALL_CLOSE) : -1;
    const call = close < 0 ? undefined : callOf(rest.slice(CALL_OPEN.length, close), tools);
    if (call === undefined) return undefined;
    calls.push(call);
    rest = rest.slice(close + CALL_CLOSE.length).trimStart();
  }
  return calls.length === 0 ? undefined : calls;
}

function callOf(text: string, tools: ReadonlySet<string>): RawToolCall | undefined {
  try {
    const call: unknown = JSON.parse(text);
    if (!isJsonObject(call)) return undefined;
    const { name, arguments: args, ...others } = call;
    const isCall = typeof name === 'string' && tools.has(name) && isJsonObject(args) && Object.keys(others).length === 0;
    return isCall ? { name, arguments: args } : undefined;
  } catch {
    return undefined;
  }
}

/** The marks around reasoning at the beginning of an answer, if the server does not remove it. */
const REASONING_BLOCKS: readonly { open: string; close: string }[] = [
  { open: '<think>', close: '</think>' },
  { open: '<thinking>', close: '</thinking>' },
  { open: '<thought>', close: '</thought>' },
  { open: '<reasoning>', close: '</reasoning>' },
  { open: '[THINK]', close: '[/THINK]' },
  { open: '◁think▷', close: '◁/think▷' },
  { open: '<|channel|>analysis<|message|>', close: '<|end|><|start|>assistant<|channel|>final<|message|>' },
];

/** The most whitespace characters before the first block: an answer that begins with more is text. */
const MAX_BLANKS = 1_000;

/** A piece of an answer: reasoning or text. */
export interface AnswerPiece {
  type: 'text' | 'reasoning';
  text: string;
}

/**
 * Separates the reasoning at the beginning of an answer (`<think>…</think>`) while the answer arrives in pieces of any size. Blocks
 * count only at the very beginning, in sequence; what follows the last one, without leading whitespace, is the answer. Nothing
 * after a block that is not closed is an answer.
 */
export class ReasoningSplitter {
  /** Text that is not yet known to be reasoning or answer. */
  #held = '';
  #at: 'beginning' | 'text' | { close: string } = 'beginning';
  #hasReasoned = false;

  /** Returns the pieces that are known so far. */
  add(text: string): AnswerPiece[] {
    if (this.#at === 'text') return piece('text', text);
    this.#held += text;
    const pieces: AnswerPiece[] = [];
    for (let next = this.#next(); next !== undefined; next = this.#next()) pieces.push(...next);
    return pieces;
  }

  /** Returns the rest, at the end of the answer. */
  end(): AnswerPiece[] {
    const rest = this.#held;
    this.#held = '';
    return piece(typeof this.#at === 'object' ? 'reasoning' : 'text', rest);
  }

  /** Takes one step; undefined if more has to arrive first. */
  #next(): AnswerPiece[] | undefined {
    if (this.#at === 'text') return undefined;
    return this.#at === 'beginning' ? this.#begin() : this.#reason(this.#at.close);
  }

  #begin(): AnswerPiece[] | undefined {
    const held = this.#held.trimStart();
    const blanks = this.#held.length - held.length;
    if (this.#hasReasoned) this.#held = held;
    const mayBegin = this.#hasReasoned || blanks <= MAX_BLANKS;
    const block = mayBegin ? REASONING_BLOCKS.find(({ open }) => held.startsWith(open)) : undefined;
    if (block !== undefined) {
      this.#held = held.slice(block.open.length);
      this.#at = { close: block.close };
      this.#hasReasoned = true;
      return [];
    }
    if (mayBegin && REASONING_BLOCKS.some(({ open }) => open.startsWith(held))) return undefined;
    const text = this.#held;
    this.#held = '';
    this.#at = 'text';
    return piece('text', text);
  }

  #reason(close: string): AnswerPiece[] | undefined {
    const end = this.#held.indexOf(close);
    if (end >= 0) {
      const reasoning = this.#held.slice(0, end);
      this.#held = this.#held.slice(end + close.length);
      this.#at = 'beginning';
      return piece('reasoning', reasoning);
    }
    const known = this.#held.slice(0, this.#held.length - beginningAtEnd(this.#held, close));
    if (known === '') return undefined;
    this.#held = this.#held.slice(known.length);
    return piece('reasoning', known);
  }
}

/** Splits an answer into the reasoning at its beginning and the rest. */
export function splitReasoning(answer: string): Record<AnswerPiece['type'], string> {
  const splitter = new ReasoningSplitter();
  const pieces = [...splitter.add(answer), ...splitter.end()];
  const joined = (type: AnswerPiece['type']): string =>
    pieces
      .filter((one) => one.type === type)
      .map(({ text }) => text)
      .join('');
  return { text: joined('text'), reasoning: joined('reasoning') };
}

function piece(type: AnswerPiece['type'], text: string): AnswerPiece[] {
  return text === '' ? [] : [{ type, text }];
}

/** Returns the length of the longest suffix of a text that is a prefix of the mark. */
function beginningAtEnd(text: string, mark: string): number {
  for (let length = Math.min(mark.length - 1, text.length); length > 0; length -= 1)
    if (text.endsWith(mark.slice(0, length))) return length;
  return 0;
}

/** The finish reason for each word of a provider, in lower case and with underscores. */
const FINISH_REASONS: Record<string, FinishReason> = {
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

/** The fault that a finish reason reports, if the answer is neither complete nor cut at its length. */
type FinishFault =
  /** The provider withheld it. */
  | 'withheld'
  /** The context of the model was full before the answer ended. */
  | 'context_full'
  /** The provider gave up. */
  | 'failed';

/** Finish reasons of OpenAI, Anthropic, Gemini, Bedrock, Cohere, DeepSeek, Zhipu, vLLM, SGLang, OpenRouter and LiteLLM. */
const FINISH_FAULTS: Record<string, FinishFault> = {
  content_filter: 'withheld',
  content_filtered: 'withheld',
  safety: 'withheld',
  image_safety: 'withheld',
  image_prohibited_content: 'withheld',
  recitation: 'withheld',
  image_recitation: 'withheld',
  blocklist: 'withheld',
  prohibited_content: 'withheld',
  spii: 'withheld',
  sensitive: 'withheld',
  guardrail_intervened: 'withheld',
  error_toxic: 'withheld',
  model_context_window_exceeded: 'context_full',
  context_window_exceeded: 'context_full',
  context_length_exceeded: 'context_full',
  error_limit: 'context_full',
  error: 'failed',
  failed: 'failed',
  abort: 'failed',
  aborted: 'failed',
  cancelled: 'failed',
  canceled: 'failed',
  user_cancel: 'failed',
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
  missing_thought_signature: 'failed',
  language: 'failed',
};

/** Returns the finish reason for a provider's word, or the word itself if it is unknown. */
export function finishReasonOf(word: string): FinishReason {
  return rowOf(FINISH_REASONS, word) ?? word;
}

/** Returns why an answer with this finish reason cannot be used; undefined if it can. */
export function finishFault(word: unknown): FinishFault | undefined {
  return typeof word === 'string' ? rowOf(FINISH_FAULTS, word) : undefined;
}

/** True if the model ended on its own, so the answer is complete. False for an unknown word. */
export function endedByItself(word: unknown): boolean {
  return typeof word === 'string' && ['stop', 'tool_calls'].includes(finishReasonOf(word));
}

function rowOf<Row>(table: Record<string, Row>, word: string): Row | undefined {
  // Gemini adds details after a colon: `content_filter: PROHIBITED_CONTENT`.
  const [kind = ''] = word.split(':', 1);
  const plain = kind
    .trim()
    .replace(/([a-z])([A-Z])/g, '$1_$2')
    .toLowerCase()
    .replaceAll(/[\s-]/g, '_');
  return Object.hasOwn(table, plain) ? table[plain] : undefined;
}

/** Returns the fields of a response, each of which a model client may have set wrongly. */
export function responseFields(response: unknown): Partial<Record<keyof ModelResponse, unknown>> {
  return typeof response === 'object' && response !== null ? response : {};
}
