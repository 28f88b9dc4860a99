import { type ContentItem, needsResponse } from '../../../../src/core/domain/content.ts';
import type { JsonObject, JsonValue } from '../../../../src/core/domain/json.ts';
import { type ConversationEvent, givenEvents } from '../../../../src/core/domain/model.ts';
import type { Operation } from '../adapter.ts';
import { roleOf, toEvent } from '../dangling-calls.ts';
import { list } from '../fields.ts';

/** A run that begins with messages: its record of them, and whether the model has the next word. */
export const addMessages: Operation = { input: ['messages'], expect: ['needs_response', 'contents'], perform: begin };

function begin({ messages }: JsonObject): JsonObject {
  const items = list(messages).flatMap(toItems);
  return { needs_response: needsResponse(items), contents: givenEvents(items, 'agent').flatMap(toContents) };
}

/** The items of a message. One without content and calls is an empty message. */
function toItems(message: JsonValue): ContentItem[] {
  const { author, content } = toEvent(message);
  return content.length === 0 ? [{ type: 'message', role: roleOf(author), content: '' }] : content;
}

/** The contents of the messages that an event represents: each message and each result, and calls without a text as one message. */
function toContents({ content }: ConversationEvent): JsonValue[] {
  const contents = content.flatMap((item) => {
    if (item.type === 'tool_call') return [];
    return [item.type === 'message' ? item.content : (item.content[0] ?? null)];
  });
  return contents.length === 0 ? [null] : contents;
}
