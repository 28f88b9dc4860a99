import type { ReviewedCalls } from '../domain/activity-messages.ts';
import type { ToolSnapshot } from '../domain/agent.ts';
import { isToolCall, type ToolCall } from '../domain/content.ts';
import { defined, type JsonValue } from '../domain/json.ts';
import { type HookedCalls, type HookRecord, hooksAfterCall, hooksBeforeCalls, inheritedHooks } from '../domain/hooks.ts';
import type { RecordedResponse } from '../domain/model.ts';
import { withNotes } from '../domain/notes.ts';
import { ANY_JSON, anyObject, listOf } from '../domain/shape.ts';
import type { Capability, EndedCall, GateAnswer, GatedCall, MadeCalls } from '../kernel/capability.ts';
import type { ToolsPosition } from '../kernel/next-step.ts';
import type { Conversation, RunPorts, ToolInvocation, ToolOutcome, ToolResultOutcome } from '../kernel/ports.ts';
import { type RunState, slice, type WithSlices } from '../kernel/run-state.ts';
import { childOfCall, endOfAgent } from './children/children.ts';
import type { ErrorCode } from '../domain/errors.ts';
import { asRewritten, rewrittenArguments } from '../domain/rewrites.ts';
import { points } from '../kernel/points.ts';

// Capability: the user's functions that are called at points of a run.

export interface HookPorts extends RunPorts {
  /** Calls the before-call hooks of a response in a separate activity. */
  reviewCalls(response: RecordedResponse): Promise<ReviewedCalls>;
  /** Calls the after-call hooks for a result in a separate activity, and returns the result as they leave it. */
  afterCall(invocation: ToolInvocation, outcome: ToolResultOutcome, child: ChildOfCall): Promise<ToolResultOutcome>;
  /** Asks all capabilities of the worker that act at a point of the conversation. */
  askAtPoint(question: PointQuestion): Promise<PointAnswer>;
}

/** The run that a call has started, if its tool is an agent. */
export interface ChildOfCall {
  runId?: string;
  /** The child's result is also the result of this run. */
  ends?: true;
}

/** A question to all of the worker's capabilities at a point of the conversation: by reference, in one activity. */
export interface PointQuestion extends Conversation {
  /** `input`: messages that no model has read. `output`: an answer, before it counts. */
  point: 'input' | 'output';
  /** For input: the offset of the first message to check. */
  from?: number;
  /** The names of the functions that are asked, shown to people. */
  names: readonly string[];
  /** Their time limit in milliseconds. */
  timeoutMs: number;
}

/** The findings of each capability at a point, by its name. */
type FoundAtPoint = Readonly<Record<string, unknown>>;

/** The result of an activity at a point. */
export type PointAnswer =
  | { type: 'found'; found: FoundAtPoint }
  /** The activity failed permanently. */
  | { type: 'failed'; code: ErrorCode; message: string; found?: never }
  | { type: 'cancelled'; found?: FoundAtPoint };

/** The answer that is being checked by an activity. */
const askedAnswer = slice<JsonValue>('askedAnswer', ANY_JSON, { isPassing: true });

/** Returns the answer that is being checked by an activity, or undefined. */
export function answerAtPoint(run: WithSlices): JsonValue | undefined {
  return askedAnswer.of(run);
}

/** Asks about an answer. The activity queries the answer. */
export async function askAboutAnswer(
  state: RunState,
  ports: HookPorts,
  { names, timeoutMs }: Pick<PointQuestion, 'names' | 'timeoutMs'>,
  answer: JsonValue,
): Promise<PointAnswer> {
  const { through, lastEventId } = state.window;
  askedAnswer.set(state, answer);
  const found = await ports.askAtPoint({ point: 'output', through, lastEventId, names, timeoutMs });
  askedAnswer.clear(state);
  return found;
}

/** The answers of the hooks at the start of the run. */
const records = slice<HookRecord[]>('hookRecords', listOf(anyObject<HookRecord>()), { initial: ({ hookRecords }) => hookRecords });

/** The calls of the current response while a separate activity runs their hooks. The activity queries them. */
const reviewedCalls = slice<HookedCalls>('hookedCalls', anyObject<HookedCalls>(), { isPassing: true });

interface HookedResult {
  callId: string;
  content: JsonValue[];
}

/** The results whose hooks run in a separate activity, which may query them. */
const hookedResults = slice<HookedResult[]>('hookedResults', listOf(anyObject<HookedResult>()), { isPassing: true });

/** The hooks' answers about the result of a call, in its outcome. */
const answers = slice<HookRecord[]>('answersOfHooks', listOf(anyObject<HookRecord>()));

/** Returns the outcome of a call with the hooks' answers about it. */
export function withHookAnswers(outcome: ToolResultOutcome, given: HookRecord[] = []): ToolResultOutcome {
  return given.length === 0 ? outcome : answers.addTo(outcome, given);
}

/** Returns the calls that hooks are reviewing, or undefined. */
export function hookedCallsOf(run: WithSlices): HookedCalls | undefined {
  return reviewedCalls.of(run);
}

/** Returns the result that hooks of a call are reviewing, or undefined. */
export function hookedResultOf(run: WithSlices, callId: string): JsonValue[] | undefined {
  return hookedResults.of(run)?.find((one) => one.callId === callId)?.content;
}

/** Returns the arguments that a hook gave to a call. */
function changedArguments({ call, made }: GatedCall): GateAnswer {
  const args = rewrittenArguments(made, call.toolCallId);
  return args === undefined ? undefined : { type: 'change', arguments: args };
}

// Capability: the before-call hooks that run in a separate activity.

/** True if such hooks must be called before a response's calls start. */
function hasHooksBefore({ snapshot }: RunState, ports: RunPorts, { response, final }: ToolsPosition): boolean {
  if (final || response.reviewed || snapshot.hooks === undefined || ports.cancelRequested()) return false;
  return hooksBeforeCalls(snapshot).length > 0 && response.content.some(isToolCall);
}

/** Returns the position with these hooks' answers in its response, so that they are not called again. */
async function beforeCalls(state: RunState, ports: HookPorts, position: ToolsPosition): Promise<ToolsPosition> {
  const { response } = position;
  const { problems, approvals } = response;
  const content = response.content.map((item) => (isToolCall(item) ? asRewritten(response, item) : item));
  // The activity queries the calls meanwhile.
  reviewedCalls.set(state, { content, ...defined({ problems, approvals }) });
  const review = await ports.reviewCalls(response);
  reviewedCalls.clear(state);
  return { ...position, response: { ...reviewed(response, review), reviewed: true } };
}

function reviewed(response: RecordedResponse, review: ReviewedCalls): RecordedResponse {
  const { problems, approvals, rewrites, injections, hooks } = review;
  const texts = new Map(Object.entries(response.injections ?? {}));
  for (const [id, text] of Object.entries(injections ?? {})) texts.set(id, texts.has(id) ? `${texts.get(id)}\n${text}` : text);
  const args = new Map([...Object.entries(response.rewrites ?? {}), ...Object.entries(rewrites ?? {})]);
  const { approvals: _, ...rest } = response;
  return {
    ...rest,
    ...defined({ problems, approvals }),
    ...(args.size === 0 ? {} : { rewrites: Object.fromEntries(args) }),
    ...(texts.size === 0 ? {} : { injections: Object.fromEntries(texts) }),
    ...points.callsReviewed(response, review),
    ...(hooks === undefined ? {} : { hooks: [...(response.hooks ?? []), ...hooks] }),
  };
}

// Capability: the after-call hooks that run in a separate activity.

/** True if a tool's results may have such hooks. */
function haveAfter({ snapshot }: RunState, tool: ToolSnapshot): boolean {
  return hooksAfterCall(snapshot, tool).length > 0;
}

/** True if they must be called for an outcome. They are not called if the call has no result of its own or the run is cancelled. */
function hasHooksAfter(state: RunState, ports: RunPorts, { tool }: ToolInvocation, outcome: ToolOutcome): outcome is ToolResultOutcome {
  if (outcome.type !== 'result' || outcome.lost !== undefined || outcome.noWorker !== undefined) return false;
  if (tool.agent !== undefined && childOfCall(outcome) === undefined) return false;
  return haveAfter(state, tool) && !ports.cancelRequested();
}

function afterResult(state: RunState, ports: HookPorts, { invocation, outcome }: EndedCall): Promise<EndedCall> | undefined {
  return hasHooksAfter(state, ports, invocation, outcome) ? afterCall(state, ports, invocation, outcome) : undefined;
}

/** Returns a call with its outcome as these hooks leave it. */
async function afterCall(state: RunState, ports: HookPorts, invocation: ToolInvocation, outcome: ToolResultOutcome): Promise<EndedCall> {
  const { toolCallId } = invocation.call;
  hookedResults.set(state, [...(hookedResults.of(state) ?? []), { callId: toolCallId, content: outcome.content }]);
  const child = { ...defined({ runId: childOfCall(outcome) }), ...(endOfAgent(outcome) === undefined ? {} : { ends: true as const }) };
  const hooked = await ports.afterCall(invocation, outcome, child);
  const left = (hookedResults.of(state) ?? []).filter(({ callId }) => callId !== toolCallId);
  if (left.length === 0) hookedResults.clear(state);
  else hookedResults.set(state, left);
  return { invocation, outcome: hooked };
}

// Capability: the traces of hooks in the results and records of calls.

/** Returns a result with the text that a hook injected before its call. */
function withInjection(
  _: RunState,
  { injections = {} }: RecordedResponse,
  { toolCallId }: ToolCall,
  result: ToolResultOutcome,
): ToolResultOutcome {
  return Object.hasOwn(injections, toolCallId) ? withNotes(result, injections[toolCallId] ?? '') : result;
}

/** Returns the hooks' answers about a call, as a field of its record. */
function hooksOfCall({ hooks = [] }: RecordedResponse, { toolCallId }: ToolCall, result: ToolResultOutcome): { hooks?: HookRecord[] } {
  const about = [...hooks.filter(({ callId }) => callId === toolCallId), ...(answers.of(result) ?? [])];
  return about.length === 0 ? {} : { hooks: about };
}

/** Returns the hooks' answers about the request and the response, as a field of the step. */
function hooksOfStep(_: RunState, { hooks = [] }: RecordedResponse): { hooks?: HookRecord[] } {
  const about = hooks.filter(({ callId }) => callId === undefined);
  return about.length === 0 ? {} : { hooks: about };
}

function isDenied({ hooks = [] }: MadeCalls, { toolCallId }: ToolCall): boolean {
  return hooks.some(({ callId, answer, denied }) => callId === toolCallId && (answer === 'deny' || denied));
}

export const hooks: Capability<HookPorts> = {
  name: 'hooks',
  slices: [records, reviewedCalls, hookedResults, answers, askedAnswer],
  gates: [{ name: 'hooks', place: 'arguments', check: changedArguments }],
  callsMade: (state, ports, position) => (hasHooksBefore(state, ports, position) ? beforeCalls(state, ports, position) : undefined),
  refuses: isDenied,
  awaitsResult: haveAfter,
  afterResult,
  resultAsRead: withInjection,
  stepParts: hooksOfStep,
  recordParts: hooksOfCall,
  passesOn({ snapshot }) {
    const inherited = inheritedHooks(snapshot);
    return inherited.length === 0 ? {} : { hooks: inherited };
  },
  resultParts: (state) => defined({ hooks: records.of(state) }),
};
