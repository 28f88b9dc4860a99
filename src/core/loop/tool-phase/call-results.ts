// Tool phase: results that no tool gave.

import { INTERRUPTED_CALL, type NotRun, RUNNING_CALL, unknownOutcome } from '../../domain/tool-calls.ts';
import type { JsonValue } from '../../domain/json.ts';
import type { ToolOutcome } from '../ports.ts';

type Result = ToolOutcome & { type: 'result' };

/** A result that no tool gave. */
export function result(status: 'success' | 'error', ...content: JsonValue[]): Result {
  return { type: 'result', status, content, durationMs: 0 };
}

/** An error result of a call that did not run. */
export function notRun(reason: NotRun, ...content: JsonValue[]): Result {
  return { ...result('error', ...content), durationMs: null, notRun: reason };
}

/** The result of a call that never started. */
export function interrupted(): Result {
  return notRun('not_started', INTERRUPTED_CALL);
}

/** The result of a call that was running when the run was cancelled. */
export function running(): Result {
  return { ...result('error', RUNNING_CALL), durationMs: null };
}

/** The result of a call that may have taken effect, or not. */
export function unknown(toolName: string, reason?: string): Result {
  const text = unknownOutcome(toolName);
  return { ...result('error', reason === undefined ? text : `${text} ${reason}`), durationMs: null };
}

/** The text that the model reads of a call that the limits have no room for. */
const OVER_LIMIT = 'Tool call was not executed: the limit of tool calls of this run is reached.';

/** Returns the result of a call that the limits have no room for. */
export function overLimit(): ToolOutcome & { type: 'result' } {
  return notRun('not_started', OVER_LIMIT);
}

/** True for the result of a call that the limits had no room for. */
export function isOverLimit(outcome: ToolOutcome | null | undefined): boolean {
  return outcome?.type === 'result' && outcome.durationMs === null && outcome.content[0] === OVER_LIMIT;
}
