import { type ContentItem, type ContentPart, isToolCall, type ToolCall } from '../../../../core/domain/content.ts';
import type { UiChunk } from './ui-chunk.ts';

/** The parts of a response as its event has them, in the order in which a message shows them. */
export interface RecordedParts {
  text: string;
  files: { url: string; mediaType: string }[];
  calls: readonly ToolCall[];
}

/** Returns the parts of the content of a response. */
export function recordedParts(content: readonly ContentItem[]): RecordedParts {
  const parts = content.flatMap((item): ContentPart[] => {
    if (item.type !== 'message') return [];
    return typeof item.content === 'string' ? [{ type: 'text', text: item.content }] : item.content;
  });
  return {
    text: parts.map((part) => (part.type === 'text' ? part.text : '')).join(''),
    files: parts.flatMap((part) => (part.type === 'text' ? [] : fileOf(part))),
    calls: content.filter(isToolCall),
  };
}

function fileOf({ type, url, data, mediaType }: Exclude<ContentPart, { type: 'text' }>): RecordedParts['files'] {
  const ofType = mediaType ?? (type === 'file' ? 'application/octet-stream' : type);
  if (url !== undefined) return [{ url, mediaType: ofType }];
  return data === undefined ? [] : [{ url: `data:${ofType};base64,${data}`, mediaType: ofType }];
}

/** Returns the chunk with the arguments of a call as it was recorded. */
export function callChunk({ toolCallId, name, arguments: input }: ToolCall): UiChunk {
  return { type: 'tool-input-available', toolCallId, toolName: name, input };
}
