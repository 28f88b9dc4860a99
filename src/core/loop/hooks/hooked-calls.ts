// Tool phase: the traces of hooks in the results and records of calls.

import type { ToolCall } from '../../domain/content.ts';
import type { HookRecord } from '../../domain/hooks.ts';
import type { RecordedResponse } from '../../domain/model.ts';
import type { ToolOutcome } from '../ports.ts';

type Result = ToolOutcome & { type: 'result' };

/** Returns a result with the text that a hook injected before its call. */
export function withInjection({ injections = {} }: RecordedResponse, { toolCallId }: ToolCall, result: Result): Result {
  if (!Object.hasOwn(injections, toolCallId)) return result;
  // The worker's cache has the result without that text.
  const { resultId: _, ...rest } = result;
  return { ...rest, content: [...result.content, injections[toolCallId] ?? ''] };
}

/** Returns the answers of hooks about a call, as a field of its record. */
export function hooksOfCall(
  { hooks = [] }: RecordedResponse,
  { toolCallId }: ToolCall,
  after: HookRecord[] = [],
): { hooks?: HookRecord[] } {
  const about = [...hooks.filter(({ callId }) => callId === toolCallId), ...after];
  return about.length === 0 ? {} : { hooks: about };
}

/** Returns the answers of hooks about the request and the response, as a field of the step. */
export function hooksOfStep({ hooks = [] }: RecordedResponse): { hooks?: HookRecord[] } {
  const about = hooks.filter(({ callId }) => callId === undefined);
  return about.length === 0 ? {} : { hooks: about };
}
