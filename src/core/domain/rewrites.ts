import type { ToolCall } from './content.ts';
import type { JsonObject } from './json.ts';

// The arguments that a call runs with, if they differ from the written ones: as parsed by the tool's schema, or as changed by a function of
// the user. The model's own call stays as it wrote it.

/** The rewritten arguments of a response's calls, by call id. */
interface Rewritten {
  rewrites?: Record<string, JsonObject>;
}

/**
 * Returns the rewritten arguments of a call of the current response, or undefined. Call ids come from models: only own properties count.
 */
export function rewrittenArguments({ rewrites }: Rewritten, callId: string): JsonObject | undefined {
  return rewrites !== undefined && Object.hasOwn(rewrites, callId) ? rewrites[callId] : undefined;
}

/** Returns the call with its rewritten arguments, if any, before an approver's edits. */
export function asRewritten(rewritten: Rewritten, call: ToolCall): ToolCall {
  const args = rewrittenArguments(rewritten, call.toolCallId);
  return args === undefined ? call : { ...call, arguments: args };
}

/** Keeps the rewritten arguments of a response while its calls run: approvers and activities query the run for them. */
export function noteRewrites(state: Rewritten, { rewrites }: Rewritten): void {
  if (rewrites === undefined) delete state.rewrites;
  else state.rewrites = rewrites;
}
