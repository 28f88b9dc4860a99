import { LANGUAGE_NAMES, toolsFor } from '../../core/code/callable-tools.ts';
import { describeFunctions } from '../../core/code/describe-functions.ts';
import { codeRules, runCodeTool } from '../../core/code/run-code.ts';
import type { AgentSnapshot, ReplyFormat } from '../../core/domain/agent.ts';
import type { CodeLanguage } from '../../core/domain/code.ts';
import {
  type ContentItem,
  type ContentPart,
  type ConversationStep,
  isToolCall,
  type Message,
  outputText,
  partText,
  pruneSteps,
  type PruneStrategy,
  stepMessages,
  type ToolCall,
  type ToolResult,
} from '../../core/domain/content.ts';
import { shortened } from '../../core/domain/text.ts';
import { resultText, RUN_CODE } from '../../core/domain/tool-calls.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../core/domain/json.ts';
import type { ConversationEvent, ModelRequest } from '../../core/domain/model.ts';
import { parseJsonText } from '../parse-json-text.ts';
import { unusableReason } from './unusable-reply.ts';

/** The parts of a request that depend on the format. */
interface RequestFormat {
  instructions(snapshot: AgentSnapshot): string;
  steps(snapshot: AgentSnapshot, conversation: readonly ConversationEvent[]): ReplyStep[];
  temperature(snapshot: AgentSnapshot, conversation: readonly ConversationEvent[]): number | undefined;
}

/** Characters of a result that the model reads. */
const OBSERVATION_LENGTH = 500;

/** The observation of an action that gave nothing. */
const NO_OUTPUT = '(no output)';

const FENCE = '```';

/** The functions that code has besides the tools. */
const NAMESPACE = [
  'store(name, value) keeps a value in the working memory, which you see with each observation; recall(name, default) returns it.',
  'observe(text) notes in the working memory what you have learned.',
  'uncertain(text), explore(text) and commit(text) say in the output how sure you are of your way.',
];

/** The rule of an agent that sets none. */
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
 * Returns a request to an agent that answers in a form of its own: the provider is told of no tools and no schema, an instruction
 * describes them instead, and the conversation is text alone.
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
    settings: { ...others, ...(temperature === undefined ? {} : { temperature }) },
  };
}

/** Returns steps as the conversation that a provider receives: messages alone. `author` is the agent. */
function stepEvents(steps: readonly ReplyStep[], author: string): ConversationEvent[] {
  return steps.flatMap((step) => {
    const { providerItems, media = [] } = step;
    return stepMessages([step]).map((message): ConversationEvent => {
      if (message.role === 'assistant') return { author, content: [message], ...(providerItems === undefined ? {} : { providerItems }) };
      return { author: message.role, content: [step.type === 'action' ? withMedia(message, media) : message] };
    });
  });
}

function withMedia(message: Message, media: NonNullable<ReplyStep['media']>): Message {
  if (media.length === 0 || typeof message.content !== 'string') return message;
  return { ...message, content: [{ type: 'text', text: message.content }, ...media] };
}

const FIRST = 0.7;
const STEP = 0.2;
const HIGHEST = 2;

/**
 * Returns the temperature of the next call. It begins at `first` (0.7) with each message of a user, and rises by 0.2, to 2 at most,
 * after each answer that could not be used and each call whose arguments were invalid.
 */
export function jsonTemperature(conversation: readonly ConversationEvent[], first: number = FIRST): number {
  let failures = 0;
  for (const { content } of conversation) {
    if (content.some((item) => item.type === 'message' && item.role === 'user')) failures = 0;
    const isUnusable = content.filter(isToolCall).some((call) => unusableReason(call) !== undefined);
    const isInvalid = content.some((item) => item.type === 'tool_result' && isArgumentError(item));
    if (isUnusable || isInvalid) failures += 1;
  }
  if (failures === 0) return first;
  // Rounded, because the sum of such fractions is not exact.
  return Math.max(first, Math.min(HIGHEST, Math.round((first + failures * STEP) * 1e6) / 1e6));
}

/** Returns the instruction that describes the JSON format and the tools, which the provider is not told about. */
function jsonInstructions(snapshot: AgentSnapshot): string {
  const { output } = snapshot;
  const tools = toolLines(snapshot);
  return [
    'Reply with exactly one JSON object and no other text. It has one of these forms:',
    ...(tools.length === 0
      ? []
      : ['{"tool": "<name>", "arguments": {…}} calls a tool. The next message is its result: "Observation: …", or an error.']),
    `{"answer": …} gives the final answer${output === undefined ? ', as text' : ''}.`,
    '{"scratchpad": "<notes>"} only notes something. "scratchpad" may also stand beside "tool".',
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
    ...[...codeRules(code, snapshot), ...NAMESPACE].map((rule) => `- ${rule}`),
  ].join('\n');
}

/** Returns a conversation as the model wrote and read it: each answer as its text, each result of a cell as the text of a user. */
function codeSteps({ code }: AgentSnapshot, conversation: readonly ConversationEvent[]): ReplyStep[] {
  const language = code?.executor.language ?? 'javascript';
  const rendering: ReplyRendering = {
    call: (call, text, result) => [{ type: 'action', reply: replyText(call, text, language), ...outcomeOf(result) }],
    answer: (text) => text,
  };
  return pruneSteps(replySteps(conversation, rendering), code?.prune ?? KEEP_LAST);
}

/** Returns the text of an answer. The code of a call in the provider's own way is written as the block that it stands for, and so is a call that another agent made before. */
function replyText({ name, arguments: args }: ToolCall, text: string, language: CodeLanguage): string {
  if (Object.keys(args).length === 0 && name === RUN_CODE) return text;
  const code = name === RUN_CODE && typeof args['code'] === 'string' ? args['code'] : `${name}(${JSON.stringify(args)})`;
  return `${text === '' ? '' : `${text}\n\n`}\`\`\`${language}\n${code}\n\`\`\``;
}

function outcomeOf(result: ToolResult | undefined): Pick<Extract<ReplyStep, { type: 'action' }>, 'observation' | 'error' | 'media'> {
  if (result === undefined) return {};
  const text = observationText(result);
  if (result.status === 'error') return { error: text };
  return { observation: text === '' ? NO_OUTPUT : text, media: mediaOf(result) };
}

/** Returns a conversation as the model wrote and read it: each answer as a JSON object, each result as the text of a user. */
function jsonSteps(snapshot: AgentSnapshot, conversation: readonly ConversationEvent[]): ReplyStep[] {
  const rendering: ReplyRendering = {
    call: (call, text, result) => unusableSteps(call, text, result) ?? [toolStep(call, text, result)],
    answer: (text) => JSON.stringify({ answer: snapshot.output === undefined ? text : valueOf(text) }),
  };
  return replySteps(conversation, rendering);
}

/** Returns the value of a structured answer, which is recorded as JSON; the text itself if it is none. */
function valueOf(text: string): unknown {
  const parsed = parseJsonText(text, false);
  return parsed.ok ? parsed.value : text;
}

function toolStep({ name, arguments: args }: ToolCall, text: string, result: ToolResult | undefined): ReplyStep {
  const reply = JSON.stringify({ ...(text === '' ? {} : { scratchpad: text }), tool: name, arguments: args });
  if (result === undefined) return { type: 'action', reply };
  const observed = observationText(result);
  if (result.status === 'error') return { type: 'action', reply, error: errorText(result, observed) };
  const observation = observed === '' ? NO_OUTPUT : shortened(observed, OBSERVATION_LENGTH);
  return { type: 'action', reply, observation, media: mediaOf(result) };
}

/** Returns the text about a call that failed. What is wrong with the arguments is not cut: the model needs all of it. */
function errorText(result: ToolResult, text: string): string {
  return isArgumentError(result) ? `ArgError: ${text}` : shortened(`ToolError: ${text}`, OBSERVATION_LENGTH);
}

/** Returns the steps of an answer that could not be used; undefined for any other call. An empty one is asked for again, unseen. */
function unusableSteps(call: ToolCall, text: string, result: ToolResult | undefined): ReplyStep[] | undefined {
  switch (unusableReason(call)) {
    case 'not_json':
      return [{ type: 'action', reply: text, error: result === undefined ? '' : observationText(result) }];
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
  return text.startsWith(`Invalid arguments for '${name}': `) || text.startsWith('Error: tool arguments were not valid JSON.');
}

/** Returns the text of a result. Media are named; their bytes are useless as text. */
function observationText({ content }: ToolResult): string {
  return resultText(content.map((value) => (isMedia(value) ? partText(value) : value)));
}

/** Returns the media of a result, which follow its text. */
function mediaOf({ content }: ToolResult): ContentPart[] {
  const values: unknown[] = content;
  return values.filter(isMedia);
}

function isMedia(value: unknown): value is JsonValue & ContentPart {
  if (!isJsonObject(value) || (typeof value['url'] !== 'string' && typeof value['data'] !== 'string')) return false;
  return typeof value['type'] === 'string' && ['image', 'audio', 'video', 'file'].includes(value['type']);
}

/** A step of a conversation, with what belongs to the provider's own form of it. */
type ReplyStep = ConversationStep & {
  /** Opaque items of the provider that precede the answer. */
  providerItems?: JsonValue[];
  /** Images and other media that follow the observation. */
  media?: ContentPart[];
};

/** The way in which a format writes the answers that were recorded. */
interface ReplyRendering {
  /** Writes a call with the text beside it and its result. Empty: the model does not see it again. */
  call(call: ToolCall, text: string, result: ToolResult | undefined): ReplyStep[];
  /** Writes an answer without a call. */
  answer(text: string): string;
}

/** Returns a conversation as steps of text alone: a call and its result become one step, whichever events they are in. */
function replySteps(conversation: readonly ConversationEvent[], rendering: ReplyRendering): ReplyStep[] {
  const results = new Map(
    conversation.flatMap(({ content }) =>
      content.flatMap((item) => (item.type === 'tool_result' ? [[item.toolCallId, item] as const] : [])),
    ),
  );
  return conversation.flatMap(({ content, providerItems }) => {
    const steps = stepsOf(content, rendering, results);
    const index = steps.findIndex(({ type }) => type === 'action' || type === 'scratchpad');
    return providerItems === undefined ? steps : steps.map((step, at) => (at === index ? { ...step, providerItems } : step));
  });
}

function stepsOf(content: readonly ContentItem[], rendering: ReplyRendering, results: ReadonlyMap<string, ToolResult>): ReplyStep[] {
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
  // The text of an answer with several calls stands with the first of them.
  return [...steps, ...calls.flatMap((call, index) => rendering.call(call, index === 0 ? text : '', results.get(call.toolCallId)))];
}
