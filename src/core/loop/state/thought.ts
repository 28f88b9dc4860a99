// Shared state: the text of a response.

import type { ContentItem } from '../../domain/content/content.ts';
import { outputText } from '../../domain/content/output-text.ts';

/** The text of a model response, or null where it has none: an empty text is none. */
export function thoughtOf(content: ContentItem[]): string | null {
  const texts = content.filter((item) => item.type === 'message').map((message) => outputText(message.content));
  return texts.join('\n') || null;
}
