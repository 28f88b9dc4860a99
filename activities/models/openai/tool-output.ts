import type { ContentPart, ToolResult } from '../../../src/core/domain/content/content.ts';
import { isJsonObject } from '../../../src/core/domain/json/json.ts';
import { partText } from '../../../src/core/domain/content/output-text.ts';

/** What a model reads as the result of a call: the first value, as JSON unless it is text (seed 000). */
export function toolOutputText(result: ToolResult): string {
  const [first] = result.content;
  if (first === undefined) return '';
  if (typeof first === 'string') return first.toWellFormed();
  // The bytes of an image are of no use as text: it is named here, and follows as a part.
  return isMediaPart(first) ? partText(first) : JSON.stringify(first);
}

/** The media of a result. A tool message cannot hold them, so they follow the batch of results as a message of the user. */
export function toolOutputMedia(result: ToolResult): ContentPart[] {
  const values: unknown[] = result.content;
  return values.filter(isMediaPart);
}

function isMediaPart(value: unknown): value is ContentPart {
  if (!isJsonObject(value) || (typeof value['url'] !== 'string' && typeof value['data'] !== 'string')) return false;
  return typeof value['type'] === 'string' && ['image', 'audio', 'video', 'file'].includes(value['type']);
}
