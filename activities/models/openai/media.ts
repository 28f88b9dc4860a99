import type { ContentPart, MediaSource } from '../../../src/core/domain/content/content.ts';
import { outputText, partText } from '../../../src/core/domain/content/output-text.ts';

/** What is assumed of inline data that does not say what it is. */
const DEFAULT_MEDIA_TYPES: Record<ContentPart['type'], string> = {
  text: 'text/plain',
  image: 'image/png',
  audio: 'audio/wav',
  video: 'video/mp4',
  file: 'application/octet-stream',
};

/** Inline data as a data URL; undefined where the part has none. */
export function dataUrl(type: ContentPart['type'], { data, mediaType }: MediaSource): string | undefined {
  return data === undefined ? undefined : `data:${mediaType ?? DEFAULT_MEDIA_TYPES[type]};base64,${data}`;
}

/** The format of audio as OpenAI names it: `wav`, `mp3`. */
export function audioFormat({ format, mediaType }: MediaSource & { format?: string }): string {
  const subtype = mediaType?.split('/')[1]?.replace(/^x-/, '');
  const name = format ?? subtype ?? 'wav';
  return name === 'mpeg' ? 'mp3' : name === 'wave' ? 'wav' : name;
}

/** A part that the API cannot carry, as text that says what is missing and where it is. */
export function placeholder(part: ContentPart): string {
  const url = part.type === 'text' ? undefined : part.url;
  return url === undefined ? partText(part) : `${partText(part)} ${url}`;
}

/** The content of a message as text alone, in which no half of a surrogate pair upsets a provider. */
export function plainText(content: string | ContentPart[]): string {
  return outputText(content.length === 0 ? '' : content).toWellFormed();
}
