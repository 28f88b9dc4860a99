// Tool phase: results that are in the window already.

import type { ToolResult } from '../../domain/content.ts';
import type { Window } from '../../domain/window.ts';
import type { ToolOutcome } from '../ports.ts';

/** The results of calls of a response that are in the window already, by the id of the call. */
export function recordedResults({ events }: Pick<Window, 'events'>, responseId: string): Map<string, ToolResult> {
  const index = events.findIndex(({ id }) => id === responseId);
  const after = index < 0 ? [] : events.slice(index + 1);
  return new Map(
    after.flatMap(({ content }) => content.filter((item) => item.type === 'tool_result').map((item) => [item.toolCallId, item] as const)),
  );
}

type Result = ToolOutcome & { type: 'result' };

/** Returns a result that is in the record, in the form that is carried to the next execution: its content is in the window, and of its update only its presence is needed. */
export function withoutRecorded(result: Result): Result {
  return { ...result, content: [], ...(result.contextUpdate === undefined ? {} : { contextUpdate: [] }) };
}
