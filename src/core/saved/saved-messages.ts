import { type ContentItem, isToolCall, type Message, type ToolResult } from '../domain/content/content.ts';
import type { JsonObject, JsonValue } from '../domain/json/json.ts';
import type { SavedMessage } from './saved-context.ts';
import { toSavedMessage } from './to-saved-context.ts';

/** The content of one event, with its time if it is known. */
export interface EventToSave {
  content: readonly ContentItem[];
  /** ISO 8601. */
  createdAt?: string | undefined;
}

/** Returns a conversation as messages: a text of the model and the calls after it are one, and each result is one of its own. */
export function savedMessages(events: readonly EventToSave[]): SavedMessage[] {
  return events.flatMap(({ content, createdAt }) => {
    const messages: SavedMessage[] = [];
    for (const item of content) {
      const last = messages.at(-1);
      if (!isToolCall(item)) messages.push(item.type === 'message' ? saidMessage(item) : resultMessage(item));
      else if (last?.role === 'assistant') last.tool_calls.push(savedCall(item));
      else messages.push(toSavedMessage({ role: 'assistant', tool_calls: [savedCall(item)] }));
    }
    return createdAt === undefined ? messages : messages.map((message) => ({ ...message, created_at: createdAt }));
  });
}

function savedCall({ toolCallId, name, arguments: args }: ContentItem & { type: 'tool_call' }): JsonObject {
  return { id: toolCallId, name, arguments: args };
}

function saidMessage({ role, content }: Message): SavedMessage {
  return toSavedMessage({ role, content: typeof content === 'string' ? content : (copied(content) as JsonValue[]) });
}

/** A single text is the content itself, and anything else a list of values. */
function resultMessage({ toolCallId, name, status, content, spilled }: ToolResult): SavedMessage {
  const [only] = content;
  return toSavedMessage({
    role: 'tool',
    tool_call_id: toolCallId,
    name,
    content: content.length === 1 && typeof only === 'string' ? only : content,
    metadata: {
      ...(status === 'error' ? { is_error: true } : {}),
      ...(spilled === undefined ? {} : { spilled: copied(spilled) }),
    },
  });
}

/** Copies a value of the domain as JSON. */
function copied(value: object): JsonValue {
  return JSON.parse(JSON.stringify(value)) as JsonValue;
}
