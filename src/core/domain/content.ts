import { isJsonObject, type JsonObject, type JsonValue } from './json.ts';
import * as s from './shape.ts';
import { shortened } from './text.ts';

const SPILLED = {
  /** The name of the store. */
  store: s.TEXT,
  /** The key of the content in the store. */
  claim: s.recordOf(s.TEXT),
  /** Bytes of the content as JSON. */
  bytes: s.COUNT,
  /** SHA-256 of the content as JSON, in hexadecimal. */
  sha256: s.TEXT,
};

/** Content that was too large for the conversation and was moved to a payload store. */
export interface SpilledContent extends s.ObjectOf<typeof SPILLED> {}
export const SPILLED_CONTENT: s.Shape<SpilledContent> = s.closedObject(SPILLED);

/** The source of a media part: exactly one of `url`, `data` (base64), or, for media that a model made, `spilled`. */
const SOURCE = {
  /** A URL that the model's provider can read. */
  url: s.optional(s.TEXT),
  /** The content itself in base64. */
  data: s.optional(s.TEXT),
  /** The media type, such as `image/png`. Required with `data`. */
  mediaType: s.optional(s.TEXT),
  /** The location of a file that a model made: it contains the part with its data. */
  spilled: s.optional(SPILLED_CONTENT),
};

/** The location of a media part's content: exactly one of `url`, `data`, and `spilled`. */
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

/** True for content without media and without a character that is no white space: a model would answer nothing. */
export function isBlank(content: string | readonly ContentPart[]): boolean {
  if (typeof content === 'string') return content.trim() === '';
  return content.every((part) => part.type === 'text' && part.text.trim() === '');
}

const ROLE = s.oneOf('system', 'user', 'assistant');

/** The speaker of a message. @useDeclaredType */
export type Role = s.ValueOf<typeof ROLE>;

const NAME = s.boundedText({ minLength: 1 });

const MESSAGE = s.closedObject({
  /** Distinguishes messages from other items. */
  type: s.fixed('message'),
  /** `user`, `assistant` or `system`. */
  role: ROLE,
  /** The content: a text, or parts. */
  content: MESSAGE_CONTENT,
});

/** A message of the conversation. Its content is text, or a list of parts if it contains media. */
export interface Message extends s.ValueOf<typeof MESSAGE> {}

const TOOL_CALL = s.closedObject({
  /** Distinguishes calls from other parts. */
  type: s.fixed('tool_call'),
  /** The id of the call, repeated in its result. */
  toolCallId: NAME,
  /** The name of the tool. */
  name: NAME,
  /** The arguments as JSON. */
  arguments: s.JSON_OBJECT,
});

/** The model's request to run a tool. `arguments` is always an object. */
export interface ToolCall extends s.ValueOf<typeof TOOL_CALL> {}

const TOOL_RESULT = s.closedObject({
  /** Distinguishes results from other parts. */
  type: s.fixed('tool_result'),
  /** The id of the answered call. */
  toolCallId: NAME,
  /** The name of the tool. */
  name: NAME,
  /** Whether the call succeeded. */
  status: s.oneOf('success', 'error'),
  /** The content that the model reads. */
  content: s.ANY_LIST,
  /** The location of the whole content, if `content` is only its preview. */
  spilled: s.optional(SPILLED_CONTENT),
  /** Texts about the call that the model reads after the result, such as the arguments that an approver changed. Absent: none. */
  notes: s.optional(s.listOf(s.TEXT)),
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

/** Returns the parts of an output or of a message's content, or an empty list for text and objects. */
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

/** Returns the text of a message without the placeholders for its media. */
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
 * Returns the kinds of content in an output (`text`, `image`, `audio`, `video`, `file`), sorted and unique; none for an empty output and
 * for objects.
 */
export function mediaTypes(output: unknown): string[] {
  if (typeof output === 'string') return output === '' ? [] : ['text'];
  return [...new Set(outputParts(output).map((part) => part.type))].toSorted();
}

/**
 * True if the model has the next turn of a conversation: its last item is a user message, a call or a result. An assistant's answer is for
 * the user. System messages do not matter, and a conversation without other items is the model's turn.
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

/** A message that a run has accepted but not yet recorded. */
export interface QueuedMessage {
  /** The id that the caller chose: a message with the same id is the same message. */
  id: string;
  content: string | ContentPart[];
  /** Absent: `queue`. */
  mode?: Exclude<MessageMode, 'queue'>;
  /** The time of acceptance by the run. ISO 8601. */
  timestamp: string;
}

/**
 * One step of a conversation with a model that answers only with text: its instructions, its task, an answer and its outcome, or an answer
 * that is only a note.
 */
export type ConversationStep = SystemStep | TaskStep | ActionStep | ScratchpadStep;

/** Instructions to the model. */
interface SystemStep {
  readonly type: 'system';
  readonly text: string;
}

/** A task, question or later message of the user. */
interface TaskStep {
  readonly type: 'task';
  readonly content: Message['content'];
}

/** An answer of the model and its outcome. */
interface ActionStep {
  readonly type: 'action';
  /** The text of the answer. Empty: there was no text. */
  readonly reply: string;
  /** The text that the action produced, for the model. */
  readonly observation?: string;
  /** The text that explains to the model why the action failed. It replaces the observation. */
  readonly error?: string;
}

/** An answer of the model that is only a note. */
interface ScratchpadStep {
  readonly type: 'scratchpad';
  /** The text of the answer. Empty: there was no text. */
  readonly reply: string;
  readonly note: string;
}

/** Returns steps as the messages for a model. */
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

/** Returns the text that tells the model the outcome of its action. Empty: no text. */
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

/** The rule for shortening a conversation before the model receives it. Nothing is removed from the record. */
export type PruneStrategy =
  | { readonly strategy: 'none' }
  /** Keeps the last `keep` actions and notes, and removes earlier ones. */
  | { readonly strategy: 'last_steps'; readonly keep: number }
  /** Keeps all actions, and cuts all observations except the last `keep` (3) to `maxLength` (100) characters. */
  | { readonly strategy: 'old_observations'; readonly keep?: number; readonly maxLength?: number };

/** The parts of a step that pruning uses. */
type Prunable = Pick<ConversationStep, 'type'> & { readonly observation?: string };

/** Returns the remaining steps, in order. Instructions and tasks are always kept. */
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

/** Returns the indexes of all steps of a kind except the last `keep`. */
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

/** Returns the media of a result, which follow its text. */
export function mediaIn({ content }: ToolResult): ContentPart[] {
  const values: unknown[] = content;
  return values.filter(isMediaPart);
}

/** The bytes of text with about as many tokens as an image has. Providers count its pixels, not its bytes. */
const IMAGE_AS_TEXT = 6_400;

/** The bytes of base64 of other media with about as many tokens as one byte of text: their tokens grow with their length. */
const MEDIA_BYTES_AS_TEXT = 10;

/**
 * Returns the bytes that media in a conversation take beyond those of text with as many tokens: an estimate of tokens leaves them out. A
 * photo of 1 MB has a thousand tokens, not 350,000.
 */
export function bytesBeyondText(events: readonly { content: readonly ContentItem[] }[]): number {
  const parts = events.flatMap(({ content }) => content.flatMap(mediaOf));
  return parts.reduce((sum, part) => {
    const bytes = part.type === 'text' ? 0 : (part.data?.length ?? 0);
    const asText = part.type === 'image' ? IMAGE_AS_TEXT : bytes / MEDIA_BYTES_AS_TEXT;
    return sum + Math.max(0, Math.floor(bytes - asText));
  }, 0);
}

function mediaOf(item: ContentItem): ContentPart[] {
  if (item.type === 'tool_result') return mediaIn(item);
  return item.type === 'message' && typeof item.content !== 'string' ? item.content.filter(isMediaPart) : [];
}

/** A tool run by the model's provider, as pinned for a run and offered with a request. */
export interface HostedTool {
  /** The provider's name, and the provider's name of the tool: `anthropic.web_search_20250305`. */
  id: string;
  /** The name used by rules and records: `web_search`. */
  name: string;
  /** Its options, in the provider's terms. */
  args: JsonObject;
}

/** The finish reason of an answer that the provider paused between hosted calls. The model continues it if it is sent back. */
export const PAUSED = 'pause_turn';

/** The maximum number of hosted calls of a step, and the maximum bytes of each call's input. */
export const HOSTED_BOUNDS = { calls: 20, inputBytes: 1_000 } as const;

const HOSTED_CALL_MEMBERS = {
  /** The name of the hosted tool. */
  name: s.TEXT,
  /** The beginning of its input, as JSON. Absent: no input. */
  input: s.optional(s.TEXT),
  /** The provider reports that it failed. */
  isError: s.optional(s.TRUE),
};

/** A call that the model's provider has run itself. It is not a tool call of the run. */
export interface HostedCall extends s.ObjectOf<typeof HOSTED_CALL_MEMBERS> {}
export const HOSTED_CALL: s.Shape<HostedCall> = s.object(HOSTED_CALL_MEMBERS);

/** The maximum number of sources of one answer, and the maximum bytes of JSON of each. */
export const SOURCE_BOUNDS = { sources: 50, bytes: 2_000 } as const;

const SOURCE_MEMBERS = {
  /** The page's URL, http or https. Absent: a document without a URL. */
  url: s.optional(s.TEXT),
  /** The page's title, or the document's name. */
  title: s.optional(s.TEXT),
  /** The document's media type. */
  mediaType: s.optional(s.TEXT),
  /** The document's file name. */
  filename: s.optional(s.TEXT),
  /** The start of the range in the answer's text that relies on it, as the provider counts. Absent: unknown. */
  start: s.optional(s.COUNT),
  /** The end of that range, as the provider counts. Absent: unknown. */
  end: s.optional(s.COUNT),
};

/** A page or document that the model's provider used for an answer. */
export interface Source extends s.ObjectOf<typeof SOURCE_MEMBERS> {}
export const ANSWER_SOURCE: s.Shape<Source> = s.object(SOURCE_MEMBERS);

/** Returns a source as text: its title and location. */
export function sourceText({ url, title, filename }: Source): string {
  return [...new Set([title, url ?? filename])].filter((one) => one !== undefined).join(' · ');
}
