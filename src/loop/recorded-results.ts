import type { ToolResult } from '../domain/content.ts';
import type { Window } from '../domain/window.ts';

/** The results of calls of a response that are in the window already, by the id of the call. */
export function recordedResults({ events }: Pick<Window, 'events'>, responseId: string): Map<string, ToolResult> {
  const place = events.findIndex(({ id }) => id === responseId);
  const after = place < 0 ? [] : events.slice(place + 1);
  return new Map(
    after.flatMap(({ content }) => content.filter((item) => item.type === 'tool_result').map((item) => [item.toolCallId, item] as const)),
  );
}
