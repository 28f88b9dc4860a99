import { type ContentItem, isToolCall, type ToolCall, type ToolResult } from '../content/content.ts';
import type { ConversationEvent } from '../model/model.ts';
import { INTERRUPTED_CALL } from '../content/tool-text.ts';

/**
 * A conversation in which every call has a result: providers refuse one that has not. A call without a result anywhere
 * is answered as interrupted, right after the event of the call and the results that follow that event. A call without
 * an id cannot be answered, and stays as it is. What needs no patch is given back as it is; patching twice is patching
 * once.
 */
export function patchDangling(conversation: ConversationEvent[]): ConversationEvent[] {
  const answered = new Set(conversation.flatMap(({ content }) => content.filter(isToolResult).map(({ toolCallId }) => toolCallId)));
  const patched: ConversationEvent[] = [];
  let missing: ConversationEvent | undefined;
  for (const event of conversation) {
    if (missing !== undefined && !event.content.every(isToolResult)) {
      patched.push(missing);
      missing = undefined;
    }
    patched.push(event);
    const calls = event.content.filter(isToolCall).filter((call) => isDangling(call, answered));
    if (calls.length > 0) missing = { author: event.author, content: calls.map(interruptedResult) };
  }
  if (missing !== undefined) patched.push(missing);
  return patched.length === conversation.length ? conversation : patched;
}

/** An id that is there twice is answered once. */
function isDangling({ toolCallId }: ToolCall, answered: Set<string>): boolean {
  if (toolCallId === '' || answered.has(toolCallId)) return false;
  answered.add(toolCallId);
  return true;
}

function interruptedResult({ toolCallId, name }: ToolCall): ToolResult {
  return { type: 'tool_result', toolCallId, name, status: 'error', content: [INTERRUPTED_CALL] };
}

function isToolResult(item: ContentItem): item is ToolResult {
  return item.type === 'tool_result';
}
