import type { ContentPart, ToolResult } from '../../core/domain/content/content.ts';
import { partText } from '../../core/domain/content/output-text.ts';
import { resultText } from '../../core/domain/content/tool-text.ts';
import { isJsonObject, type JsonValue } from '../../core/domain/json/json.ts';

/** The observation of an action that gave nothing. */
export const NO_OUTPUT = '(no output)';

/** Returns the text of a result. Media are named; their bytes are useless as text. */
export function observationText({ content }: ToolResult): string {
  return resultText(content.map((value) => (isMedia(value) ? partText(value) : value)));
}

/** Returns the media of a result, which follow its text. */
export function mediaOf({ content }: ToolResult): ContentPart[] {
  const values: unknown[] = content;
  return values.filter(isMedia);
}

function isMedia(value: unknown): value is JsonValue & ContentPart {
  if (!isJsonObject(value) || (typeof value['url'] !== 'string' && typeof value['data'] !== 'string')) return false;
  return typeof value['type'] === 'string' && ['image', 'audio', 'video', 'file'].includes(value['type']);
}
