import type { ReviewedCalls } from '../domain/activity-messages.ts';
import type { ToolSnapshot } from '../domain/agent.ts';
import { isToolCall, type ToolCall } from '../domain/content.ts';
import { defined, type JsonValue } from '../domain/json.ts';
import { type HookedCalls, type HookRecord, hooksAfterCall, hooksBeforeCalls, inheritedHooks } from '../domain/hooks.ts';
import type { RecordedResponse } from '../domain/model.ts';
import { ANY_JSON, anyObject, listOf } from '../domain/shape.ts';
import type { Capability, EndedCall, GateAnswer, GatedCall, MadeCalls } from '../kernel/capability.ts';
import { asRewritten, rewrittenArguments } from '../kernel/tool-calls.ts';
import type { ToolsPosition } from '../kernel/next-step.ts';
import type { Conversation, RunPorts, ToolInvocation, ToolOutcome, ToolResultOutcome } from '../kernel/ports.ts';
import { type RunState, slice, type WithSlices } from '../kernel/run-state.ts';
import { childOfCall, endOfAgent } from './children/children.ts';
import type { ErrorCode } from '../domain/errors.ts';
import { points } from '../kernel/points.ts';

// Capability: functions of the user that are called at the points of a run.

export interface HookPorts extends RunPorts {
  /** Calls the hooks before the calls of a response that run in a separate activity. */
  reviewCalls(response: RecordedResponse): Promise<ReviewedCalls>;
  /** Calls the hooks for the result of a call that run in a separate activity, and returns the result as they leave it. */
  afterCall(invocation: ToolInvocation, outcome: ToolResultOutcome, child: ChildOfCall): Promise<ToolResultOutcome>;
  /** Asks all capabilities of the worker that act at a point of the conversation. */
  askAtPoint(question: PointQuestion): Promise<PointAnswer>;
}

/** The run that a call has started, if its tool is an agent. */
export interface ChildOfCall {
  runId?: string;
  /** The result of that run is the result of this one. */
  ends?: true;
}

/** What is asked at a point of the conversation, of all capabilities that the worker has there: by reference, in one activity. */
export interface PointQuestion extends Conversation {
  /** `input`: messages that no model has read. `output`: an answer, before it counts. */
  point: 'input' | 'output';
  /** For input: the offset of the first of the messages. */
  from?: number;
  /** The names of those who are asked, for a person. */
  names: readonly string[];
  /** Milliseconds that they may take. */
  timeoutMs: number;
}

/** What each capability found at a point, by its name. */
type FoundAtPoint = Readonly<Record<string, unknown>>;

/** The answer of an activity at a point. */
export type PointAnswer =
  | { type: 'found'; found: FoundAtPoint }
  /** The activity failed for good. */
  | { type: 'failed'; code: ErrorCode; message: string; found?: never }
  | { type: 'cancelled'; found?: FoundAtPoint };

/** The answer about which an activity asks. */
const askedAnswer = slice<JsonValue>('askedAnswer', ANY_JSON, { isPassing: true });

/** Returns the answer about which an activity asks; undefined if there is none. */
export function answerAtPoint(run: WithSlices): JsonValue | undefined {
  return askedAnswer.of(run);
}

/** Asks about an answer, which the activity queries. */
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

/** The calls of the present response, while hooks review them in a separate activity, which queries them. */
const reviewedCalls = slice<HookedCalls>('hookedCalls', anyObject<HookedCalls>(), { isPassing: true });

interface HookedResult {
  callId: string;
  content: JsonValue[];
}

/** The results whose hooks a separate activity calls, which may query them. */
const hookedResults = slice<HookedResult[]>('hookedResults', listOf(anyObject<HookedResult>()), { isPassing: true });

/** The answers of hooks about the result of a call, in its outcome. */
const answers = slice<HookRecord[]>('answersOfHooks', listOf(anyObject<HookRecord>()));

/** Returns the outcome of a call with the answers of hooks about it. */
export function withHookAnswers(outcome: ToolResultOutcome, given: HookRecord[] = []): ToolResultOutcome {
  return given.length === 0 ? outcome : answers.addTo(outcome, given);
}

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

// Capability: the hooks for the result of a call that run in a separate activity.

/** True if such hooks may be called for the results of a tool. */
function haveAfter({ snapshot }: RunState, tool: ToolSnapshot): boolean {
  return hooksAfterCall(snapshot, tool).length > 0;
}

/** True if they are to be called for an outcome. A call without a result of its own, and a cancelled run, have none. */
function hasHooksAfter(state: RunState, ports: RunPorts, { tool }: ToolInvocation, outcome: ToolOutcome): outcome is ToolResultOutcome {
  if (outcome.type !== 'result' || outcome.isUnknown || outcome.noWorker !== undefined) return false;
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
function withInjection({ injections = {} }: RecordedResponse, { toolCallId }: ToolCall, result: ToolResultOutcome): ToolResultOutcome {
  if (!Object.hasOwn(injections, toolCallId)) return result;
  // The worker's cache has the result without that text.
  const { resultId: _, ...rest } = result;
  return { ...rest, content: [...result.content, injections[toolCallId] ?? ''] };
}

/** Returns the answers of hooks about a call, as a field of its record. */
function hooksOfCall({ hooks = [] }: RecordedResponse, { toolCallId }: ToolCall, result: ToolResultOutcome): { hooks?: HookRecord[] } {
  const about = [...hooks.filter(({ callId }) => callId === toolCallId), ...(answers.of(result) ?? [])];
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
