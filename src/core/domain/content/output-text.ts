import type { ContentPart } from './content.ts';

const MEDIA = ['image', 'audio', 'video', 'file'];

function isPart(value: unknown): value is ContentPart {
  return (
    typeof value === 'object' &&
    value !== null &&
    'type' in value &&
    typeof value.type === 'string' &&
    ['text', ...MEDIA].includes(value.type)
  );
}

/** Returns the parts of an output or of a message's content; an empty list for text and for objects. */
export function outputParts(output: unknown): ContentPart[] {
  return Array.isArray(output) && output.length > 0 && output.every(isPart) ? output : [];
}

/** Returns a part as text. */
export function partText(part: ContentPart): string {
  switch (part.type) {
    case 'text':
      return part.text;
    case 'image':
      return part.width !== undefined && part.height !== undefined ? `[Image: ${part.width}x${part.height}]` : '[Image]';
    case 'audio':
      return part.format === undefined ? '[Audio]' : `[Audio: ${part.format}]`;
    case 'video':
      return part.format === undefined ? '[Video]' : `[Video: ${part.format}]`;
    case 'file':
      return part.name === undefined ? '[File]' : `[File: ${part.name}]`;
  }
}

/** Returns an output as text: parts joined by spaces, other values as JSON. */
export function outputText(output: unknown): string {
  if (typeof output === 'string') return output;
  if (output === null || output === undefined) return '';
  const parts = outputParts(output);
  return parts.length > 0 ? parts.map(partText).join(' ') : JSON.stringify(output);
}

/**
 * Returns the kinds of content in an output (`text`, `image`, `audio`, `video`, `file`), sorted, each once; none for an empty
 * output and for objects.
 */
export function mediaTypes(output: unknown): string[] {
  if (typeof output === 'string') return output === '' ? [] : ['text'];
  return [...new Set(outputParts(output).map((part) => part.type))].toSorted();
}
