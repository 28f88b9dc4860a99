import type { ContentItem } from '../domain/content/content.ts';
import type { JsonProblem } from '../json-schema/check-json-schema.ts';
import { shortJson } from '../json-schema/short-json.ts';
import { mediaProblems } from './content-item-schema.ts';

/**
 * Lists the items because of which a provider would refuse the whole conversation: media without a source, calls with the id of an
 * earlier call, and results that do not belong to the answer before them. A call without a result is no problem: it gets one that
 * says that it was interrupted.
 */
export function conversationProblems(messages: readonly ContentItem[], path: string): JsonProblem[] {
  const called = new Set<string>();
  /** The calls of the last answer that have no result yet. */
  let open = new Set<string>();
  return messages.flatMap((item, index): JsonProblem[] => {
    const at = `${path}[${index}]`;
    if (item.type === 'tool_result') return open.delete(item.toolCallId) ? [] : [{ path: at, message: misplaced(item.toolCallId) }];
    const isSameAnswer = item.type === 'tool_call' && messages[index - 1]?.type !== 'tool_result';
    if (!isSameAnswer) open = new Set();
    if (item.type === 'message') return mediaProblems(item.content, `${at}.content`);
    if (called.has(item.toolCallId)) {
      return [{ path: at, message: `expected a "toolCallId" that no earlier call has, got ${shortJson(item.toolCallId)}` }];
    }
    called.add(item.toolCallId);
    open.add(item.toolCallId);
    return [];
  });
}

function misplaced(callId: string): string {
  return `expected the result of a call in the answer right before it that has none yet, got one of ${shortJson(callId)}`;
}
