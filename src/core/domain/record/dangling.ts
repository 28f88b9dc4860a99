import { type ContentItem, isToolCall, type ToolCall, type ToolResult } from '../content/content.ts';
import type { ConversationEvent } from '../model/model.ts';
import { INTERRUPTED_CALL } from '../content/tool-text.ts';

/**
 * Adds a result for every call that has none, because providers refuse a conversation with an unanswered call. The added result
 * says that the call was interrupted. It stands right after the event of the call and the results that follow that event. A call
 * without an id cannot be answered and stays unchanged. A conversation without such calls is returned unchanged, so patching
 * twice has the effect of patching once.
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

/** True for a call that no result answers yet. Of two calls with the same id, only the first is. */
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
