import { LANGUAGE_NAMES, toolsFor } from '../core/code/callable-tools.ts';
import { describeFunctions } from '../core/code/describe-functions.ts';
import { checkRunCode, codeRules, runCodeTool } from '../core/code/run-code.ts';
import type { AgentSnapshot, ReplyFormat } from '../core/domain/agent.ts';
import type { CodeLanguage } from '../core/domain/code.ts';
import {
  type ContentItem,
  type ContentPart,
  type ConversationStep,
  isToolCall,
  mediaIn,
  type Message,
  outputText,
  pruneSteps,
  type PruneStrategy,
  stepMessages,
  type ToolCall,
  type ToolResult,
} from '../core/domain/content.ts';
import { cellCode } from '../core/domain/execution.ts';
import { defined, isJsonObject, type JsonObject, type JsonValue } from '../core/domain/json.ts';
import type { ConversationEvent, ModelRequest, ModelResponse, RecordedResponse } from '../core/domain/model.ts';
import { shortened } from '../core/domain/text.ts';
import { RUN_CODE, textNamingMedia, UNUSABLE_REPLY } from '../core/domain/tool-calls.ts';
import { checkJson } from '../core/json-schema/check-json-schema.ts';
import { invalidArguments } from '../core/json-schema/read-by-schema.ts';
import { finishReasonOf } from './answer-text.ts';
import { type InterpretOptions, interpretResponse, INVALID_JSON } from './interpret-response.ts';
import { parseJsonText } from './parse-json.ts';

/** The parts of a request that depend on the format. */
interface RequestFormat {
  instructions(snapshot: AgentSnapshot): string;
  steps(snapshot: AgentSnapshot, conversation: readonly ConversationEvent[]): ReplyStep[];
  temperature(snapshot: AgentSnapshot, conversation: readonly ConversationEvent[]): number | undefined;
}

/** The most characters of a result that the model reads. */
const OBSERVATION_LENGTH = 500;

/** The observation of an action without output. */
const NO_OUTPUT = '(no output)';

const FENCE = '```';

/** The functions that code has in addition to the tools. */
const CODE_FUNCTIONS = [
  'store(name, value) keeps a value in the working memory, which you see with each observation; recall(name, default) returns it.',
  'observe(text) notes in the working memory what you have learned.',
  'uncertain(text), explore(text) and commit(text) say in the output how sure you are of your way.',
];

/** The default rule. */
const KEEP_LAST: PruneStrategy = { strategy: 'last_steps', keep: 5 };

const FORMATS: Record<ReplyFormat, RequestFormat> = {
  json: {
    instructions: jsonInstructions,
    steps: jsonSteps,
    temperature: ({ settings }, conversation) => jsonTemperature(conversation, settings.temperature),
  },
  code: {
    instructions: codeInstructions,
    steps: codeSteps,
    temperature: ({ settings }) => settings.temperature,
  },
};

/**
 * Returns a request for an agent with a custom answer format: the provider gets no tools and no schema, an instruction
 * describes them instead, and the conversation is text only.
 */
export function formattedRequest(request: ModelRequest, snapshot: AgentSnapshot, final: boolean): ModelRequest {
  if (snapshot.replyFormat === undefined) return request;
  const format = FORMATS[snapshot.replyFormat];
  const { conversation, instructions, output: _, settings, ...rest } = request;
  const { toolChoice: __, ...others } = settings;
  const temperature = final ? undefined : format.temperature(snapshot, conversation);
  return {
    ...rest,
    instructions: [...instructions, format.instructions(snapshot)],
    conversation: stepEvents(format.steps(snapshot, conversation), snapshot.name),
    tools: [],
    settings: { ...others, ...defined({ temperature }) },
  };
}

/** Returns steps as the conversation that a provider receives: only messages. `author` is the agent. */
function stepEvents(steps: readonly ReplyStep[], author: string): ConversationEvent[] {
  return steps.flatMap((step) => {
    const { items, beside = [] } = step;
    return stepMessages([step]).map((message): ConversationEvent => {
      if (message.role === 'assistant') return { author, content: [message], ...items };
      return { author: message.role, content: [step.type === 'action' ? withParts(message, beside) : message] };
    });
  });
}

function withParts(message: Message, beside: readonly ContentPart[]): Message {
  if (beside.length === 0 || typeof message.content !== 'string') return message;
  const texts = beside.flatMap((part) => (part.type === 'text' ? [part.text] : []));
  if (texts.length === beside.length) return { ...message, content: [message.content, ...texts].join('\n') };
  return { ...message, content: [{ type: 'text', text: message.content }, ...beside] };
}

const FIRST_TEMPERATURE = 0.7;
const TEMPERATURE_STEP = 0.2;
const HIGHEST_TEMPERATURE = 2;

/**
 * Returns the temperature of the next call. It begins at `first` (0.7) with each message of a user, and rises by 0.2, to 2 at most,
 * after each answer that could not be used and each call whose arguments were invalid.
 */
export function jsonTemperature(conversation: readonly ConversationEvent[], first: number = FIRST_TEMPERATURE): number {
  let failures = 0;
  for (const { content } of conversation) {
    if (content.some((item) => item.type === 'message' && item.role === 'user')) failures = 0;
    const isUnusable = content.filter(isToolCall).some((call) => unusableReason(call) !== undefined);
    const isInvalid = content.some((item) => item.type === 'tool_result' && isArgumentError(item));
    if (isUnusable || isInvalid) failures += 1;
  }
  if (failures === 0) return first;
  // Rounded, because the sum of such fractions is not exact.
  return Math.max(first, Math.min(HIGHEST_TEMPERATURE, Math.round((first + failures * TEMPERATURE_STEP) * 1e6) / 1e6));
}

/** Returns the instruction that describes the JSON format and the tools, which the provider does not receive. */
function jsonInstructions(snapshot: AgentSnapshot): string {
  const { output } = snapshot;
  const tools = toolLines(snapshot);
  return [
    'Reply with exactly one JSON object and no other text. It has one of these forms:',
    ...(tools.length === 0
      ? []
      : ['{"tool": "<name>", "arguments": {…}} calls a tool. The next message is its result: "Observation: …", or an error.']),
    `{"answer": …} gives the final answer${output === undefined ? ', as text' : ''}.`,
    '{"scratchpad": "<notes>"} only notes something. "scratchpad" may also accompany "tool".',
    ...(output === undefined ? [] : ['', `The value of "answer" must match this JSON Schema: ${JSON.stringify(output.schema)}`]),
    ...(tools.length === 0 ? [] : ['', 'Tools, each with the JSON Schema of its arguments:', ...tools]),
  ].join('\n');
}

function toolLines(snapshot: AgentSnapshot): string[] {
  const runCode = runCodeTool(snapshot);
  return [
    ...toolsFor('model', snapshot).map(({ name, description, schema }) => toolLine(name, description, schema)),
    ...(runCode === undefined ? [] : [toolLine(runCode.name, runCode.description, runCode.parameters)]),
  ];
}

function toolLine(name: string, description: string, schema: JsonObject): string {
  return `- ${name}: ${description}\n  ${JSON.stringify(schema)}`;
}

/** Returns the instruction that describes the code format, the tools as functions, and the other functions that code has. */
function codeInstructions(snapshot: AgentSnapshot): string {
  const { code, output } = snapshot;
  if (code === undefined) return '';
  const { executor } = code;
  const { language } = executor;
  const answer = output === undefined ? '' : ` It must match this JSON Schema: ${JSON.stringify(output.schema)}`;
  return [
    `Reply with exactly one block of ${LANGUAGE_NAMES[language]} code and no other text. It begins with ${FENCE}${language} and ends with ${FENCE}. Write your thoughts in it, as comments.`,
    'The code runs, isolated. The next message is what it printed ("Observation: …"), or its error.',
    `Call final_answer(value) once, with the result of the task: the task then ends.${answer}`,
    '',
    `The code can call these functions, besides what ${LANGUAGE_NAMES[language]} has:`,
    '',
    describeFunctions(snapshot, language),
    '',
    'Rules:',
    ...[...codeRules(code, snapshot), ...CODE_FUNCTIONS].map((rule) => `- ${rule}`),
  ].join('\n');
}

/** Returns a conversation as the model saw it: each answer as its text, each result of a cell as a user's text. */
function codeSteps({ code }: AgentSnapshot, conversation: readonly ConversationEvent[]): ReplyStep[] {
  const language = code?.executor.language ?? 'javascript';
  const rendering: ReplyRendering = {
    call: (call, text, result) => [{ type: 'action', reply: replyText(call, text, language), ...observationOf(result) }],
    answer: (text) => text,
  };
  return pruneSteps(replySteps(conversation, rendering), code?.prune ?? KEEP_LAST);
}

/** Returns the text of an answer. Code in a native tool call, or in an earlier call of another agent, is written as a code block. */
function replyText({ name, arguments: args }: ToolCall, text: string, language: CodeLanguage): string {
  if (Object.keys(args).length === 0 && name === RUN_CODE) return text;
  const code = name === RUN_CODE && typeof args['code'] === 'string' ? args['code'] : `${name}(${JSON.stringify(args)})`;
  return `${text === '' ? '' : `${text}\n\n`}\`\`\`${language}\n${code}\n\`\`\``;
}

function observationOf(result: ToolResult | undefined): Pick<Extract<ReplyStep, { type: 'action' }>, 'observation' | 'error' | 'beside'> {
  if (result === undefined) return {};
  const text = textNamingMedia(result.content);
  if (result.status === 'error') return { error: text, beside: notesOf(result) };
  return { observation: text === '' ? NO_OUTPUT : text, beside: [...notesOf(result), ...mediaIn(result)] };
}

/** Returns a conversation as the model saw it: each answer as a JSON object, each result as a user's text. */
function jsonSteps(snapshot: AgentSnapshot, conversation: readonly ConversationEvent[]): ReplyStep[] {
  const rendering: ReplyRendering = {
    call: (call, text, result) => unusableSteps(call, text, result) ?? [toolStep(call, text, result)],
    answer: (text) => (isReplyItself(text, snapshot) ? text : JSON.stringify({ answer: recordedAnswer(text, snapshot) })),
  };
  return replySteps(conversation, rendering);
}

/** Returns the value of an answer: a structured one is recorded as JSON. The text itself if it is not JSON. */
function recordedAnswer(text: string, { output }: Pick<AgentSnapshot, 'output'>): JsonValue {
  const parsed = output === undefined ? undefined : parseJsonText(text, false);
  return parsed?.ok ? parsed.value : text;
}

const REPLY_FIELDS = ['tool', 'arguments', 'answer', 'scratchpad'];

/** The first name of an object, as far as it has arrived, its closing quote, and the next character. */
const FIRST_NAME = /^\s*(?:```(?:json)?\s*)?\{\s*(?:"([a-z]*)("?))?(.?)/s;

/** True for a recorded text that is a reply as it arrived: the model was interrupted in it. A recorded answer is only its value. */
function isReplyItself(text: string, { output }: Pick<AgentSnapshot, 'output'>): boolean {
  const [found, name = '', quote, next] = FIRST_NAME.exec(text) ?? [];
  if (found === undefined || (output !== undefined && parseJsonText(text, false).ok)) return false;
  return quote === '"' ? REPLY_FIELDS.includes(name) : next === '' && REPLY_FIELDS.some((field) => field.startsWith(name));
}

function toolStep({ name, arguments: args }: ToolCall, text: string, result: ToolResult | undefined): ReplyStep {
  const reply = JSON.stringify({ ...(text === '' ? {} : { scratchpad: text }), tool: name, arguments: args });
  if (result === undefined) return { type: 'action', reply };
  const observed = textNamingMedia(result.content);
  if (result.status === 'error') return { type: 'action', reply, error: errorText(result, observed), beside: notesOf(result) };
  const observation = observed === '' ? NO_OUTPUT : shortened(observed, OBSERVATION_LENGTH);
  return { type: 'action', reply, observation, beside: [...notesOf(result), ...mediaIn(result)] };
}

/** Returns the text about a failed call. Problems with the arguments are not cut: the model needs all of them. */
function errorText(result: ToolResult, text: string): string {
  return isArgumentError(result) ? `ArgError: ${text}` : shortened(`ToolError: ${text}`, OBSERVATION_LENGTH);
}

/** Returns the steps of an unusable answer; undefined for any other call. An empty answer is requested again without showing it. */
function unusableSteps(call: ToolCall, text: string, result: ToolResult | undefined): ReplyStep[] | undefined {
  switch (unusableReason(call)) {
    case 'not_json':
      return [{ type: 'action', reply: text, error: result === undefined ? '' : textNamingMedia(result.content) }];
    case 'scratchpad':
      return [{ type: 'scratchpad', reply: JSON.stringify({ scratchpad: text }), note: text }];
    case 'empty':
      return [];
    case undefined:
      return undefined;
  }
}

/** True for the result of a call that was refused because of its arguments, before its tool did anything. */
function isArgumentError({ name, status, content: [text] }: ToolResult): boolean {
  if (status !== 'error' || typeof text !== 'string') return false;
  return text.startsWith(invalidArguments(name, '')) || text.startsWith(INVALID_JSON);
}

/** Returns the notes of a result that its text does not have: here the model reads all values of a result. */
function notesOf(result: ToolResult): ContentPart[] {
  const text = textNamingMedia(result.content);
  return (result.notes ?? []).flatMap((note) => (text.includes(note) ? [] : [{ type: 'text', text: `Note: ${note}` }]));
}

/** A step of a conversation, with its provider-specific parts. */
type ReplyStep = ConversationStep & {
  /** Opaque items of the provider that precede the answer, with their account, or that they are lost. */
  items?: Pick<ConversationEvent, 'providerItems' | 'account' | 'lostItems'>;
  /** The notes, images and other media that follow the observation. */
  beside?: ContentPart[];
};

/** How a format writes recorded answers. */
interface ReplyRendering {
  /** Writes a call with the text next to it and its result. Empty: the model does not see it again. */
  call(call: ToolCall, text: string, result: ToolResult | undefined): ReplyStep[];
  /** Writes an answer without a call. */
  answer(text: string): string;
}

/** Returns a conversation as text-only steps: a call and its result become one step, whichever events they are in. */
function replySteps(conversation: readonly ConversationEvent[], rendering: ReplyRendering): ReplyStep[] {
  const results = new Map(
    conversation.flatMap(({ content }) =>
      content.flatMap((item) => (item.type === 'tool_result' ? [[item.toolCallId, item] as const] : [])),
    ),
  );
  return conversation.flatMap(({ content, providerItems, account, lostItems }) => {
    const items = defined({ providerItems, account, lostItems });
    const steps = answerSteps(content, rendering, results);
    const index = steps.findIndex(({ type }) => type === 'action' || type === 'scratchpad');
    return Object.keys(items).length === 0 ? steps : steps.map((step, at) => (at === index ? { ...step, items } : step));
  });
}

function answerSteps(content: readonly ContentItem[], rendering: ReplyRendering, results: ReadonlyMap<string, ToolResult>): ReplyStep[] {
  const calls = content.filter(isToolCall);
  const steps: ReplyStep[] = [];
  let text = '';
  for (const item of content) {
    if (item.type !== 'message') continue;
    if (item.role === 'user') steps.push({ type: 'task', content: item.content });
    else if (item.role === 'system') steps.push({ type: 'system', text: outputText(item.content) });
    else if (calls.length === 0) steps.push({ type: 'action', reply: rendering.answer(outputText(item.content)) });
    else text = outputText(item.content);
  }
  // The text of an answer with several calls belongs to the first of them.
  return [...steps, ...calls.flatMap((call, index) => rendering.call(call, index === 0 ? text : '', results.get(call.toolCallId)))];
}

/** Returns a model's response in its recorded form: the loop sees tool calls and answers, in any format. */
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
 * Returns an answer with code in its recorded form: its text, and a call of `run_code` without arguments, because the code
 * is in the text already. In the final attempt nothing runs: the text is the answer.
 */
function readCodeReply(response: ModelResponse, options: InterpretOptions, final: boolean): RecordedResponse {
  const read = textResponse(response);
  // A native call of `run_code` is also accepted; a refusal is not an attempt at the format.
  if (read === undefined) return interpretResponse(response, options);
  const { text, rest } = read;
  if (final) return interpretResponse({ ...rest, content: text, toolCalls: [] }, options);
  const { output: _, code, ...snapshot } = options.snapshot;
  const call = { id: options.replyId, name: RUN_CODE, arguments: {} };
  // Without `code` in the snapshot, the arguments are not checked: they have no code.
  const recorded = interpretResponse({ ...rest, content: text, toolCalls: [call] }, { ...options, snapshot });
  const problem = codeProblem(cellCode(recorded.content, call), code?.executor.language ?? 'javascript');
  return problem === undefined ? recorded : withProblem(recorded, problem);
}

/** Returns why the code of an answer must not run; undefined if it may. */
function codeProblem(code: string | undefined, language: CodeLanguage): string | undefined {
  return code === undefined ? blockOnly(language) : checkRunCode({ code }).problem;
}

/** Returns the message to the model that its answer has no code block. */
function blockOnly(language: CodeLanguage): string {
  return `Please respond with a ${language} block only.`;
}

/** The messages to the model that its answer cannot be used. */
const FEEDBACK: Record<UnusableReason, string> = {
  not_json:
    'Your reply was not valid JSON in the required format. Reply with one JSON object: {"tool": "<name>", "arguments": {…}}, {"answer": …} or {"scratchpad": "<notes>"}.',
  scratchpad: 'Scratchpad noted.',
  empty: 'The reply has none of the fields "tool", "answer" and "scratchpad".',
};

/**
 * Returns an answer in the JSON format in its recorded form: a tool call with the note next to it as its text, or the
 * answer itself. Anything else becomes a call of `unusable_reply`, which the tool phase answers with the problem.
 */
function readJsonReply(response: ModelResponse, options: InterpretOptions): RecordedResponse {
  const read = textResponse(response);
  // Native tool calls are also accepted; a refusal is not an attempt at the format.
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
      return unusableReply({ text: reply.note, rest }, 'scratchpad', options);
    case 'empty':
      return unusableReply(read, reply.isBare ? 'empty' : 'not_json', options);
    case 'not_json':
      return unusableReply(read, 'not_json', options);
  }
}

/**
 * Returns the text to record for an answer. A structured answer is recorded as JSON; if the schema does not accept text, a model
 * that wrote its JSON as a text meant the JSON.
 */
function answerText(value: JsonValue, { snapshot: { output } }: InterpretOptions): string {
  if (output === undefined) return valueText(value);
  return typeof value === 'string' && checkJson(output.schema, value).length > 0 ? value : JSON.stringify(value);
}

function unusableReply({ text, rest }: TextResponse, reason: UnusableReason, options: InterpretOptions): RecordedResponse {
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
 * Returns the text of an answer to read as a reply. Undefined if it is not a reply: it has native tool calls, the
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

/** An answer in the JSON format, by its kind. */
type JsonReply =
  | { type: 'tool'; name: string; arguments: JsonValue; scratchpad?: string }
  | { type: 'answer'; value: JsonValue }
  /** It only has a note. */
  | { type: 'scratchpad'; note: string }
  /** An object without a field that says what to do. */
  | { type: 'empty'; isBare: boolean }
  | { type: 'not_json' };

/** Reads the text of an answer. An answer takes precedence over a tool, and a tool over a note. */
function jsonReply(text: string): JsonReply {
  const fields = jsonObjectIn(text);
  return fields === undefined ? { type: 'not_json' } : replyFrom(fields);
}

function replyFrom(fields: JsonObject): JsonReply {
  const tool = fieldOf(fields, 'tool') ?? null;
  const answer = fieldOf(fields, 'answer');
  // Models that fill in every field write null for the one that they do not mean.
  if (answer !== undefined && (answer !== null || tool === null)) return { type: 'answer', value: answer };
  const note = fieldOf(fields, 'scratchpad') ?? null;
  if (tool !== null) {
    const name = valueText(tool);
    return { type: 'tool', name, arguments: fieldOf(fields, 'arguments') ?? {}, ...(note === null ? {} : { scratchpad: valueText(note) }) };
  }
  if (note !== null) return { type: 'scratchpad', note: valueText(note) };
  return { type: 'empty', isBare: Object.keys(fields).length === 0 };
}

/** Returns an own field: an object from a model may lack any field. */
function fieldOf(fields: JsonObject, name: string): JsonValue | undefined {
  return Object.hasOwn(fields, name) ? fields[name] : undefined;
}

/** Returns a value as text: a text itself, another value as JSON. */
function valueText(value: JsonValue): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/**
 * Returns the JSON object in a text, as a whole or in its first code fence, ignoring reasoning tags.
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

/** The reason why an answer cannot be used. */
type UnusableReason = 'not_json' | 'scratchpad' | 'empty';

/** Returns the reason that a call of `unusable_reply` records; undefined for any other call. */
function unusableReason({ name, arguments: { reason } }: Pick<ToolCall, 'name' | 'arguments'>): UnusableReason | undefined {
  if (name !== UNUSABLE_REPLY) return undefined;
  return reason === 'scratchpad' || reason === 'empty' ? reason : 'not_json';
}
