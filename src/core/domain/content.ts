import { isJsonObject, type JsonObject, type JsonValue } from './json.ts';
import * as s from './shape.ts';
import { shortened } from './text.ts';

const SPILLED = {
  /** The name of the store. */
  store: s.TEXT,
  /** The key by which the store finds it. */
  claim: s.recordOf(s.TEXT),
  /** Bytes of the content as JSON. */
  bytes: s.COUNT,
  /** SHA-256 of the content as JSON, in hexadecimal. */
  sha256: s.TEXT,
};

/** Content that is too large for the conversation and was moved to a payload store. */
export interface SpilledContent extends s.ObjectOf<typeof SPILLED> {}
export const SPILLED_CONTENT: s.Shape<SpilledContent> = s.closedObject(SPILLED);

/** The source of a media part: exactly one of `url`, `data` (base64), and for what a model has made, `spilled`. */
const SOURCE = {
  /** An address that the provider of the model can read. */
  url: s.optional(s.TEXT),
  /** The content itself in base64. */
  data: s.optional(s.TEXT),
  /** The media type, such as `image/png`. Required with `data`. */
  mediaType: s.optional(s.TEXT),
  /** The place of a file that a model has made: it holds the part with its data. */
  spilled: s.optional(SPILLED_CONTENT),
};

/** Where the content of a media part is: exactly one of `url`, `data`, and `spilled`. */
export interface MediaSource extends s.ObjectOf<typeof SOURCE> {}

const SIZE = s.boundedNumber({ minimum: 0 });

const TEXT_PART = s.closedObject({ type: s.fixed('text'), text: s.TEXT });
const IMAGE = s.closedObject({ type: s.fixed('image'), ...SOURCE, width: s.optional(SIZE), height: s.optional(SIZE) });
const AUDIO = s.closedObject({ type: s.fixed('audio'), ...SOURCE, format: s.optional(s.TEXT) });
const VIDEO = s.closedObject({ type: s.fixed('video'), ...SOURCE, format: s.optional(s.TEXT) });
const FILE = s.closedObject({ type: s.fixed('file'), ...SOURCE, name: s.optional(s.TEXT) });

/** A piece of a message: text, or media by URL or by small inline data (base64). @useDeclaredType */
export type ContentPart =
  | s.ValueOf<typeof TEXT_PART>
  | s.ValueOf<typeof IMAGE>
  | s.ValueOf<typeof AUDIO>
  | s.ValueOf<typeof VIDEO>
  | s.ValueOf<typeof FILE>;

const CONTENT_PART: s.Shape<ContentPart> = s.either(TEXT_PART, IMAGE, AUDIO, VIDEO, FILE);

/** The content of a message: text, or a list of parts if it contains media. */
export const MESSAGE_CONTENT: s.Shape<string | ContentPart[]> = s.either(s.TEXT, s.listOf(CONTENT_PART, { minItems: 1 }));

const ROLE = s.oneOf('system', 'user', 'assistant');

/** The speaker of a message. @useDeclaredType */
export type Role = s.ValueOf<typeof ROLE>;

const NAME = s.boundedText({ minLength: 1 });

const MESSAGE = s.closedObject({
  /** Tells messages apart from other items. */
  type: s.fixed('message'),
  /** Who says it. */
  role: ROLE,
  /** What is said: a text, or parts. */
  content: MESSAGE_CONTENT,
});

/** A message of the conversation. Its content is text, or a list of parts if it contains media. */
export interface Message extends s.ValueOf<typeof MESSAGE> {}

const TOOL_CALL = s.closedObject({
  /** Tells calls apart from other parts. */
  type: s.fixed('tool_call'),
  /** The id of the call, which its result names. */
  toolCallId: NAME,
  /** The name of the tool. */
  name: NAME,
  /** The arguments as JSON. */
  arguments: s.JSON_OBJECT,
});

/** The model's request to run a tool. `arguments` is always an object. */
export interface ToolCall extends s.ValueOf<typeof TOOL_CALL> {}

const TOOL_RESULT = s.closedObject({
  /** Tells results apart from other parts. */
  type: s.fixed('tool_result'),
  /** The id of the call that it answers. */
  toolCallId: NAME,
  /** The name of the tool. */
  name: NAME,
  /** Whether the call succeeded. */
  status: s.oneOf('success', 'error'),
  /** What the model reads. */
  content: s.ANY_LIST,
  /** The location of the whole content, if `content` is only its preview. */
  spilled: s.optional(SPILLED_CONTENT),
});

/** The result of a tool call. `content` is a list of any JSON values and may be empty. */
export interface ToolResult extends s.ValueOf<typeof TOOL_RESULT> {}

/** One item of the content of an event: a union on `type`. */
export type ContentItem = Message | ToolCall | ToolResult;
export const CONTENT_ITEM: s.Shape<ContentItem> = s.either(MESSAGE, TOOL_CALL, TOOL_RESULT);

/** True for the tool calls among content items. */
export function isToolCall(item: ContentItem): item is ToolCall {
  return item.type === 'tool_call';
}

const MEDIA_TYPES = ['image', 'audio', 'video', 'file'];

function isPart(value: unknown): value is ContentPart {
  return (
    typeof value === 'object' &&
    value !== null &&
    'type' in value &&
    typeof value.type === 'string' &&
    ['text', ...MEDIA_TYPES].includes(value.type)
  );
}

/** Returns the parts of an output or of a message's content; an empty list for text and for objects. */
export function outputParts(output: unknown): ContentPart[] {
  return Array.isArray(output) && output.length > 0 && output.every(isPart) ? output : [];
}

export function partText(part: ContentPart): string {
  switch (part.type) {
    case 'text':
      return part.text;
    case 'image':
      return part.width !== undefined && part.height !== undefined ? `[Image: ${part.width}x${part.height}]` : '[Image]';
    case 'audio':
      return part.format === undefined ? '[Audio]' : `[Audio: ${part.format}]`;
    case 'video':
      return part.format === undefined ? '[Video]' : `[Video: ${part.format}]`;
    case 'file':
      return part.name === undefined ? '[File]' : `[File: ${part.name}]`;
  }
}

/** Returns the text of a message without what stands for its media. */
export function writtenText(content: Message['content']): string {
  return typeof content === 'string' ? content : content.map((part) => (part.type === 'text' ? part.text : '')).join('');
}

/** Returns an output as text: parts joined by spaces, other values as JSON. */
export function outputText(output: unknown): string {
  if (typeof output === 'string') return output;
  if (output === null || output === undefined) return '';
  const parts = outputParts(output);
  return parts.length > 0 ? parts.map(partText).join(' ') : JSON.stringify(output);
}

/**
 * Returns the kinds of content in an output (`text`, `image`, `audio`, `video`, `file`), sorted, each once; none for an empty
 * output and for objects.
 */
export function mediaTypes(output: unknown): string[] {
  if (typeof output === 'string') return output === '' ? [] : ['text'];
  return [...new Set(outputParts(output).map((part) => part.type))].toSorted();
}

/**
 * True if the next turn of a conversation is the model's: its last item is a message of the user, a call or a result. An answer of
 * the assistant is for the user. System messages change nothing, and a conversation without other items is the model's turn.
 */
export function needsResponse(content: readonly ContentItem[]): boolean {
  const last = content.findLast((item) => item.type !== 'message' || item.role !== 'system');
  return last?.type !== 'message' || last.role !== 'assistant';
}

export const MESSAGE_MODE = s.oneOf('queue', 'steer', 'interrupt');

/**
 * The moment at which the model reads a message. `queue`: after the current step and all its calls. `steer`: before the next
 * model call; calls that wait or have not started are given up. `interrupt`: at once; the running model call is given up as well.
 * @useDeclaredType
 */
export type MessageMode = s.ValueOf<typeof MESSAGE_MODE>;

/** A message that a run has accepted and not yet recorded. */
export interface QueuedMessage {
  /** The id that the caller chose: a message with the same id is the same message. */
  id: string;
  content: string | ContentPart[];
  /** Absent: `queue`. */
  mode?: Exclude<MessageMode, 'queue'>;
  /** The time at which the run accepted it. ISO 8601. */
  timestamp: string;
}

/**
 * One step of a conversation with a model that answers in text alone: its instructions, its task, an answer with what became of
 * it, or an answer that only notes something.
 */
export type ConversationStep = SystemStep | TaskStep | ActionStep | ScratchpadStep;

/** Instructions to the model. */
interface SystemStep {
  readonly type: 'system';
  readonly text: string;
}

/** A task or a question of the user, and every later message of theirs. */
interface TaskStep {
  readonly type: 'task';
  readonly content: Message['content'];
}

/** An answer of the model, and what it did. */
interface ActionStep {
  readonly type: 'action';
  /** The text of the answer. Empty: there was none. */
  readonly reply: string;
  /** The text that the action gave. */
  readonly observation?: string;
  /** The text that tells the model why the action failed. The observation is then not shown. */
  readonly error?: string;
}

/** An answer of the model that only notes something. */
interface ScratchpadStep {
  readonly type: 'scratchpad';
  /** The text of the answer. Empty: there was none. */
  readonly reply: string;
  readonly note: string;
}

/** Returns steps as the messages that a model receives. */
export function stepMessages(steps: readonly ConversationStep[]): Message[] {
  return steps.flatMap(messagesOf);
}

function messagesOf(step: ConversationStep): Message[] {
  switch (step.type) {
    case 'system':
      return [textMessage('system', step.text)];
    case 'task':
      return [textMessage('user', step.content)];
    case 'action':
      return [...assistantMessages(step.reply), ...userMessages(actionText(step))];
    case 'scratchpad':
      return [...assistantMessages(step.reply), textMessage('user', notedText(step.note))];
  }
}

/** Returns the text by which the model learns what became of its action. Empty: it learns nothing. */
function actionText({ observation = '', error = '' }: { observation?: string; error?: string }): string {
  if (error !== '') return error;
  return observation === '' ? '' : `Observation: ${observation}`;
}

/** Returns the text that confirms a note to the model. */
function notedText(note: string): string {
  return `Scratchpad noted: ${note}`;
}

function assistantMessages(reply: string): Message[] {
  return reply === '' ? [] : [textMessage('assistant', reply)];
}

function userMessages(text: string): Message[] {
  return text === '' ? [] : [textMessage('user', text)];
}

function textMessage(role: Role, content: Message['content']): Message {
  return { type: 'message', role, content };
}

/** The rule by which a conversation is shortened before the model receives it. Nothing is removed from the record. */
export type PruneStrategy =
  | { readonly strategy: 'none' }
  /** Keeps the last `keep` actions and notes, and removes those before. */
  | { readonly strategy: 'last_steps'; readonly keep: number }
  /** Keeps all actions, and cuts the observations of all but the last `keep` (3) to `maxLength` (100) characters. */
  | { readonly strategy: 'old_observations'; readonly keep?: number; readonly maxLength?: number };

/** The parts of a step that pruning reads and changes. */
type Prunable = Pick<ConversationStep, 'type'> & { readonly observation?: string };

/** Returns the steps that are left, in their order. Instructions and tasks are always kept. */
export function pruneSteps<Step extends Prunable>(steps: readonly Step[], strategy: PruneStrategy): Step[] {
  switch (strategy.strategy) {
    case 'none':
      return [...steps];
    case 'last_steps': {
      const old = beforeLast(steps, isRemovable, strategy.keep);
      return steps.filter((_, index) => !old.has(index));
    }
    case 'old_observations': {
      const { keep = 3, maxLength = 100 } = strategy;
      const old = beforeLast(steps, ({ type }) => type === 'action', keep);
      return steps.map((step, index) => (old.has(index) ? withShortObservation(step, maxLength) : step));
    }
  }
}

function isRemovable({ type }: Prunable): boolean {
  return type === 'action' || type === 'scratchpad';
}

/** Returns the indexes of all steps of a kind but its last `keep`. */
function beforeLast<Step>(steps: readonly Step[], isOfKind: (step: Step) => boolean, keep: number): Set<number> {
  const indexes = steps.flatMap((step, index) => (isOfKind(step) ? [index] : []));
  return new Set(indexes.slice(0, Math.max(0, indexes.length - Math.max(0, keep))));
}

function withShortObservation<Step extends Prunable>(step: Step, maxLength: number): Step {
  return step.observation === undefined ? step : { ...step, observation: shortened(step.observation, maxLength) };
}

export function isToolResult(item: ContentItem): item is ToolResult {
  return item.type === 'tool_result';
}

export function isMediaPart(value: unknown): value is JsonValue & ContentPart {
  if (!isJsonObject(value) || (typeof value['url'] !== 'string' && typeof value['data'] !== 'string')) return false;
  return typeof value['type'] === 'string' && ['image', 'audio', 'video', 'file'].includes(value['type']);
}

/** A tool that the provider of a model runs by itself, as it is pinned for a run and offered with a request. */
export interface HostedTool {
  /** The name of the provider, and its name of the tool: `anthropic.web_search_20250305`. */
  id: string;
  /** The name by which rules and records know it: `web_search`. */
  name: string;
  /** Its options, in the words of the provider. */
  args: JsonObject;
}

/** The finish reason of an answer that the provider has stopped between hosted calls, and that the model continues if it is sent back. */
export const PAUSED = 'pause_turn';

/** The most hosted calls of a step, and the most bytes of the input of each. */
export const HOSTED_BOUNDS = { calls: 20, inputBytes: 1_000 } as const;

const HOSTED_CALL_MEMBERS = {
  /** The name of the hosted tool. */
  name: s.TEXT,
  /** The beginning of its input, as JSON. Absent: it had none. */
  input: s.optional(s.TEXT),
  /** The provider says that it has failed. */
  isError: s.optional(s.TRUE),
};

/** A call that the provider of a model has made by itself. It is no tool call of the run. */
export interface HostedCall extends s.ObjectOf<typeof HOSTED_CALL_MEMBERS> {}
export const HOSTED_CALL: s.Shape<HostedCall> = s.object(HOSTED_CALL_MEMBERS);

/** The most sources of one answer, and the most bytes of JSON of each. */
export const SOURCE_BOUNDS = { sources: 50, bytes: 2_000 } as const;

const SOURCE_MEMBERS = {
  /** The page, by http or https. Absent: a document without an address. */
  url: s.optional(s.TEXT),
  /** The title of the page, or the name of the document. */
  title: s.optional(s.TEXT),
  /** The type of a document. */
  mediaType: s.optional(s.TEXT),
  /** The name of the file of a document. */
  filename: s.optional(s.TEXT),
  /** The place in the text of the answer that relies on it, with `end`, as the provider counts. Absent: it is not known. */
  start: s.optional(s.COUNT),
  /** The end of that place, as the provider counts. Absent: it is not known. */
  end: s.optional(s.COUNT),
};

/** A page or a document that the provider of a model has used for an answer. */
export interface Source extends s.ObjectOf<typeof SOURCE_MEMBERS> {}
export const ANSWER_SOURCE: s.Shape<Source> = s.object(SOURCE_MEMBERS);

/** Returns a source in words: its title, and where it is. */
export function sourceText({ url, title, filename }: Source): string {
  return [...new Set([title, url ?? filename])].filter((one) => one !== undefined).join(' · ');
}
