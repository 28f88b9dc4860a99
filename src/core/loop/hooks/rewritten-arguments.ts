// Shared state: arguments that hooks have rewritten.

import type { ToolCall } from '../../domain/content.ts';
import type { JsonObject } from '../../domain/json.ts';
import type { RunState } from '../state/run-state.ts';

type Rewritten = Pick<RunState, 'rewrites'>;

/** Returns the arguments that a hook gave to a call of the present response, if one did. Call ids come from models: only own properties count. */
export function rewrittenArguments({ rewrites }: Rewritten, callId: string): JsonObject | undefined {
  return rewrites !== undefined && Object.hasOwn(rewrites, callId) ? rewrites[callId] : undefined;
}

/** Returns the call with the arguments that it runs with, unless an approver edits them. */
export function asRewritten(rewritten: Rewritten, call: ToolCall): ToolCall {
  const args = rewrittenArguments(rewritten, call.toolCallId);
  return args === undefined ? call : { ...call, arguments: args };
}

/** Keeps the rewritten arguments of a response while its calls run: approvers and activities ask the run for them. */
export function noteRewrites(state: RunState, { rewrites }: Rewritten): void {
  if (rewrites === undefined) delete state.rewrites;
  else state.rewrites = rewrites;
}
