import { hooksAfterCall, hooksBeforeCalls, type ReviewedCalls } from '../domain/activity-messages.ts';
import type { AgentSnapshot } from '../domain/agent.ts';
import { isToolCall, type ToolCall } from '../domain/content.ts';
import { defined } from '../domain/defined.ts';
import { END_EVENTS, type HookRecord, hooksFor } from '../domain/hooks.ts';
import type { JsonObject } from '../domain/json.ts';
import type { RecordedResponse } from '../domain/model.ts';
import type { RunResultFields } from '../domain/result.ts';
import type { ToolsPosition } from './next-step.ts';
import type { RunPorts, ToolInvocation, ToolOutcome, ToolResultOutcome } from './ports.ts';
import type { RunState } from './state/run-state.ts';

// Shared state: arguments that hooks have rewritten.

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

// Tool phase: the hooks before calls that run in a separate activity.

/** True if such hooks are to be called before the calls of a response start. */
export function hasHooksBefore({ snapshot }: RunState, ports: RunPorts, { response, final }: ToolsPosition): boolean {
  if (final || response.reviewed || snapshot.hooks === undefined || ports.cancelRequested()) return false;
  return hooksBeforeCalls(snapshot).length > 0 && response.content.some(isToolCall);
}

/** Returns the position with the answers of these hooks in its response, so that they are not called again. */
export async function beforeCalls(state: RunState, ports: RunPorts, position: ToolsPosition): Promise<ToolsPosition> {
  const { response } = position;
  const { problems, approvals } = response;
  const content = response.content.map((item) => (isToolCall(item) ? asRewritten(response, item) : item));
  // Meanwhile the activity queries the calls.
  state.hookedCalls = { content, ...defined({ problems, approvals }) };
  const review = await ports.reviewCalls(response);
  delete state.hookedCalls;
  return { ...position, response: { ...reviewed(response, review), reviewed: true } };
}

function reviewed(
  response: RecordedResponse,
  { problems, approvals, rewrites, injections, hooks, guardrails }: ReviewedCalls,
): RecordedResponse {
  const texts = new Map(Object.entries(response.injections ?? {}));
  for (const [id, text] of Object.entries(injections ?? {})) texts.set(id, texts.has(id) ? `${texts.get(id)}\n${text}` : text);
  const args = new Map([...Object.entries(response.rewrites ?? {}), ...Object.entries(rewrites ?? {})]);
  const { approvals: _, ...rest } = response;
  return {
    ...rest,
    ...defined({ problems, approvals }),
    ...(args.size === 0 ? {} : { rewrites: Object.fromEntries(args) }),
    ...(texts.size === 0 ? {} : { injections: Object.fromEntries(texts) }),
    ...(guardrails === undefined ? {} : { guardrails: { findings: [...(response.guardrails?.findings ?? []), ...guardrails.findings] } }),
    ...(hooks === undefined ? {} : { hooks: [...(response.hooks ?? []), ...hooks] }),
  };
}

// Tool phase: the hooks for the result of a call that run in a separate activity.

/** True if such hooks are to be called for an outcome. A call without a result of its own, and a cancelled run, have none. */
export function hasHooksAfter(
  { snapshot }: RunState,
  ports: RunPorts,
  { tool }: ToolInvocation,
  outcome: ToolOutcome,
): outcome is ToolResultOutcome {
  if (outcome.type !== 'result' || outcome.isUnknown || outcome.noWorker !== undefined) return false;
  if (tool.agent !== undefined && outcome.childRunId === undefined) return false;
  return hooksAfterCall(snapshot, tool).length > 0 && !ports.cancelRequested();
}

/** Returns the outcome of a call as these hooks leave it. */
export async function afterCall(
  state: RunState,
  ports: RunPorts,
  invocation: ToolInvocation,
  outcome: ToolResultOutcome,
): Promise<ToolResultOutcome> {
  const { toolCallId } = invocation.call;
  // Meanwhile the activity may query the result.
  state.hookedResults = [...(state.hookedResults ?? []), { callId: toolCallId, content: outcome.content }];
  const hooked = await ports.afterCall(invocation, outcome);
  const left = state.hookedResults.filter(({ callId }) => callId !== toolCallId);
  if (left.length === 0) delete state.hookedResults;
  else state.hookedResults = left;
  return hooked;
}

// Tool phase: the traces of hooks in the results and records of calls.

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

// Closing: the hooks at the end of a run.

/** True if hooks are to be called at the end of the run. */
export function hasEndHooks(snapshot: Pick<AgentSnapshot, 'hooks'>): boolean {
  return hooksFor(snapshot, ...END_EVENTS).length > 0;
}

/** Returns the result with the answers of the hooks at the end of the run, after those at its start. */
export function addEndHooks(result: RunResultFields, atEnd: readonly HookRecord[]): RunResultFields {
  return atEnd.length === 0 ? result : { ...result, hooks: [...(result.hooks ?? []), ...atEnd] };
}
