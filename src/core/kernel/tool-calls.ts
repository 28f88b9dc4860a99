import { DEFAULT_POLICY, type ToolSnapshot } from '../domain/agent.ts';
import { type ApprovalRequirement, lostAnswer, pendingOf } from '../domain/approvals.ts';
import { BYTE_BUDGETS, jsonBytes } from '../domain/byte-budgets.ts';
import { noteChanges, undoneKey } from '../domain/changes.ts';
import { isToolCall, type ToolCall, type ToolResult } from '../domain/content.ts';
import { defined, type JsonValue } from '../domain/json.ts';
import { applyOperations, type RecordedUpdate, stateProblem, type UpdatedDeps } from '../domain/deps.ts';
import type { LimitReached } from '../domain/limits.ts';
import type { RecordedResponse } from '../domain/model.ts';
import { laterTexts, withNotes } from '../domain/notes.ts';
import { setState } from '../domain/record.ts';
import { isoTime } from '../domain/time.ts';
import {
  FINAL_ANSWER,
  INTERRUPTED_CALL,
  noRetriesLeft,
  notExecutable,
  type NotRun,
  OVER_CALL_LIMIT,
  resultText,
  RUN_CODE,
  type ToolCallRecord,
  unknownTool,
  UNUSABLE_REPLY,
} from '../domain/tool-calls.ts';
import type { WindowEvent } from '../domain/window.ts';
import { asRewritten } from '../domain/rewrites.ts';
import { checkJson, problemsText } from '../json-schema/check-json-schema.ts';
import { reserveCalls } from './limits.ts';
import { thoughtOf, type ToolBatchContext } from './next-step.ts';
import { points } from './points.ts';
import {
  callResult,
  interruptedResult,
  isOverLimit,
  notRunResult,
  runningResult,
  type RunPorts,
  type ToolInvocation,
  type ToolOutcome,
  unknownResult,
} from './ports.ts';
import { countToolCall, noteError, recordEvent, recordStep, type RunState } from './run-state.ts';
import { type AskedCall, type Denial, deny, type Gate, type GatedCall, type MadeCalls } from './capability.ts';

// Tool phase: calls before they are scheduled.

/** Returns an event of the window, or the event of running calls that are not in the window. */
export function findEvent(state: Pick<RunState, 'window' | 'slices'>, id: string): WindowEvent | undefined {
  return points.eventBeside(state, id) ?? state.window.events.findLast((event) => event.id === id);
}

/** A prepared call: one to execute, possibly after a decision, or one with an immediate result. */
export type PreparedCall =
  /** `askedAgain`: true if its predicate was called again with the current deps. */
  | { type: 'execute'; invocation: ToolInvocation; requirement?: ApprovalRequirement; askedAgain?: true }
  | { type: 'immediate'; outcome: ToolOutcome };

/** The calls of a response after the gate, and the limit that some of them exceed. */
interface PreparedCalls {
  prepared: PreparedCall[];
  reached?: LimitReached;
}

/**
 * Prepares the calls of a response, and reserves room within the limits for those that may start. `outcomes`: the known outcomes, by index.
 */
export function prepareCalls(acting: ToolBatchContext, outcomes: readonly (ToolOutcome | null)[]): PreparedCalls {
  const { state, calls } = acting;
  const prepared = calls.map((call) => prepareCall(acting, call));
  const names = prepared.map((one, index) =>
    one.type === 'execute' && outcomes[index] === null && !hasStarted(state, one.invocation) ? one.invocation.call.name : undefined,
  );
  const { refused, reached } = reserveCalls(state, names);
  if (reached === undefined) return { prepared };
  const last: ToolBatchContext = { ...acting, isLast: true };
  return { prepared: calls.map((call, index) => prepareCall(last, call, refused.has(index))), reached };
}

/** True for a call that counts against the limits already: its outcome is in question, or an earlier execution has started it. */
function hasStarted(state: RunState, invocation: ToolInvocation): boolean {
  return lostAnswer(state.approvals.pending, invocation.call.toolCallId) !== undefined || points.hasStarted(state, invocation);
}

/** Prepares a call. A mistake of the model is not an exception: it becomes a result for the model to read. */
function prepareCall(
  { state, response, offset, final, isLast = false }: ToolBatchContext,
  asked: ToolCall,
  hasNoRoom = false,
): PreparedCall {
  const { id: eventId, content } = response;
  const index = content.indexOf(asked);
  const isBegun = pendingOf(state.approvals, asked.toolCallId) !== undefined || points.hasStarted(state, { eventId, index });
  const verdict = gate(state, { call: asked, made: response, place: `${eventId}/${index}`, final, isLast, hasNoRoom, isBegun });
  if (verdict.type === 'deny') {
    const { reason, text, durationMs } = verdict;
    return { type: 'immediate', outcome: { ...notRunResult(reason, text), durationMs } };
  }
  const { call, tool, requirement } = verdict;
  if (tool === undefined) return { type: 'immediate', outcome: callResult('success', finalOutput(response, call)) };
  const step = state.context.currentStep + 1;
  const invocation = { step, call, tool, offset, index, eventId, ...(call === asked ? {} : { edited: true as const }) };
  return { type: 'execute', invocation, ...defined({ requirement }) };
}

/** Returns the output of a valid `final_answer` call. */
export function finalOutput(response: RecordedResponse, call: ToolCall): JsonValue {
  const first = response.content.filter(isToolCall).find((one) => one.name === FINAL_ANSWER && problemOf(response, one) === undefined);
  // The recorded output belongs to the first valid answer.
  return call === first && response.output?.type === 'parsed' ? response.output.value : (call.arguments['output'] ?? null);
}

// Tool phase: the calls of one response.

/** The calls of one response and their outcomes so far by index, null for a call without an outcome. */
export interface ToolBatch {
  response: RecordedResponse;
  prepared: PreparedCall[];
  outcomes: (ToolOutcome | null)[];
  /** The outcomes of the response's calls that ran before these. */
  earlier?: readonly (ToolOutcome | null)[];
}

/** True for a single call, and for calls that must not overlap. A call that the limits refused in the previous execution does not count. */
export function runsInSequence({ snapshot }: RunState, { prepared, outcomes }: ToolBatch): boolean {
  if (prepared.length === 1 || !snapshot.parallel) return true;
  return prepared.some((one, index) => one.type === 'execute' && !one.invocation.tool.parallel && !isOverLimit(outcomes[index]));
}

/** True if a call needs a decision, or if a person may have to be asked about a call's outcome. */
export function needsDecisions({ snapshot }: RunState, { prepared }: ToolBatch): boolean {
  return prepared.some((one) => {
    if (one.type !== 'execute') return false;
    return one.requirement !== undefined || (snapshot.onUnknownOutcome === 'ask' && one.invocation.tool.effect === 'once');
  });
}

// Tool phase: the start of one call.

export function startTool(state: RunState, ports: RunPorts, invocation: ToolInvocation): Promise<ToolOutcome> {
  countStart(state, invocation);
  const instead = points.startsCall(state, ports, invocation);
  if (instead !== undefined) return instead;
  const started = invocation.tool.effect === 'once' ? startOnce(ports, invocation) : ports.runTool(invocation);
  return points.awaitsResult(state, invocation.tool) ? withResultReviewed(state, ports, invocation, started) : started;
}

async function withResultReviewed(
  state: RunState,
  ports: RunPorts,
  invocation: ToolInvocation,
  started: Promise<ToolOutcome>,
): Promise<ToolOutcome> {
  const outcome = await started;
  const reviewed = points.afterResult(state, ports, { invocation, outcome });
  return reviewed === undefined ? outcome : (await reviewed).outcome;
}

/** Counts a call at its start. From then on it counts against the limits, however it ends. */
export function countStart(state: RunState, { call: { name } }: ToolInvocation): void {
  state.toolCallsStarted.set(name, (state.toolCallsStarted.get(name) ?? 0) + 1);
}

/** Starts a call at most once: if its answer is lost, calls the tool's `verify`, or leaves the outcome unknown. */
async function startOnce(ports: RunPorts, invocation: ToolInvocation): Promise<ToolOutcome> {
  const { tool } = invocation;
  const started = await ports.runTool(invocation);
  if (started.type !== 'lost') return started;
  const found = tool.verify && !ports.cancelRequested() ? await ports.verify(invocation, started.reason) : started;
  if (found.type === 'result') return found;
  ports.outcomeUnknown?.(invocation, started.reason);
  const lost = { lost: started.reason };
  return found.type === 'cancelled' ? { ...found, ...lost } : { ...unknownResult(tool.name, started.reason), ...lost };
}

// Tool phase: changes that calls make to the run.

type Result = ToolOutcome & { type: 'result' };

/**
 * Applies a call's changes to the run once: its state, its deps, and the number of times its tool has asked the model to try again.
 * Overlapping calls may each stay within the bounds but exceed them together, and one may undo another's change: then the call becomes an
 * error result and changes nothing. `seen`: the number of changes when the call started.
 */
export function applyChanges(state: RunState, prepared: PreparedCall, outcome: ToolOutcome, seen: number): ToolOutcome {
  if (outcome.type !== 'result' || outcome.applied || prepared.type !== 'execute') return outcome;
  const { tool, call } = prepared.invocation;
  const { state: changes, asksRetry, ...kept } = outcome;
  const undone = undoneKey(state, outcome, seen);
  if (undone !== undefined) return conflictingChange(outcome, tool, undone);
  const problem = changes && stateProblem(state.context.state, changes);
  if (problem !== undefined) return refusedChange(outcome, `Tool '${call.name}' keeps too much. ${problem}`);
  const updated = updatedDeps(state, outcome);
  if (!updated.ok)
    return refusedChange(outcome, `The update of the deps by tool '${call.name}' was refused, and changed nothing: ${updated.problem}`);
  for (const [key, value] of Object.entries(changes ?? {})) setState(state.context, key, value);
  state.deps = updated.deps;
  noteChanges(state, outcome);
  const result: Result = { ...kept, applied: true };
  if (asksRetry) return withinRetries(state, tool.modelRetries ?? DEFAULT_POLICY.modelRetries, call.name, result);
  if (result.status === 'success') state.modelRetries.delete(call.name);
  return result;
}

/** Returns the deps after an update, or the problem if the update cannot be applied or its result is invalid. */
function updatedDeps(
  { deps, snapshot }: Pick<RunState, 'deps' | 'snapshot'>,
  { contextUpdate }: Pick<Result, 'contextUpdate'>,
): UpdatedDeps {
  if (contextUpdate === undefined) return { ok: true, deps };
  const updated = applyOperations(deps, contextUpdate);
  if (!updated.ok) return updated;
  const bytes = jsonBytes(updated.deps);
  if (bytes > BYTE_BUDGETS.deps) return { ok: false, problem: `the deps would be ${bytes} bytes of JSON, over ${BYTE_BUDGETS.deps}` };
  const problems = snapshot.deps === undefined ? [] : checkJson(snapshot.deps, updated.deps);
  return problems.length === 0 ? updated : { ok: false, problem: `deps: ${problemsText(problems)}` };
}

/** Limits the number of consecutive times that a tool may ask the model to try again. */
function withinRetries({ modelRetries }: RunState, allowed: number, name: string, result: Result): Result {
  const before = modelRetries.get(name) ?? 0;
  if (before < allowed) {
    modelRetries.set(name, before + 1);
    return result;
  }
  return refusedChange(result, noRetriesLeft(name, allowed, resultText(result.content)));
}

/** Returns the result of a call whose change would undo another's. A call with the effect `once` must not repeat: its result is kept. */
function conflictingChange(outcome: Result, { name, effect }: ToolSnapshot, key: string): Result {
  const problem = `The update by tool '${name}' was refused, and changed nothing: another call changed "${key}" while this one was running.`;
  if (effect !== 'once') return refusedChange(outcome, `${problem} Call the tool again.`);
  const { content, spilled, notes = [] } = outcome;
  const refused = refusedChange(outcome, `${problem} The call itself took effect: do not make it again. Its result:`);
  const kept = { ...refused, content: [...refused.content, ...content], ...defined({ spilled }) };
  return withNotes(kept, ...laterTexts(kept.content), ...notes);
}

/** Returns an error result that replaces the activity's. It has no result id, because it is in no worker's cache. */
function refusedChange({ durationMs, endedAt }: Result, message: string): Result {
  return { type: 'result', status: 'error', content: [message], durationMs, applied: true, ...defined({ endedAt }) };
}

// Tool phase: results in the record.

type Outcomes = readonly (ToolOutcome | null)[];

/**
 * Records the unrecorded results as one event, in the model's order. While other calls of the response wait for a decision, these are a
 * part of the results, and each is marked with its time, for the step.
 */
export function recordResults(
  { state, calls, response, caller }: ToolBatchContext,
  ports: RunPorts,
  outcomes: (ToolOutcome | null)[],
): void {
  const isPartial = outcomes.includes(null);
  const recordedAt = (isPartial ? timeOfResults(state, outcomes) : undefined) ?? isoTime(ports.now());
  const results: ToolResult[] = [];
  const named: (ToolResult | string)[] = [];
  const contextUpdates: RecordedUpdate[] = [];
  calls.forEach((call, index) => {
    const outcome = outcomes[index];
    if (outcome === null || outcome === undefined || isRecorded(outcome)) return;
    const result = points.resultAsRead(state, response, call, resultOf(call, outcome));
    results.push(toolResult(call, result));
    named.push(result.resultId ?? toolResult(call, result));
    if (result.contextUpdate !== undefined) contextUpdates.push({ callId: call.toolCallId, operations: result.contextUpdate });
    const { endedAt: _, ...recorded } = result;
    outcomes[index] = { ...(outcome.type === 'cancelled' ? outcome : recorded), recordedAt };
  });
  const before = calls.length - outcomes.filter((outcome) => outcome === null || outcome === undefined).length - results.length;
  if (results.length === 0 && (isPartial || calls.length > 0)) return;
  const after = state.window.lastEventId;
  recordEvent(state, ports, {
    author: state.snapshot.name,
    content: results,
    timestamp: recordedAt,
    // Derived from an id in the history, because no activity's input names this event.
    ...(caller !== undefined ? { caller, id: `${response.id}/results-${before}` } : { id: ports.uuid({ after, content: named }) }),
    ...(isPartial ? { partial: true as const } : {}),
    ...(contextUpdates.length === 0 ? {} : { contextUpdates }),
  });
  const resultIds = named.filter((one) => typeof one === 'string');
  if (caller === undefined && resultIds.length === results.length) state.resultIds = resultIds;
}

/**
 * Returns the time of results that are recorded before others of their response: the time of the last of them. The workflow's time does not
 * work: the workflow task that records them has no command, so a worker that loads the run may merge it with the next task and see that
 * task's time, and the same result would be recorded at two times. Undefined if no result has a time.
 */
function timeOfResults({ context }: RunState, outcomes: Outcomes): string | undefined {
  const ends = outcomes.flatMap((outcome) => (outcome?.type === 'result' && !isRecorded(outcome) ? (outcome.endedAt ?? []) : []));
  if (ends.length === 0) return undefined;
  const last = isoTime(Math.max(...ends));
  // The clock of the tool's worker may be behind.
  const before = context.events.at(-1)?.timestamp ?? last;
  return last > before ? last : before;
}

/** Records one step with one record per call. All results are already in the record. */
export function recordToolStep(acting: ToolBatchContext, outcomes: Outcomes): void {
  const { state, response, final } = acting;
  const records = recordsOf(acting, outcomes);
  for (const record of records) countToolCall(state, record);
  for (const [index, call] of acting.calls.entries()) {
    const record = records[index];
    if (record !== undefined) points.callRecorded(state, call, record);
  }
  recordStep(state, {
    ...points.stepParts(state, response),
    thought: thoughtOf(response.content),
    toolCalls: [...records, ...points.recordsBeside(state)],
    usage: response.usage,
    finishReason: 'tool_calls',
    ...defined({ warnings: response.warnings, hosted: response.hosted }),
    ...(final ? { final: true } : {}),
  });
}

/** Returns the records of calls, in order. */
export function recordsOf(acting: ToolBatchContext, outcomes: Outcomes): ToolCallRecord[] {
  return acting.calls.map((call, index) => toolCallRecord(acting, call, resultOf(call, outcomes[index] ?? interruptedResult())));
}

/** Returns the result that is recorded for a call with this outcome. */
export function resultOf({ name }: ToolCall, outcome: ToolOutcome): Result {
  if (outcome.type === 'result') return outcome;
  const lost = outcome.type === 'lost' ? outcome.reason : outcome.lost;
  const instead = lost === undefined ? runningResult() : unknownResult(name, lost);
  return {
    ...instead,
    ...defined({ recordedAt: outcome.recordedAt }),
    ...(outcome.type === 'cancelled' ? defined({ slices: outcome.slices }) : {}),
  };
}

function isRecorded(outcome: ToolOutcome): boolean {
  return outcome.recordedAt !== undefined;
}

function toolResult({ toolCallId, name }: ToolCall, { status, content, spilled, notes }: Result): ToolResult {
  return { type: 'tool_result', toolCallId, name, status, content, ...defined({ spilled, notes }) };
}

function toolCallRecord({ state, response }: ToolBatchContext, call: ToolCall, settled: Result): ToolCallRecord {
  const { status, content, notRun, durationMs, spilled, verified, recordedAt = '' } = settled;
  const isError = status === 'error';
  const result = resultText(content);
  if (isError) noteError(state, result);
  const tool = state.snapshot.tools.find(({ name }) => name === call.name);
  return {
    toolName: call.name,
    ...defined({ toolVersion: tool?.version, capability: tool?.capability }),
    callId: call.toolCallId,
    arguments:
      state.approvals.approved.find(({ callId }) => callId === call.toolCallId)?.arguments ?? asRewritten(response, call).arguments,
    result,
    isError,
    ...defined({ notRun }),
    durationMs,
    timestamp: recordedAt,
    ...defined({ spilled, verified }),
    ...points.recordParts(response, call, settled),
  };
}

// Tool phase: the gate that every call passes before it may start, whether made by a model, by code or by a step of a program.

/** The verdict of all gates: the call may start as given here, after a decision if one is required. Without a tool, it is an answer. */
type GateVerdict = Denial | { type: 'pass'; call: ToolCall; tool: ToolSnapshot | undefined; requirement?: ApprovalRequirement };

/** A gate of the loop itself, or a place for the gates of capabilities. */
type Place = Pick<Gate, 'name' | 'again' | 'check'> | Gate['place'];

/**
 * The gates in order. The first denial counts; of several required decisions the last counts, so that the tool's own requirement replaces a
 * rule's. Limits come after all other denials, so that a denied call takes no room, and before the decision, so that nobody decides about a
 * call that could not start. After an approval, with edited arguments or without, only the rules that may have changed are checked again
 * (`deniedAgain`).
 */
const ORDER: readonly Place[] = [
  /** The attempt after the step limit offers no tools. */
  { name: 'attempt', check: ({ final }) => (final === true ? deny('not_started', INTERRUPTED_CALL, null) : undefined) },
  /** The call was refused where it was made, because of its caller, its arguments, or a function of the user, in this order. */
  {
    name: 'review',
    check: ({ run, call, made }) => {
      const problem = problemOf(made, call);
      return problem === undefined ? undefined : deny(reasonOf(run, made, call), problem);
    },
  },
  'arguments',
  /** The tool does not exist. */
  {
    name: 'tools',
    check: ({ run, call, tool }) => (tool === undefined && !isFinalAnswer(run, call) ? deny('unknown', unknownTool(call.name)) : undefined),
  },
  'rules',
  /** The tool is only a schema. */
  { name: 'execution', check: ({ call, tool }) => (tool?.notExecutable ? deny('not_started', notExecutable(call.name)) : undefined) },
  /** The limits of tool calls. */
  { name: 'limits', check: ({ hasNoRoom }) => (hasNoRoom === true ? deny('not_started', OVER_CALL_LIMIT, null) : undefined) },
  /** The tool itself, its predicate, or a function of the user requires a decision. */
  {
    name: 'approval',
    check: ({ run, call, tool, made, place }) => {
      const requirement = tool && ownRequirement(run, { call, tool, made, place });
      return requirement === undefined ? undefined : { type: 'ask', requirement };
    },
  },
];

/** All gates in order, once the capabilities are composed. */
let ordered: readonly Pick<Gate, 'name' | 'again' | 'check'>[] | undefined;

/** Returns all gates in order. */
export function gatesInOrder(): readonly Pick<Gate, 'name' | 'again' | 'check'>[] {
  return (ordered ??= ORDER.flatMap((place) =>
    typeof place === 'string' ? points.gates().filter((one) => one.place === place) : [place],
  ));
}

/**
 * Returns whether a call may start, from recorded data alone and without any effect: the place where the call was made has already found
 * out what needs an activity. The caller must evaluate a predicate that was not evaluated there, or whose deps have changed since.
 */
export function gate(run: RunState, asked: AskedCall): GateVerdict {
  const tool = isFinalAnswer(run, asked.call) ? undefined : run.snapshot.tools.find(({ name }) => name === asked.call.name);
  let gated: GatedCall = { ...asked, run, tool };
  let requirement: ApprovalRequirement | undefined;
  for (const one of gatesInOrder()) {
    const answer = one.check(gated);
    // A rule that has changed since denies a waiting call once it could start, and a call that has started never.
    if (answer === undefined || (answer.type === 'deny' && one.again && asked.isBegun)) continue;
    if (answer.type === 'deny') return answer;
    if (answer.type === 'ask') ({ requirement } = answer);
    else gated = { ...gated, call: { ...gated.call, arguments: answer.arguments } };
  }
  return { type: 'pass', call: gated.call, tool, ...defined({ requirement }) };
}

/** Returns the text for the model about an approved call that must no longer start, or undefined if it may. */
export function deniedAgain(run: RunState, asked: AskedCall): string | undefined {
  const tool = run.snapshot.tools.find(({ name }) => name === asked.call.name);
  if (tool === undefined) return undefined;
  for (const one of points.gates()) {
    const answer = one.again ? one.check({ ...asked, run, tool }) : undefined;
    if (answer?.type === 'deny') return answer.text;
  }
  return undefined;
}

// Tool phase: the findings about a call where it was made.

/** Returns the reason why a call with a problem does not run: it was refused, its tool does not exist, or it is invalid. */
function reasonOf({ snapshot }: RunState, made: MadeCalls, call: ToolCall): NotRun {
  if (points.refuses(made, call)) return 'refused';
  const isKnown = [FINAL_ANSWER, RUN_CODE, UNUSABLE_REPLY].includes(call.name) || snapshot.tools.some(({ name }) => name === call.name);
  return isKnown ? 'invalid' : 'unknown';
}

/**
 * Returns the requirement of a decision. A tool that always needs a decision needs one even if the review has recorded none. So does a call
 * whose predicate was evaluated again in the previous execution, and that has been waiting since then or has been approved.
 */
function ownRequirement(
  { approvals }: RunState,
  { call: { toolCallId }, tool, made, place }: Pick<AskedCall, 'call' | 'made' | 'place'> & { tool: ToolSnapshot },
): ApprovalRequirement | undefined {
  if (made.approvals !== undefined && Object.hasOwn(made.approvals, toolCallId)) return made.approvals[toolCallId];
  const waiting = pendingOf(approvals, toolCallId);
  if (waiting?.kind === 'tool') return { digest: waiting.digest };
  const isApproved = approvals.approved.some(({ callId }) => callId === toolCallId);
  return isApproved || tool.approval?.when === 'always' ? { digest: place } : undefined;
}

/** True for the call that carries a structured answer. */
export function isFinalAnswer({ snapshot }: Pick<RunState, 'snapshot'>, { name }: ToolCall): boolean {
  return snapshot.output?.mode === 'final_answer' && name === FINAL_ANSWER;
}

/** Returns why a call must not run, as found where it was made, or undefined. Call ids come from models: only own properties count. */
export function problemOf({ problems }: Pick<MadeCalls, 'problems'>, { toolCallId }: ToolCall): string | undefined {
  return problems !== undefined && Object.hasOwn(problems, toolCallId) ? problems[toolCallId] : undefined;
}
