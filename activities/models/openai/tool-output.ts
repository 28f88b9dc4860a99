import type { ContentPart, ToolResult } from '../../../src/core/domain/content/content.ts';
import { isJsonObject } from '../../../src/core/domain/json/json.ts';
import { partText } from '../../../src/core/domain/content/output-text.ts';

/** Returns the text that a model reads as the result of a call: the first value, as JSON unless it is text. */
export function toolOutputText(result: ToolResult): string {
  const [first] = result.content;
  if (first === undefined) return '';
  if (typeof first === 'string') return first.toWellFormed();
  // The bytes of an image are useless as text: a tool message names the image, which follows as a part.
  return isMediaPart(first) ? partText(first) : JSON.stringify(first);
}

/** Returns the media of a result. A tool message cannot hold them, so they follow the batch of results as a user message. */
export function toolOutputMedia(result: ToolResult): ContentPart[] {
  const values: unknown[] = result.content;
  return values.filter(isMediaPart);
}

function isMediaPart(value: unknown): value is ContentPart {
  if (!isJsonObject(value) || (typeof value['url'] !== 'string' && typeof value['data'] !== 'string')) return false;
  return typeof value['type'] === 'string' && ['image', 'audio', 'video', 'file'].includes(value['type']);
}
