import { isJsonObject, type JsonValue } from '../json/json.ts';
import { jsonBytes } from '../json/payload-limit.ts';
import { jsonTextPrefix, utf8Length } from './text.ts';

/** Content as it fits a budget. */
export interface CutContent {
  content: JsonValue[];
  /** Bytes of UTF-8 that are missing: of texts as they are, of other values as JSON text. 0 where all is there. */
  missingBytes: number;
}

/** Says how much is missing, for the model to read. Must not be shorter for a larger number. */
export type CutMarker = (missingBytes: number, totalBytes: number) => string;

const MEDIA = ['image', 'audio', 'video', 'file'];

/**
 * The longest beginning of `content` that fits `maxBytes` of JSON together with the marker. Blocks stay whole as long
 * as they fit; the first that does not is cut as text, never inside a character, and what follows it is missing. A
 * value that is not text is cut as JSON text; media cannot be cut and is missing as a whole. The marker is in the first
 * block, because that is the one a model reads (seed 000): at its end, or before media.
 */
export function cutContent(content: JsonValue[], maxBytes: number, marker: CutMarker): CutContent {
  if (jsonBytes(content) <= maxBytes) return { content, missingBytes: 0 };
  const texts = content.map(textOf);
  const total = texts.reduce((sum, text) => sum + utf8Length(text), 0);
  // The brackets of the list and the longest marker as a block of its own.
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

/** The beginning of a text whose JSON fits `maxBytes`, with an end that says how many bytes are missing; a text that fits as it is. */
export function cutText(text: string, maxBytes: number): string {
  if (jsonBytes(text) <= maxBytes) return text;
  const total = utf8Length(text);
  const end = (missing: number): string => ` [Cut: ${missing} of ${total} bytes are missing]`;
  const kept = jsonTextPrefix(text, maxBytes - jsonBytes(end(total)));
  return `${kept}${end(total - utf8Length(kept))}`;
}

/** A block as the text that its bytes are counted by. */
function textOf(block: JsonValue): string {
  return typeof block === 'string' ? block : JSON.stringify(block);
}

function isMedia(block: JsonValue): boolean {
  return isJsonObject(block) && typeof block['type'] === 'string' && MEDIA.includes(block['type']);
}

/** The end of a result that was cut. */
export function cutMarker(missingBytes: number, totalBytes: number): string {
  return `[Cut: ${missingBytes} of ${totalBytes} bytes of this result are missing. Ask for less, or for a part.]`;
}

/** The end of the preview of a result whose whole is in the payload store. */
export function spilledMarker(missingBytes: number, totalBytes: number): string {
  return `[Preview: ${missingBytes} of ${totalBytes} bytes of this result are not shown here; the whole is stored. Ask for less, or for a part.]`;
}
