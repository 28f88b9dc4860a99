import { type ContentItem, type ContentPart, needsResponse } from '../../../../core/domain/content.ts';
import { invalidValue } from '../errors/openai-refusal.ts';

/** The conversation that a run begins with, as a start takes it. */
export interface Conversation {
  messages?: ContentItem[];
  input?: string | ContentPart[];
}

/**
 * Divides a conversation: its last item is the input if it is a message of the user. `param` names the conversation in refusals. Throws
 * if it has nothing that the model could respond to.
 */
export function conversationOf(items: readonly ContentItem[], param: string): Conversation {
  if (items.length === 0) throw invalidValue(param, 'it has no content: write what the user says');
  if (!needsResponse(items)) throw invalidValue(param, 'it ends with an answer of the assistant: add what the user says next');
  const last = items.at(-1);
  if (last?.type !== 'message' || last.role !== 'user') return { messages: [...items] };
  const before = items.slice(0, -1);
  return { ...(before.length === 0 ? {} : { messages: before }), input: last.content };
}
