import type { ContentItem } from '../../core/domain/content/content.ts';
import { jsonBytes } from '../../core/domain/json/payload-limit.ts';
import { evictedResult } from '../../core/domain/record/window.ts';

/** A conversation, and the number of results of tools whose content was replaced by a marker. */
export interface FittingMessages {
  messages: ContentItem[];
  evicted: number;
}

/**
 * Replaces the content of the oldest results of tools by a marker, as the compaction of a run does, until the conversation has at
 * most `bytes` of JSON. The conversation may still be larger if its messages alone are.
 */
export function fitMessages(messages: readonly ContentItem[], bytes: number): FittingMessages {
  let over = jsonBytes(messages) - bytes;
  let evicted = 0;
  const fitting = messages.map((item) => {
    if (over <= 0 || item.type !== 'tool_result') return item;
    const marked = evictedResult(item);
    const saved = jsonBytes(item) - jsonBytes(marked);
    if (saved <= 0) return item;
    over -= saved;
    evicted += 1;
    return marked;
  });
  return { messages: fitting, evicted };
}
