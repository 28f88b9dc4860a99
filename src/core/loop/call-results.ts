import type { ToolResult } from '../domain/content.ts';
import type { JsonValue } from '../domain/json.ts';
import { INTERRUPTED_CALL, type NotRun, OVER_CALL_LIMIT, RUNNING_CALL, unknownOutcome } from '../domain/tool-calls.ts';
import type { Window } from '../domain/window.ts';
import type { ToolOutcome } from './ports.ts';

// Tool phase: results that no tool gave.

type Result = ToolOutcome & { type: 'result' };

/** A result that no tool gave. */
export function callResult(status: 'success' | 'error', ...content: JsonValue[]): Result {
  return { type: 'result', status, content, durationMs: 0 };
}

/** An error result of a call that did not run. */
export function notRunResult(reason: NotRun, ...content: JsonValue[]): Result {
  return { ...callResult('error', ...content), durationMs: null, notRun: reason };
}

/** The result of a call that never started. */
export function interruptedResult(): Result {
  return notRunResult('not_started', INTERRUPTED_CALL);
}

/** The result of a call that was running when the run was cancelled. */
export function runningResult(): Result {
  return { ...callResult('error', RUNNING_CALL), durationMs: null };
}

/** The result of a call that may have taken effect, or not. */
export function unknownResult(toolName: string, reason?: string): Result {
  const text = unknownOutcome(toolName);
  return { ...callResult('error', reason === undefined ? text : `${text} ${reason}`), durationMs: null };
}

/** True for the result of a call that the limits had no room for. */
export function isOverLimit(outcome: ToolOutcome | null | undefined): boolean {
  return outcome?.type === 'result' && outcome.durationMs === null && outcome.content[0] === OVER_CALL_LIMIT;
}

// Tool phase: calls that no worker could make.

/** The reason to end the run if no worker could make a call; undefined if there is no such call. */
export function noWorker(outcomes: readonly (ToolOutcome | null)[]): (ToolOutcome & { type: 'result' })['noWorker'] {
  const found = outcomes.find((outcome) => outcome?.type === 'result' && outcome.noWorker !== undefined);
  return found?.type === 'result' ? found.noWorker : undefined;
}

// Tool phase: results that are in the window already.

/** The results of calls of a response that are in the window already, by the id of the call. */
export function recordedResults({ events }: Pick<Window, 'events'>, responseId: string): Map<string, ToolResult> {
  const index = events.findIndex(({ id }) => id === responseId);
  const after = index < 0 ? [] : events.slice(index + 1);
  return new Map(
    after.flatMap(({ content }) => content.filter((item) => item.type === 'tool_result').map((item) => [item.toolCallId, item] as const)),
  );
}

/** Returns a result that is in the record, in the form that is carried to the next execution: its content is in the window, and of its update only its presence is needed. */
export function withoutRecorded(result: Result): Result {
  return { ...result, content: [], ...(result.contextUpdate === undefined ? {} : { contextUpdate: [] }) };
}
