import type { ContentItem, ContentPart } from '../../../../core/domain/content/content.ts';

/** The conversation that a run begins with, as a start takes it. */
export interface Conversation {
  messages?: ContentItem[];
  input?: string | ContentPart[];
}

/** Divides a conversation: its last item is the input if it is a message of the user. */
export function conversationOf(items: readonly ContentItem[]): Conversation {
  const last = items.at(-1);
  if (last?.type !== 'message' || last.role !== 'user') return { messages: [...items] };
  const before = items.slice(0, -1);
  return { ...(before.length === 0 ? {} : { messages: before }), input: last.content };
}
