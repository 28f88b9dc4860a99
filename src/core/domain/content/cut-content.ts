import { isJsonObject, type JsonValue } from '../json/json.ts';
import { jsonBytes } from '../json/payload-limit.ts';
import { jsonTextPrefix, utf8Length } from './text.ts';

/** Content cut to a budget. */
export interface CutContent {
  content: JsonValue[];
  /** Bytes of UTF-8 that are missing, counted in texts themselves and in the JSON of other values. 0 if nothing is missing. */
  missingBytes: number;
}

/** Writes for the model how much is missing. The text for a larger number must not be shorter. */
export type CutMarker = (missingBytes: number, totalBytes: number) => string;

const MEDIA = ['image', 'audio', 'video', 'file'];

/**
 * Returns the longest beginning of `content` that fits `maxBytes` of JSON together with the marker. Blocks stay whole as long
 * as they fit. The first block that does not fit is cut as text, never inside a character, and the blocks after it are missing.
 * A value that is not text is cut as JSON text; media cannot be cut and is missing as a whole. The marker is in the first block,
 * because models read only the first block of a tool result: it stands at the end of a text, or before media.
 */
export function cutContent(content: JsonValue[], maxBytes: number, marker: CutMarker): CutContent {
  if (jsonBytes(content) <= maxBytes) return { content, missingBytes: 0 };
  const texts = content.map(textOf);
  const total = texts.reduce((sum, text) => sum + utf8Length(text), 0);
  // Leaves room for the brackets of the list and for the longest marker as a block of its own.
  let room = maxBytes - jsonBytes([marker(total, total)]);
  let missing = total;
  const kept: JsonValue[] = [];
  for (const [index, block] of content.entries()) {
    const text = texts[index] ?? '';
    const value = index === 0 && !isMedia(block) ? text : block;
    const bytes = jsonBytes(value) + ','.length;
    if (bytes > room) {
      const piece = isMedia(block) ? '' : jsonTextPrefix(text, room - '"",'.length);
      missing -= utf8Length(piece);
      if (piece !== '') kept.push(piece);
      break;
    }
    room -= bytes;
    missing -= utf8Length(text);
    kept.push(value);
  }
  return { content: withMarker(kept, marker(missing, total)), missingBytes: missing };
}

function withMarker([first, ...others]: JsonValue[], marker: string): JsonValue[] {
  if (first === undefined) return [marker];
  return typeof first === 'string' ? [`${first}\n${marker}`, ...others] : [marker, first, ...others];
}

/** Cuts a text so that its JSON fits `maxBytes`, and appends how many bytes are missing. Returns a text that fits unchanged. */
export function cutText(text: string, maxBytes: number): string {
  if (jsonBytes(text) <= maxBytes) return text;
  const total = utf8Length(text);
  const end = (missing: number): string => ` [Cut: ${missing} of ${total} bytes are missing]`;
  const kept = jsonTextPrefix(text, maxBytes - jsonBytes(end(total)));
  return `${kept}${end(total - utf8Length(kept))}`;
}

/** Returns the text by which the bytes of a block are counted. */
function textOf(block: JsonValue): string {
  return typeof block === 'string' ? block : JSON.stringify(block);
}

function isMedia(block: JsonValue): boolean {
  return isJsonObject(block) && typeof block['type'] === 'string' && MEDIA.includes(block['type']);
}

/** Returns the marker of a result that was cut. */
export function cutMarker(missingBytes: number, totalBytes: number): string {
  return `[Cut: ${missingBytes} of ${totalBytes} bytes of this result are missing. Ask for less, or for a part.]`;
}

/** Returns the marker of a preview whose whole result is in the payload store. */
export function spilledMarker(missingBytes: number, totalBytes: number): string {
  return `[Preview: ${missingBytes} of ${totalBytes} bytes of this result are not shown here; the whole is stored. Ask for less, or for a part.]`;
}
