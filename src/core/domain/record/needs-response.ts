import type { ContentItem } from '../content/content.ts';

/**
 * True if the next turn of a conversation is the model's: its last item is a message of the user, a call or a result. An answer of
 * the assistant is for the user. System messages change nothing, and a conversation without other items is the model's turn.
 */
export function needsResponse(content: readonly ContentItem[]): boolean {
  const last = content.findLast((item) => item.type !== 'message' || item.role !== 'system');
  return last?.type !== 'message' || last.role !== 'assistant';
}
