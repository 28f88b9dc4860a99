import {
  type ContentItem,
  type ContentPart,
  isMediaPart,
  type MediaSource,
  type Message,
  outputText,
  partText,
  type ToolCall,
  type ToolResult,
} from '../../../src/core/domain/content.ts';
import { defined, isJsonObject, type JsonObject, type JsonValue } from '../../../src/core/domain/json.ts';
import type { ConversationEvent } from '../../../src/core/domain/model.ts';
import { namedNotes } from '../../../src/core/domain/notes.ts';
import { type PlacedParts, placedParts } from './opaque-parts.ts';

/** A message of Chat Completions. */
type ChatMessage =
  | { role: 'system' | 'developer'; content: string }
  | { role: 'user'; content: string | ChatPart[] }
  | AssistantMessage
  | { role: 'tool'; tool_call_id: string; content: string };

/** It and its calls also have the fields of their opaque parts. */
interface AssistantMessage {
  role: 'assistant';
  /** A list has parts of reasoning that the provider sent as content, followed by the text. */
  content: string | null | JsonValue[];
  tool_calls?: ChatToolCall[];
}

/** A part of a user's message. */
type ChatPart =
  | { type: 'text'; text: string }
  | { type: 'image_url'; image_url: { url: string } }
  | { type: 'input_audio'; input_audio: { data: string; format: string } }
  | { type: 'file'; file: { filename: string; file_data: string } };

interface ChatToolCall {
  id: string;
  type: 'function';
  function: { name: string; arguments: string };
}

/**
 * Returns the messages of a conversation. Each instruction is a separate system message. Consecutive tool calls join the assistant message
 * before them, or a new one with null content. A result becomes a tool message with the text of its first value; the notes of results and
 * their media follow the batch as a user message. Keys keep the model's order, so that its output and its next input share a cached prefix.
 */
export function buildChatMessages(
  instructions: readonly string[],
  contents: readonly ContentItem[],
  systemRole: 'system' | 'developer' = 'system',
): ChatMessage[] {
  return conversationMessages(instructions, [{ content: [...contents] }], systemRole);
}

/** Returns the messages of a conversation's events, with their opaque parts at their original positions. */
export function conversationMessages(
  instructions: readonly string[],
  events: readonly Pick<ConversationEvent, 'content' | 'providerItems'>[],
  systemRole: 'system' | 'developer' = 'system',
): ChatMessage[] {
  const messages: ChatMessage[] = instructions.map((text) => ({ role: systemRole, content: text.toWellFormed() }));
  let beside: ContentPart[] = [];
  const sendBeside = (): void => {
    if (beside.length > 0) messages.push({ role: 'user', content: chatContent(beside) });
    beside = [];
  };
  for (const event of events) {
    const parts = placedParts(event);
    const opens = messages.length;
    for (const item of event.content) {
      if (item.type !== 'tool_result') sendBeside();
      switch (item.type) {
        case 'message':
          messages.push(chatMessage(item, systemRole));
          break;
        case 'tool_call':
          addToolCall(messages, item, parts === undefined ? 0 : opens);
          break;
        case 'tool_result':
          messages.push({ role: 'tool', tool_call_id: item.toolCallId, content: toolOutputText(item) });
          beside.push(...partsBeside(item));
          break;
      }
    }
    if (parts !== undefined) placeParts(messages, opens, parts);
  }
  sendBeside();
  return messages;
}

/** Adds opaque parts to the assistant message at or after `opens`, and to its calls. */
function placeParts(messages: ChatMessage[], opens: number, { message: fields, calls }: PlacedParts): void {
  const at = messages.findIndex(({ role }, index) => index >= opens && role === 'assistant');
  const message = messages[at];
  if (message?.role !== 'assistant') return;
  const { content: parts, ...others } = fields;
  const toolCalls = message.tool_calls?.map((call, index) => withFields(call, calls[index] ?? {}));
  messages[at] = {
    ...message,
    ...others,
    ...(Array.isArray(parts) ? { content: [...parts, ...textParts(message.content)] } : {}),
    ...defined({ tool_calls: toolCalls }),
  };
}

function withFields(call: ChatToolCall, { function: ofFunction, ...fields }: JsonObject): ChatToolCall {
  return { ...call, ...fields, function: { ...call.function, ...(isJsonObject(ofFunction) ? ofFunction : {}) } };
}

function textParts(content: string | null | JsonValue[]): JsonValue[] {
  if (Array.isArray(content)) return content;
  return content === null || content === '' ? [] : [{ type: 'text', text: content }];
}

function chatMessage({ role, content }: Message, systemRole: 'system' | 'developer'): ChatMessage {
  switch (role) {
    case 'system':
      return { role: systemRole, content: plainText(content) };
    case 'assistant':
      return { role: 'assistant', content: plainText(content) };
    case 'user':
      return { role: 'user', content: typeof content === 'string' || content.length === 0 ? plainText(content) : content.map(chatPart) };
  }
}

/** `opens`: the index of the first message that the call may join. */
function addToolCall(messages: ChatMessage[], call: ToolCall, opens: number): void {
  const entry: ChatToolCall = {
    id: call.toolCallId,
    type: 'function',
    function: { name: functionName(call.name), arguments: argumentsText(call) },
  };
  const last = messages.at(-1);
  if (last?.role === 'assistant' && messages.length > opens) last.tool_calls = [...(last.tool_calls ?? []), entry];
  else messages.push({ role: 'assistant', content: null, tool_calls: [entry] });
}

/**
 * The texts of calls and results, which each request repeats as long as they are in the window. They live no longer than the window: the
 * bound of the conversation cache does not count them.
 */
const argumentTexts = new WeakMap<ToolCall, string>();
const resultTexts = new WeakMap<ToolResult, string>();

/** Returns the arguments of a call in the form for providers. */
export function argumentsText(call: ToolCall): string {
  const text = argumentTexts.get(call) ?? JSON.stringify(call.arguments);
  argumentTexts.set(call, text);
  return text;
}

function chatPart(part: ContentPart): ChatPart {
  switch (part.type) {
    case 'text':
      return { type: 'text', text: part.text.toWellFormed() };
    case 'image': {
      const url = part.url ?? dataUrl('image', part);
      return url === undefined ? textPart(part) : { type: 'image_url', image_url: { url } };
    }
    case 'audio':
      return part.data === undefined
        ? textPart(part)
        : { type: 'input_audio', input_audio: { data: part.data, format: audioFormat(part) } };
    case 'file': {
      const data = dataUrl('file', part);
      return data === undefined ? textPart(part) : { type: 'file', file: { filename: part.name ?? 'file', file_data: data } };
    }
    case 'video':
      return textPart(part);
  }
}

function textPart(part: ContentPart): ChatPart {
  return { type: 'text', text: placeholder(part) };
}

/**
 * Returns the name of a call in a form that the provider accepts. Models invent names ("search web"): the call gets an error result, but
 * its name stays in the conversation, and the provider would refuse every later request.
 */
export function functionName(name: string): string {
  return name.replaceAll(/[^a-zA-Z0-9_-]/g, '_').slice(0, 64) || 'unknown';
}

/** The media types of inline data without one. */
const DEFAULT_MEDIA_TYPES: Record<ContentPart['type'], string> = {
  text: 'text/plain',
  image: 'image/png',
  audio: 'audio/wav',
  video: 'video/mp4',
  file: 'application/octet-stream',
};

/** Returns inline data as a data URL; undefined if the part has none. */
export function dataUrl(type: ContentPart['type'], { data, mediaType }: MediaSource): string | undefined {
  return data === undefined ? undefined : `data:${mediaType ?? DEFAULT_MEDIA_TYPES[type]};base64,${data}`;
}

/** Returns the format of audio in OpenAI's names: `wav`, `mp3`. */
export function audioFormat({ format, mediaType }: MediaSource & { format?: string }): string {
  const subtype = mediaType?.split('/')[1]?.replace(/^x-/, '');
  const name = format ?? subtype ?? 'wav';
  return name === 'mpeg' ? 'mp3' : name === 'wave' ? 'wav' : name;
}

/** Returns a text that names an unsupported part and its URL. */
export function placeholder(part: ContentPart): string {
  const url = part.type === 'text' ? undefined : part.url;
  return url === undefined ? partText(part) : `${partText(part)} ${url}`;
}

/** Returns the content of a message as text, without lone surrogates, which providers refuse. */
export function plainText(content: string | ContentPart[]): string {
  return outputText(content.length === 0 ? '' : content).toWellFormed();
}

/** Returns the text that a model reads as the result of a call: the first value, as JSON unless it is text. */
export function toolOutputText(result: ToolResult): string {
  const text = resultTexts.get(result) ?? textOfContent(result);
  resultTexts.set(result, text);
  return text;
}

function textOfContent({ content: [first] }: ToolResult): string {
  if (first === undefined) return '';
  if (typeof first === 'string') return first.toWellFormed();
  // An image's bytes are useless as text: a tool message names the image, which follows as a part.
  return isMediaPart(first) ? partText(first) : JSON.stringify(first);
}

/**
 * Returns what a model reads beside a result: its notes, and its media, which a tool message cannot contain. They follow the batch of
 * results in a user message.
 */
export function partsBeside(result: ToolResult): ContentPart[] {
  const values: unknown[] = result.content;
  return [...namedNotes(result).map((text) => ({ type: 'text' as const, text })), ...values.filter(isMediaPart)];
}

/** Texts alone are one text: not every server accepts parts. */
function chatContent(parts: readonly ContentPart[]): string | ChatPart[] {
  const texts = parts.flatMap((part) => (part.type === 'text' ? [part.text.toWellFormed()] : []));
  return texts.length === parts.length ? texts.join('\n') : parts.map(chatPart);
}
