import type { ContentPart, MediaSource } from '../../../src/core/domain/content/content.ts';
import { outputText, partText } from '../../../src/core/domain/content/output-text.ts';

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

/** Returns a text for a part that the API does not support: it names the part and its URL. */
export function placeholder(part: ContentPart): string {
  const url = part.type === 'text' ? undefined : part.url;
  return url === undefined ? partText(part) : `${partText(part)} ${url}`;
}

/** Returns the content of a message as text alone, without half surrogate pairs, which providers refuse. */
export function plainText(content: string | ContentPart[]): string {
  return outputText(content.length === 0 ? '' : content).toWellFormed();
}
