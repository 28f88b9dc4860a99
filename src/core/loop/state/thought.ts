// Shared state: the text of a response.

import { type ContentItem, outputText } from '../../domain/content.ts';

/** Returns the text of a model response, or null if it has none or an empty one. */
export function thoughtOf(content: ContentItem[]): string | null {
  const texts = content.filter((item) => item.type === 'message').map((message) => outputText(message.content));
  return texts.join('\n') || null;
}
