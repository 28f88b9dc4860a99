import type { ContentItem, ContentPart, Message, ToolCall } from '../../../src/core/domain/content/content.ts';
import { audioFormat, dataUrl, placeholder, plainText } from './media.ts';
import { toolOutputMedia, toolOutputText } from './tool-output.ts';
import { functionName } from './function-name.ts';

/** A message of Chat Completions. */
export type ChatMessage =
  | { role: 'system' | 'developer'; content: string }
  | { role: 'user'; content: string | ChatPart[] }
  | { role: 'assistant'; content: string | null; tool_calls?: ChatToolCall[] }
  | { role: 'tool'; tool_call_id: string; content: string };

/** A part of a user's message. */
export type ChatPart =
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
 * Returns the messages of a conversation. Each instruction is a system message of its own. Consecutive tool calls join
 * the assistant message before them, or a new one with null content. A result becomes a tool message with the text of
 * its first value, and media in results follow the batch as a user message. Keys keep the model's order, so that its
 * output and its next input share a cached prefix.
 */
export function buildChatMessages(
  instructions: readonly string[],
  contents: readonly ContentItem[],
  systemRole: 'system' | 'developer' = 'system',
): ChatMessage[] {
  const messages: ChatMessage[] = instructions.map((text) => ({ role: systemRole, content: text.toWellFormed() }));
  let media: ContentPart[] = [];
  const sendMedia = (): void => {
    if (media.length > 0) messages.push({ role: 'user', content: media.map(chatPart) });
    media = [];
  };
  for (const item of contents) {
    if (item.type !== 'tool_result') sendMedia();
    switch (item.type) {
      case 'message':
        messages.push(chatMessage(item, systemRole));
        break;
      case 'tool_call':
        addToolCall(messages, item);
        break;
      case 'tool_result':
        messages.push({ role: 'tool', tool_call_id: item.toolCallId, content: toolOutputText(item) });
        media.push(...toolOutputMedia(item));
        break;
    }
  }
  sendMedia();
  return messages;
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

function addToolCall(messages: ChatMessage[], call: ToolCall): void {
  const entry: ChatToolCall = {
    id: call.toolCallId,
    type: 'function',
    function: { name: functionName(call.name), arguments: JSON.stringify(call.arguments) },
  };
  const last = messages.at(-1);
  if (last?.role === 'assistant') last.tool_calls = [...(last.tool_calls ?? []), entry];
  else messages.push({ role: 'assistant', content: null, tool_calls: [entry] });
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
