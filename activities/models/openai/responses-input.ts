import type { ContentItem, ContentPart, Message } from '../../../src/core/domain/content/content.ts';
import type { ConversationEvent } from '../../../src/core/domain/model/model.ts';
import { audioFormat, dataUrl, placeholder, plainText } from './media.ts';
import { toolOutputMedia, toolOutputText } from './tool-output.ts';
import { functionName } from './function-name.ts';
import { type PlacedParts, placedParts } from './opaque-parts.ts';

/** An item of the Responses API: an object that the API documents by its `type`. */
export type ResponsesItem = Record<string, unknown>;

/**
 * Returns the input of a Responses request. The provider keeps nothing between two calls, so the encrypted reasoning of
 * an earlier answer is sent back, in front of the items that followed it.
 */
export function buildResponsesInput(
  instructions: readonly string[],
  conversation: readonly ConversationEvent[],
  systemRole: 'system' | 'developer' = 'system',
): ResponsesItem[] {
  const input: ResponsesItem[] = instructions.map((text) => ({ type: 'message', role: systemRole, content: text.toWellFormed() }));
  let media: ContentPart[] = [];
  const sendMedia = (): void => {
    if (media.length > 0) input.push({ type: 'message', role: 'user', content: media.map(responsesPart) });
    media = [];
  };
  for (const event of conversation) {
    const parts = placedParts(event);
    if (parts !== undefined) {
      sendMedia();
      input.push(...placedItems(event.content, parts).map((item) => ('type' in item ? responsesItem(item, systemRole) : item.item)));
      continue;
    }
    for (const item of event.content) {
      if (item.type === 'tool_result') media.push(...toolOutputMedia(item));
      else sendMedia();
      input.push(responsesItem(item, systemRole));
    }
  }
  sendMedia();
  return input;
}

type Placed = ContentItem | { item: ResponsesItem };

/** Returns the content of an answer with its opaque items where they were. The API refuses reasoning without an item behind it. */
function placedItems(content: readonly ContentItem[], { order }: PlacedParts): Placed[] {
  const calls = content.filter(({ type }) => type === 'tool_call');
  const placed = order.flatMap((entry): Placed[] => {
    if (entry === 'text') return content.filter(({ type }) => type === 'message');
    if ('item' in entry) return [entry];
    const call = calls[entry.call];
    return call === undefined ? [] : [call];
  });
  return placed.slice(0, placed.findLastIndex((one) => 'type' in one) + 1);
}

function responsesItem(item: ContentItem, systemRole: 'system' | 'developer'): ResponsesItem {
  switch (item.type) {
    case 'message':
      return responsesMessage(item, systemRole);
    case 'tool_call':
      return { type: 'function_call', call_id: item.toolCallId, name: functionName(item.name), arguments: JSON.stringify(item.arguments) };
    case 'tool_result':
      return { type: 'function_call_output', call_id: item.toolCallId, output: toolOutputText(item) };
  }
}

function responsesMessage({ role, content }: Message, systemRole: 'system' | 'developer'): ResponsesItem {
  const parts = role === 'user' && typeof content !== 'string' && content.length > 0;
  return {
    type: 'message',
    role: role === 'system' ? systemRole : role,
    content: parts ? content.map(responsesPart) : plainText(content),
  };
}

function responsesPart(part: ContentPart): ResponsesItem {
  switch (part.type) {
    case 'text':
      return { type: 'input_text', text: part.text.toWellFormed() };
    case 'image': {
      const url = part.url ?? dataUrl('image', part);
      return url === undefined ? textPart(part) : { type: 'input_image', image_url: url, detail: 'auto' };
    }
    case 'audio':
      return part.data === undefined
        ? textPart(part)
        : { type: 'input_audio', input_audio: { data: part.data, format: audioFormat(part) } };
    case 'file': {
      if (part.url !== undefined) return { type: 'input_file', file_url: part.url };
      const data = dataUrl('file', part);
      return data === undefined ? textPart(part) : { type: 'input_file', filename: part.name ?? 'file', file_data: data };
    }
    case 'video':
      return textPart(part);
  }
}

function textPart(part: ContentPart): ResponsesItem {
  return { type: 'input_text', text: placeholder(part) };
}
