import { type ContentItem, type ContentPart, outputText } from '../../../src/core/domain/content.ts';
import type { Event } from '../../../src/core/domain/record.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../../src/core/domain/json.ts';
import { CaseProblem, list, number, only, text } from './fields.ts';

/** A content item of a case with its keys renamed and nothing else changed. */
export function toOurItem({ tool_call_id: toolCallId, ...item }: JsonObject): JsonObject {
  return toolCallId === undefined ? item : { ...item, toolCallId };
}

/** One of our content items in the notation of the cases. */
export function toTheirItem(item: ContentItem): JsonObject {
  switch (item.type) {
    case 'message':
      return { type: item.type, role: item.role, content: outputText(item.content) };
    case 'tool_call':
      return { type: item.type, tool_call_id: item.toolCallId, name: item.name, arguments: item.arguments };
    case 'tool_result': {
      const { type, toolCallId, name, status, content } = item;
      return { type, tool_call_id: toolCallId, name, status, content };
    }
  }
}

/** One of our events in the notation of the cases. */
export function toTheirEvent({ id, executionId, timestamp, author, content }: Event): JsonObject {
  // In the seed, a time is a number of seconds.
  return { id, execution_id: executionId, timestamp: Date.parse(timestamp) / 1000, author, content: content.map(toTheirItem) };
}

const PART = ['type', 'text', 'format', 'width', 'height', 'size'];

/** Translates a part of an output in a case: a text, or media with its type and its description. */
export function toOurPart(part: JsonValue): ContentPart {
  if (!isJsonObject(part)) return { type: 'text', text: text(part) };
  const { type, text: said, format, width, height, size } = only('A part of an output', part, PART);
  const [sizeWidth = 0, sizeHeight = 0] = list(size);
  if (type === 'text') return { type, text: text(said) };
  if (type === 'image') return { type, url: '', width: number(width ?? sizeWidth, 0), height: number(height ?? sizeHeight, 0) };
  if (type === 'audio' || type === 'video') return { type, url: '', format: text(format) };
  throw new CaseProblem(`An output has a part of type ${JSON.stringify(type)}, which the adapter does not know`);
}
