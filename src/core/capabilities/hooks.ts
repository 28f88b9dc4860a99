import { type HookedCalls, hooksAfterCall, hooksBeforeCalls, type ReviewedCalls } from '../domain/activity-messages.ts';
import type { AgentSnapshot, ToolSnapshot } from '../domain/agent.ts';
import { isToolCall, type ToolCall } from '../domain/content.ts';
import { defined } from '../domain/defined.ts';
import { END_EVENTS, type HookRecord, hooksFor } from '../domain/hooks.ts';
import type { JsonValue } from '../domain/json.ts';
import type { RecordedResponse } from '../domain/model.ts';
import type { RunResultFields } from '../domain/result.ts';
import { anyObject, listOf } from '../domain/shape.ts';
import type { Capability, EndedCall, GateAnswer, GatedCall, MadeCalls } from '../kernel/capability.ts';
import { asRewritten, rewrittenArguments } from '../kernel/gate.ts';
import type { ToolsPosition } from '../kernel/next-step.ts';
import type { RunPorts, ToolInvocation, ToolOutcome, ToolResultOutcome } from '../kernel/ports.ts';
import { type RunState, slice, type WithSlices } from '../kernel/run-state.ts';

// Capability: functions of the user that are called at the points of a run.

export interface HookPorts extends RunPorts {
  /** Calls the hooks before the calls of a response that run in a separate activity. */
  reviewCalls(response: RecordedResponse): Promise<ReviewedCalls>;
  /** Calls the hooks for the result of a call that run in a separate activity, and returns the result as they leave it. */
  afterCall(invocation: ToolInvocation, outcome: ToolResultOutcome): Promise<ToolResultOutcome>;
}

/** The answers of the hooks at the start of the run. */
const records = slice<HookRecord[]>('hookRecords', listOf(anyObject<HookRecord>()), { initial: ({ hookRecords }) => hookRecords });

/** The calls of the present response, while hooks review them in a separate activity, which queries them. */
const reviewedCalls = slice<HookedCalls>('hookedCalls', anyObject<HookedCalls>(), { isPassing: true });

interface HookedResult {
  callId: string;
  content: JsonValue[];
}

/** The results whose hooks a separate activity calls, which may query them. */
const hookedResults = slice<HookedResult[]>('hookedResults', listOf(anyObject<HookedResult>()), { isPassing: true });

/** Returns the calls that hooks review; undefined if there are none. */
export function hookedCallsOf(run: WithSlices): HookedCalls | undefined {
  return reviewedCalls.of(run);
}

/** Returns the result of a call whose hooks are called; undefined if there is none. */
export function hookedResultOf(run: WithSlices, callId: string): JsonValue[] | undefined {
  return hookedResults.of(run)?.find((one) => one.callId === callId)?.content;
}

/** Returns the arguments that a hook gave to a call. */
function changedArguments({ call, made }: GatedCall): GateAnswer {
  const args = rewrittenArguments(made, call.toolCallId);
  return args === undefined ? undefined : { type: 'change', arguments: args };
}

// Capability: the hooks before calls that run in a separate activity.

/** True if such hooks are to be called before the calls of a response start. */
function hasHooksBefore({ snapshot }: RunState, ports: RunPorts, { response, final }: ToolsPosition): boolean {
  if (final || response.reviewed || snapshot.hooks === undefined || ports.cancelRequested()) return false;
  return hooksBeforeCalls(snapshot).length > 0 && response.content.some(isToolCall);
}

/** Returns the position with the answers of these hooks in its response, so that they are not called again. */
async function beforeCalls(state: RunState, ports: HookPorts, position: ToolsPosition): Promise<ToolsPosition> {
  const { response } = position;
  const { problems, approvals } = response;
  const content = response.content.map((item) => (isToolCall(item) ? asRewritten(response, item) : item));
  // Meanwhile the activity queries the calls.
  reviewedCalls.set(state, { content, ...defined({ problems, approvals }) });
  const review = await ports.reviewCalls(response);
  reviewedCalls.clear(state);
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

// Capability: the hooks for the result of a call that run in a separate activity.

/** True if such hooks may be called for the results of a tool. */
function haveAfter({ snapshot }: RunState, tool: ToolSnapshot): boolean {
  return hooksAfterCall(snapshot, tool).length > 0;
}

/** True if they are to be called for an outcome. A call without a result of its own, and a cancelled run, have none. */
function hasHooksAfter(state: RunState, ports: RunPorts, { tool }: ToolInvocation, outcome: ToolOutcome): outcome is ToolResultOutcome {
  if (outcome.type !== 'result' || outcome.isUnknown || outcome.noWorker !== undefined) return false;
  if (tool.agent !== undefined && outcome.childRunId === undefined) return false;
  return haveAfter(state, tool) && !ports.cancelRequested();
}

function afterResult(state: RunState, ports: HookPorts, { invocation, outcome }: EndedCall): Promise<EndedCall> | undefined {
  return hasHooksAfter(state, ports, invocation, outcome) ? afterCall(state, ports, invocation, outcome) : undefined;
}

/** Returns a call with its outcome as these hooks leave it. */
async function afterCall(state: RunState, ports: HookPorts, invocation: ToolInvocation, outcome: ToolResultOutcome): Promise<EndedCall> {
  const { toolCallId } = invocation.call;
  hookedResults.set(state, [...(hookedResults.of(state) ?? []), { callId: toolCallId, content: outcome.content }]);
  const hooked = await ports.afterCall(invocation, outcome);
  const left = (hookedResults.of(state) ?? []).filter(({ callId }) => callId !== toolCallId);
  if (left.length === 0) hookedResults.clear(state);
  else hookedResults.set(state, left);
  return { invocation, outcome: hooked };
}

// Capability: the traces of hooks in the results and records of calls.

/** Returns a result with the text that a hook injected before its call. */
function withInjection({ injections = {} }: RecordedResponse, { toolCallId }: ToolCall, result: ToolResultOutcome): ToolResultOutcome {
  if (!Object.hasOwn(injections, toolCallId)) return result;
  // The worker's cache has the result without that text.
  const { resultId: _, ...rest } = result;
  return { ...rest, content: [...result.content, injections[toolCallId] ?? ''] };
}

/** Returns the answers of hooks about a call, as a field of its record. */
function hooksOfCall({ hooks = [] }: RecordedResponse, { toolCallId }: ToolCall, result: ToolResultOutcome): { hooks?: HookRecord[] } {
  const about = [...hooks.filter(({ callId }) => callId === toolCallId), ...(result.hooks ?? [])];
  return about.length === 0 ? {} : { hooks: about };
}

/** Returns the answers of hooks about the request and the response, as a field of the step. */
function hooksOfStep(_: RunState, { hooks = [] }: RecordedResponse): { hooks?: HookRecord[] } {
  const about = hooks.filter(({ callId }) => callId === undefined);
  return about.length === 0 ? {} : { hooks: about };
}

function isDenied({ hooks = [] }: MadeCalls, { toolCallId }: ToolCall): boolean {
  return hooks.some(({ callId, answer, denied }) => callId === toolCallId && (answer === 'deny' || denied));
}

// Capability: the hooks at the end of a run.

/** True if hooks are to be called at the end of the run. */
export function hasEndHooks(snapshot: Pick<AgentSnapshot, 'hooks'>): boolean {
  return hooksFor(snapshot, ...END_EVENTS).length > 0;
}

/** Returns the result with the answers of the hooks at the end of the run, after those at its start. */
export function addEndHooks(result: RunResultFields, atEnd: readonly HookRecord[]): RunResultFields {
  return atEnd.length === 0 ? result : { ...result, hooks: [...(result.hooks ?? []), ...atEnd] };
}

export const hooks: Capability<HookPorts> = {
  name: 'hooks',
  slices: [records, reviewedCalls, hookedResults],
  gates: [{ name: 'hooks', place: 'arguments', check: changedArguments }],
  callsMade: (state, ports, position) => (hasHooksBefore(state, ports, position) ? beforeCalls(state, ports, position) : undefined),
  refuses: isDenied,
  awaitsResult: haveAfter,
  afterResult,
  resultAsRead: withInjection,
  stepParts: hooksOfStep,
  recordParts: hooksOfCall,
  resultParts: (state) => defined({ hooks: records.of(state) }),
};
