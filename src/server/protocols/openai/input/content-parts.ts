import { z } from 'zod';
import type { ContentPart, MediaSource } from '../../../../core/domain/content.ts';
import { list, MOST } from '../../../schemas/bounded.ts';
import { invalidValue, unsupported } from '../errors/openai-refusal.ts';

const text = z.object({ type: z.enum(['text', 'input_text', 'output_text']), text: z.string() });

const refusal = z.object({ type: z.literal('refusal'), refusal: z.string() });

const file = z.object({ file_data: z.string().nullish(), file_id: z.string().nullish(), filename: z.string().nullish() });

/** A part of a message, as Chat Completions and Responses write it. */
export const messagePart = z.discriminatedUnion('type', [
  text,
  refusal,
  z.object({ type: z.literal('image_url'), image_url: z.object({ url: z.string() }) }),
  z.object({ type: z.literal('input_image'), image_url: z.string().nullish(), file_id: z.string().nullish() }),
  z.object({ type: z.literal('input_audio'), input_audio: z.object({ data: z.string(), format: z.string() }) }),
  z.object({ type: z.literal('file'), file }),
  file.extend({ type: z.literal('input_file'), file_url: z.string().nullish() }),
]);

/** The content of a message: text, or parts. */
export const messageContent = z.union([z.string(), list(messagePart, { min: 1, max: MOST.parts })]);

type MessageContent = z.output<typeof messageContent>;

/** Returns content as a run has it: text if it has nothing else. `param` names it in refusals. */
export function contentOf(content: MessageContent, param: string): string | ContentPart[] {
  if (typeof content === 'string') return content;
  const parts = content.map((part, index) => partOf(part, `${param}[${index}]`));
  return parts.every((part) => part.type === 'text') ? parts.map((part) => part.text).join('\n') : parts;
}

/** Returns content of which nothing but text is taken. */
export function textOf(content: MessageContent, param: string): string {
  const read = contentOf(content, param);
  if (typeof read === 'string') return read;
  throw unsupported(param, 'only the messages of the user may have media');
}

function partOf(part: z.output<typeof messagePart>, param: string): ContentPart {
  switch (part.type) {
    case 'text':
    case 'input_text':
    case 'output_text':
      return { type: 'text', text: part.text };
    case 'refusal':
      return { type: 'text', text: part.refusal };
    case 'image_url':
      return { type: 'image', ...sourceOf(part.image_url.url, `${param}.image_url.url`) };
    case 'input_image':
      if (part.image_url == null) throw unsupported(`${param}.file_id`, 'the service keeps no files. Give "image_url"');
      return { type: 'image', ...sourceOf(part.image_url, `${param}.image_url`) };
    case 'input_audio':
      return { type: 'audio', data: part.input_audio.data, format: part.input_audio.format };
    case 'file':
      return fileOf(part.file, `${param}.file`);
    case 'input_file':
      return fileOf(part, param);
  }
}

interface GivenFile {
  file_data?: string | null | undefined;
  file_url?: string | null | undefined;
  filename?: string | null | undefined;
}

function fileOf({ file_data: data, file_url: url, filename }: GivenFile, param: string): ContentPart {
  const given = data ?? url;
  if (given == null) throw unsupported(`${param}.file_id`, 'the service keeps no files. Give "file_data"');
  const isPlain = data != null && !data.startsWith('data:');
  const source = isPlain ? { data } : sourceOf(given, `${param}.${data == null ? 'file_url' : 'file_data'}`);
  return { type: 'file', ...source, ...(filename == null ? {} : { name: filename }) };
}

const DATA_URL = /^data:([^;,]+)?(?:;[^;,]+)*;base64,(.*)$/s;

/** Returns the source of media by its URL, which may hold the data itself. `param` names the URL in refusals. */
function sourceOf(url: string, param: string): MediaSource {
  const [, mediaType, data] = DATA_URL.exec(url) ?? [];
  if (data === undefined && !URL.canParse(url)) throw invalidValue(param, 'expected a URL');
  if (data === undefined) return { url };
  return { data, ...(mediaType === undefined ? {} : { mediaType }) };
}
