import { type ContentItem, isToolCall } from '../content/content.ts';
import type { ConversationEvent } from '../model/model.ts';

/** The kind of content that one event has: messages to the model, a response of the model, or results of calls. */
type Kind = 'input' | 'response' | 'results';

/**
 * Divides a conversation into events as a run records them: one for each response of the model, one for each batch of tool results,
 * and one for consecutive messages to the model. Responses and results are authored by the agent, everything else by the user.
 */
export function givenEvents(messages: readonly ContentItem[], agent: string): ConversationEvent[] {
  const events: ConversationEvent[] = [];
  let last: Kind | undefined;
  for (const item of messages) {
    const kind = kindOf(item);
    const event = kind === last && !beginsResponse(item) ? events.at(-1) : undefined;
    if (event === undefined) events.push({ author: kind === 'input' ? 'user' : agent, content: [item] });
    else event.content.push(item);
    last = kind;
  }
  return events;
}

function kindOf(item: ContentItem): Kind {
  if (item.type === 'tool_result') return 'results';
  return isToolCall(item) || item.role === 'assistant' ? 'response' : 'input';
}

/** True for a text of the model: a response has at most one, before its calls. */
function beginsResponse(item: ContentItem): boolean {
  return item.type === 'message' && item.role === 'assistant';
}
