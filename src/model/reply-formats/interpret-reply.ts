import { checkRunCode } from '../../core/code/run-code.ts';
import { cellCode } from '../../core/domain/execution.ts';
import type { CodeLanguage } from '../../core/domain/code.ts';
import { isToolCall } from '../../core/domain/content.ts';
import { RUN_CODE, UNUSABLE_REPLY } from '../../core/domain/tool-calls.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../core/domain/json.ts';
import type { ModelResponse, RecordedResponse } from '../../core/domain/model.ts';
import { checkJson } from '../../core/json-schema/check-json-schema.ts';
import { finishReasonOf } from '../finish-words.ts';
import { type InterpretOptions, interpretResponse } from '../interpret-response.ts';
import { parseJsonText } from '../parse-json-text.ts';
import type { UnusableReason } from './unusable-reply.ts';

/** Returns a model's response in the form that is recorded: the loop sees tool calls and answers, in any format. */
export function interpretReply(response: ModelResponse, options: InterpretOptions, final: boolean): RecordedResponse {
  switch (options.snapshot.replyFormat) {
    case 'json':
      return readJsonReply(response, options);
    case 'code':
      return readCodeReply(response, options, final);
    default:
      return interpretResponse(response, options);
  }
}

/**
 * Returns an answer with code in the form that is recorded: its text, and a call of `run_code` without arguments, because the code
 * is in the text already. In the final attempt nothing runs: the text is the answer.
 */
function readCodeReply(response: ModelResponse, options: InterpretOptions, final: boolean): RecordedResponse {
  const read = textResponse(response);
  // A model that calls `run_code` in the provider's own way is understood, too; a refusal is no attempt at the format.
  if (read === undefined) return interpretResponse(response, options);
  const { text, rest } = read;
  if (final) return interpretResponse({ ...rest, content: text, toolCalls: [] }, options);
  const { output: _, code, ...snapshot } = options.snapshot;
  const call = { id: options.replyId, name: RUN_CODE, arguments: {} };
  // Without `code` in the snapshot, the arguments are not checked: they have no code.
  const recorded = interpretResponse({ ...rest, content: text, toolCalls: [call] }, { ...options, snapshot });
  const problem = problemOf(cellCode(recorded.content, call), code?.executor.language ?? 'javascript');
  return problem === undefined ? recorded : withProblem(recorded, problem);
}

/** Returns the reason why the code of an answer must not run; undefined if it may. */
function problemOf(code: string | undefined, language: CodeLanguage): string | undefined {
  return code === undefined ? blockOnly(language) : checkRunCode({ code }).problem;
}

/** Returns the text by which the model learns that its answer has no block of code. */
function blockOnly(language: CodeLanguage): string {
  return `Please respond with a ${language} block only.`;
}

/** The texts by which the model learns that its answer cannot be used. */
const FEEDBACK: Record<UnusableReason, string> = {
  not_json:
    'Your reply was not valid JSON in the required format. Reply with one JSON object: {"tool": "<name>", "arguments": {…}}, {"answer": …} or {"scratchpad": "<notes>"}.',
  scratchpad: 'Scratchpad noted.',
  empty: 'The reply has none of the fields "tool", "answer" and "scratchpad".',
};

/**
 * Returns an answer in the JSON format in the form that is recorded: a call of a tool with the note beside it as its text, or the
 * answer itself. An answer that is neither becomes a call of `unusable_reply`, which the tool phase answers with what is wrong.
 */
function readJsonReply(response: ModelResponse, options: InterpretOptions): RecordedResponse {
  const read = textResponse(response);
  // A model that calls tools in the provider's own way is understood, too; a refusal is no attempt at the format.
  if (read === undefined) return interpretResponse(response, options);
  const { text, rest } = read;
  const reply = jsonReply(text);
  switch (reply.type) {
    case 'tool': {
      const call = { id: options.replyId, name: reply.name, arguments: reply.arguments };
      return interpretResponse({ ...rest, content: reply.scratchpad ?? '', toolCalls: [call] }, options);
    }
    case 'answer':
      return interpretResponse({ ...rest, content: answerText(reply.value, options), toolCalls: [] }, options);
    case 'scratchpad':
      return unusable({ text: reply.note, rest }, 'scratchpad', options);
    case 'empty':
      return unusable(read, reply.isBare ? 'empty' : 'not_json', options);
    case 'not_json':
      return unusable(read, 'not_json', options);
  }
}

/**
 * Returns an answer as the text that is recorded. A structured answer is recorded as JSON; if the schema wants no text, a model
 * that wrote its JSON as a text meant the JSON.
 */
function answerText(value: JsonValue, { snapshot: { output } }: InterpretOptions): string {
  if (output === undefined) return textOf(value);
  return typeof value === 'string' && checkJson(output.schema, value).length > 0 ? value : JSON.stringify(value);
}

function unusable({ text, rest }: TextResponse, reason: UnusableReason, options: InterpretOptions): RecordedResponse {
  const call = { id: options.replyId, name: UNUSABLE_REPLY, arguments: { reason } };
  return withProblem(interpretResponse({ ...rest, content: text, toolCalls: [call] }, options), FEEDBACK[reason]);
}

/** Adds the reason why the only call of a response must not run. */
function withProblem(response: RecordedResponse, problem: string): RecordedResponse {
  const entries = response.content.filter(isToolCall).map(({ toolCallId }): [string, string] => [toolCallId, problem]);
  return { ...response, problems: Object.fromEntries(entries) };
}

/** The text of an answer, and the answer without its text. */
interface TextResponse {
  text: string;
  rest: Omit<ModelResponse, 'content' | 'toolCalls' | 'structured'>;
}

/**
 * Returns the text of an answer to read as a reply. Undefined if the answer is none: it calls tools in the provider's own way, the
 * model refused, or the provider withheld it. Nothing in the answer is trusted.
 */
function textResponse(response: ModelResponse): TextResponse | undefined {
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

/** An answer in the JSON format, by what it asks for. */
type JsonReply =
  | { type: 'tool'; name: string; arguments: JsonValue; scratchpad?: string }
  | { type: 'answer'; value: JsonValue }
  /** It only notes something. */
  | { type: 'scratchpad'; note: string }
  /** It is an object without a field that says what to do. */
  | { type: 'empty'; isBare: boolean }
  | { type: 'not_json' };

/** Reads the text of an answer. An answer goes before a tool, and a tool before a note. */
function jsonReply(text: string): JsonReply {
  const fields = jsonObjectIn(text);
  return fields === undefined ? { type: 'not_json' } : replyOf(fields);
}

function replyOf(fields: JsonObject): JsonReply {
  const tool = fieldOf(fields, 'tool') ?? null;
  const answer = fieldOf(fields, 'answer');
  // Models that fill in every field write null for the one that they do not mean.
  if (answer !== undefined && (answer !== null || tool === null)) return { type: 'answer', value: answer };
  const note = fieldOf(fields, 'scratchpad') ?? null;
  if (tool !== null) {
    const name = textOf(tool);
    return { type: 'tool', name, arguments: fieldOf(fields, 'arguments') ?? {}, ...(note === null ? {} : { scratchpad: textOf(note) }) };
  }
  if (note !== null) return { type: 'scratchpad', note: textOf(note) };
  return { type: 'empty', isBare: Object.keys(fields).length === 0 };
}

/** Only own fields count: an object of a model may lack any of them. */
function fieldOf(fields: JsonObject, name: string): JsonValue | undefined {
  return Object.hasOwn(fields, name) ? fields[name] : undefined;
}

/** Returns a value as text: a text itself, another value as JSON. */
function textOf(value: JsonValue): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

const FENCE = '```';

/**
 * Returns the JSON object that a text is, or that it has in its first code fence, without what the model wrote in reasoning tags.
 * Undefined if there is none. Takes time in proportion to the text.
 */
export function jsonObjectIn(text: string): JsonObject | undefined {
  const bare = withoutReasoning(text).trim();
  return objectOf(text) ?? objectOf(bare) ?? objectOf(fenced(bare) ?? '');
}

/** Removes each `<think>…</think>`, wherever it is, and tags that stand alone. */
function withoutReasoning(text: string): string {
  const [open, close] = ['<think>', '</think>'];
  let kept = '';
  let from = 0;
  for (;;) {
    const begin = text.indexOf(open, from);
    const end = begin < 0 ? -1 : text.indexOf(close, begin);
    if (end < 0) return (kept + text.slice(from)).replaceAll(open, '').replaceAll(close, '');
    kept += text.slice(from, begin);
    from = end + close.length;
  }
}

/** Never repairs: what is not JSON is sent back, so that no tool gets a value that the model did not write. */
function objectOf(text: string): JsonObject | undefined {
  const parsed = parseJsonText(text, false);
  return parsed.ok && isJsonObject(parsed.value) ? parsed.value : undefined;
}

/** Returns the content of the first code fence, without the language that it may name. */
function fenced(text: string): string | undefined {
  const open = text.indexOf(FENCE);
  const start = open + FENCE.length;
  const close = open < 0 ? -1 : text.indexOf(FENCE, start);
  return close < 0 ? undefined : text.slice(start, close).replace(/^json/i, '').trim();
}
