import type { ToolSnapshot } from '../domain/agent.ts';
import type { ApprovalRequirement } from '../domain/approvals.ts';
import { BYTE_BUDGETS } from '../domain/byte-budgets.ts';
import { isToolCall, type ToolCall } from '../domain/content.ts';
import { defined, isJsonObject, type JsonObject, type JsonValue } from '../domain/json.ts';
import type { StepDocument, ToolStepDocument } from '../domain/program-document.ts';
import type { RecordedCall } from '../domain/program-run.ts';
import { isoTime, milliseconds, type WaitDeadline } from '../domain/time.ts';
import { rejectedCall, resultText } from '../domain/tool-calls.ts';
import type { StepError } from '../domain/verdicts.ts';
import { checkArguments } from '../json-schema/read-by-schema.ts';
import { asEdited } from '../kernel/approvals.ts';
import type { AskedCall } from '../kernel/capability.ts';
import { applyChanges, findEvent, gate, startTool } from '../kernel/tool-calls.ts';
import { points } from '../kernel/points.ts';
import type { ToolInvocation, ToolOutcome } from '../kernel/ports.ts';
import { changesSoFar } from '../domain/changes.ts';
import { countToolCall, noteError } from '../kernel/run-state.ts';
import { type DecisionRequest, waitForDecision } from './approvals.ts';
import { type AttemptEnd, failedAtOnce, type ProgramRun, recordCall, recordResult, type RunningStep, stepFailure } from './program-run.ts';
import { callIdAt } from './program-index.ts';
import { lookupAt, resolveValue } from './references.ts';
import { timeoutFailure } from './step-errors.ts';

// Programs: one attempt of a `tool` step.

/** Executes one tool call, after a person's decision if the step or the tool requires one. */
export async function callTool(
  run: ProgramRun,
  running: RunningStep,
  step: StepDocument & { tool: ToolStepDocument },
): Promise<AttemptEnd> {
  const { state, program } = run;
  const { name, arguments: template = {} } = step.tool;
  const args = resolveValue(template, lookupAt(program, running.address), { lenient: program.document.lenient });
  if (!args.ok || !isJsonObject(args.value)) return callNotMade(run, running, args.ok ? 'the arguments are not an object' : args.problem);
  const parsed = await parsedForDecision(run, running, step, args.value);
  if (parsed === undefined) return { type: 'stopped' };
  if (typeof parsed === 'string') return callNotMade(run, running, parsed);
  const verdict = gate(state, askedCall(run, running, { name, arguments: parsed }));
  if (verdict.type === 'deny') {
    countToolCall(state, { toolName: name, notRun: verdict.reason });
    return callNotMade(run, running, verdict.text);
  }
  const { tool, requirement } = verdict;
  if (tool === undefined) throw new TypeError(`The call of step "${running.at}" is an answer`);
  const call = running.state.progress?.call ?? recordCall(run, running, { name, arguments: parsed });
  const invocation = invocationOf(run, step, { tool, call, arguments: parsed });
  const decided = await decideOnCall(run, running, { step, invocation, call, requirement });
  if (decided.type !== 'approved') return decided;
  const made = asEdited(invocation, decided.arguments);
  if (!(await mayCall(run, made))) return { type: 'stopped' };
  const startedAt = run.ports.now();
  const seen = changesSoFar(run.state);
  return recordCallEnd(run, running, { step, invocation: made, call, startedAt, seen, outcome: await startCall(run, made) });
}

/**
 * Returns the arguments that the tool of a step runs with, if its schema may change them and somebody may decide about the call; otherwise
 * as they are. A text says why they cannot be used; undefined if the run is cancelled.
 */
async function parsedForDecision(
  { state, ports }: ProgramRun,
  { at, state: { attempts, progress } }: RunningStep,
  { tool: { name }, approval }: StepDocument & { tool: ToolStepDocument },
  args: JsonObject,
): Promise<JsonObject | string | undefined> {
  const tool = state.snapshot.tools.find((one) => one.name === name);
  const isDecided = approval !== undefined || tool?.approval !== undefined;
  if (tool === undefined || tool.changesArguments === undefined || !isDecided || checkArguments(tool, args).problem !== undefined)
    return args;
  const recorded = progress?.call && findEvent(state, progress.call.eventId)?.content.find(isToolCall);
  if (recorded !== undefined) return recorded.arguments;
  const outcome = await ports.parseArguments({ tool: name, arguments: args, of: callIdAt(at, attempts) });
  if (outcome.type === 'cancelled') return undefined;
  if (outcome.type !== 'parsed') return outcome.type === 'refused' ? outcome.problem : outcome.message;
  return outcome.arguments;
}

/**
 * Waits until a call that needs no more decisions may start, and reserves its place. A capability is asked whether it postpones the call
 * after any other wait, because such a wait may be long. Returns false if the run stops first.
 */
async function mayCall(run: ProgramRun, invocation: ToolInvocation): Promise<boolean> {
  const { state, ports } = run;
  const { toolCallId: callId, name: toolName } = invocation.call;
  const note = (wait: WaitDeadline | undefined): void => {
    const others = (state.postponed ?? []).filter((one) => one.callId !== callId);
    const all = wait === undefined ? others : [...others, { callId, toolName, until: isoTime(wait.at), reason: wait.summary }];
    if (all.length === 0) delete state.postponed;
    else state.postponed = all;
  };
  while (await run.mayStart({ tool: toolName })) {
    const wait = points.postpones(state, ports.now(), invocation);
    if (wait === undefined) return true;
    run.unreserve(toolName);
    note(wait);
    await ports.until(() => run.isStopped, { at: Math.min(wait.at, run.deadline), summary: wait.summary });
    note(undefined);
  }
  return false;
}

/** Returns the step's call for the gate, with the problem of its arguments. Limits are waited for later (`mayStart`). */
function askedCall(
  { state }: ProgramRun,
  { at, state: { attempts } }: RunningStep,
  { name, arguments: args }: { name: string; arguments: JsonObject },
): AskedCall {
  const call: ToolCall = { type: 'tool_call', toolCallId: callIdAt(at, attempts), name, arguments: args };
  const tool = state.snapshot.tools.find((one) => one.name === name);
  const { problem } = tool === undefined ? {} : checkArguments(tool, args);
  const problems = problem === undefined ? {} : { problems: { [call.toolCallId]: problem } };
  return { call, made: { content: [call], ...problems }, place: call.toolCallId };
}

/** Returns the time of one attempt of a step, if the step limits it. */
function stepTimeout({ name, timeout }: StepDocument): number | undefined {
  return timeout === undefined ? undefined : milliseconds(timeout, `step "${name}": "timeout"`);
}

/** Returns the call of a step. All its attempts are one attempt of the step: they share its time. */
function invocationOf(
  { state }: ProgramRun,
  step: StepDocument,
  { tool, call: { callId, eventId, offset }, arguments: args }: { tool: ToolSnapshot; call: RecordedCall; arguments: JsonObject },
): ToolInvocation {
  const call = { type: 'tool_call' as const, toolCallId: callId, name: tool.name, arguments: args };
  const invocation = { step: state.context.currentStep + 1, call, tool, offset, index: 0, eventId };
  const withinMs = stepTimeout(step);
  if (withinMs === undefined) return invocation;
  return { ...invocation, tool: { ...tool, timeoutMs: Math.min(tool.timeoutMs, withinMs) }, withinMs };
}

/**
 * Starts a call. A local call becomes remote if other steps may run in parallel: a replay delivers the ends of several local calls at once,
 * so later steps would begin in another order. It also becomes remote after many local calls in a row, because all local calls of one
 * workflow task are one message, which must stay below 4 MB.
 */
function startCall(run: ProgramRun, invocation: ToolInvocation): Promise<ToolOutcome> {
  const { tier, ...remote } = invocation.tool;
  run.unreserve(invocation.tool.name);
  if (tier !== 'local') return startTool(run.state, run.ports, invocation);
  const bytes = (remote.maxResultBytes ?? BYTE_BUDGETS.toolResult) + BYTE_BUDGETS.localChanges;
  const isLocal = !run.isSideBySide && run.localBytes + bytes <= MAX_LOCAL_BYTES;
  run.localBytes = isLocal ? run.localBytes + bytes : 0;
  return startTool(run.state, run.ports, isLocal ? invocation : { ...invocation, tool: remote });
}

/** The maximum bytes produced by consecutive local calls. */
const MAX_LOCAL_BYTES = 2_000_000;

interface EndedToolCall {
  step: StepDocument;
  invocation: ToolInvocation;
  call: RecordedCall;
  /** Milliseconds since the epoch. */
  startedAt: number;
  /** The number of changes of deps and state when the call started. */
  seen: number;
  outcome: ToolOutcome;
}

/** Records the result. An error result is a failed attempt. */
function recordCallEnd(
  run: ProgramRun,
  running: RunningStep,
  { step, invocation, call, startedAt, seen, outcome: ended }: EndedToolCall,
): AttemptEnd {
  const { state } = run;
  const { name } = invocation.tool;
  const { callId } = call;
  state.approvals.approved = state.approvals.approved.filter((one) => one.callId !== callId);
  const outcome = applyChanges(state, { type: 'execute', invocation }, ended, seen);
  if (outcome.type !== 'result') {
    recordResult(run, running, call, { name, status: 'error', content: ['The call was running when the run was cancelled'] });
    return { type: 'stopped' };
  }
  const { status, content, notRun, timedOut } = outcome;
  const isError = status === 'error';
  const result = resultText(content);
  countToolCall(state, { toolName: name, ...defined({ notRun }) });
  const error = isError ? toolFailure(running, { step, invocation, result, timedOut }) : undefined;
  recordResult(run, running, call, { name, status, content, startedAt: isoTime(startedAt), ...defined({ error }) });
  const id = state.window.lastEventId;
  if (error === undefined) return { type: 'done', output: toolOutput(content), id };
  noteError(state, result);
  return { type: 'failed', error, id };
}

interface FailedCall extends Pick<EndedToolCall, 'step' | 'invocation'> {
  result: string;
  timedOut: 'attempt' | 'call' | undefined;
}

/** Returns the failure of a call: the step's timeout if its time was up, and otherwise the tool's own failure. */
function toolFailure(running: RunningStep, { step, invocation: { tool, withinMs }, result, timedOut }: FailedCall): StepError {
  const isOver = timedOut === 'call' || (timedOut === 'attempt' && tool.timeoutMs === withinMs);
  if (step.timeout !== undefined && isOver) return timeoutFailure(step.timeout, running.address);
  return stepFailure(running, 'tool_failed', `Tool '${tool.name}' failed: ${result}`, result);
}

/** Returns a tool's output: its value, or the list of its values if there are several. */
function toolOutput(content: readonly JsonValue[]): JsonValue {
  return content.length === 1 ? (content[0] ?? null) : [...content];
}

function callNotMade(run: ProgramRun, running: RunningStep, problem: string): AttemptEnd {
  const error = stepFailure(running, 'tool_failed', `Tool call of step '${running.address.step}' could not be made: ${problem}`, problem);
  return failedAtOnce(run, running, error);
}

// Programs: the decision about a tool call.

/** One call of a tool step. */
interface StepInvocation {
  step: StepDocument & { tool: ToolStepDocument };
  invocation: ToolInvocation;
  call: RecordedCall;
  /** The requirement of a decision, as found by the gate. */
  requirement: ApprovalRequirement | undefined;
}

/** The outcome of the decision: the arguments of the call, or the end of the attempt without a call. */
type CallDecision = { type: 'approved'; arguments?: JsonObject } | AttemptEnd;

/** Waits for the decision about a call, if the step or the tool requires one. */
async function decideOnCall(
  run: ProgramRun,
  running: RunningStep,
  { step, invocation, call, ...found }: StepInvocation,
): Promise<CallDecision> {
  const { progress } = running.state;
  if (progress?.approved !== undefined) {
    noteApproved(run, call, progress.approved);
    return { type: 'approved', ...progress.approved };
  }
  const { tool } = invocation;
  let requirement: DecisionRequest['requirement'];
  // A call whose decision was requested keeps its requirement: otherwise the predicate would overrule the person who decides.
  if (!run.isRequested(call.callId)) {
    requirement = await requirementOf(run, invocation, found.requirement);
    if (step.approval === undefined && requirement === undefined) return { type: 'approved' };
    if (!(await mayAsk(run, tool))) return { type: 'stopped' };
  }
  const decision = await waitForDecision(run, {
    kind: tool.answer === undefined ? 'tool' : 'question',
    call,
    toolName: tool.name,
    arguments: invocation.call.arguments,
    deadline: step.approval ?? true,
    ...(requirement === undefined ? {} : { requirement: { ...tool.approval, ...requirement } }),
  });
  if (decision === undefined) return { type: 'stopped' };
  if (decision.type === 'respond') {
    const output = decision.content ?? null;
    countToolCall(run.state, { toolName: tool.name, ...(tool.answer === undefined ? { notRun: 'answered' as const } : {}) });
    recordResult(run, running, call, { name: tool.name, status: 'success', content: [output] });
    return { type: 'done', output, id: run.state.window.lastEventId };
  }
  if (decision.type === 'reject') {
    const message = rejectedCall(decision.reason);
    const error = stepFailure(running, 'step_rejected', message);
    countToolCall(run.state, { toolName: tool.name, notRun: 'refused' });
    recordResult(run, running, call, { name: tool.name, status: 'error', content: [message], error });
    return { type: 'failed', error, id: run.state.window.lastEventId, isFinal: true };
  }
  const approved = defined({ arguments: decision.arguments });
  noteApproved(run, call, approved);
  running.state.progress = { ...running.state.progress, approved };
  return { type: 'approved', ...approved };
}

/**
 * Records that a call is approved, for each attempt of its step anew: its activity queries edited arguments that are too large for its
 * input.
 */
function noteApproved({ state: { approvals } }: ProgramRun, { callId }: RecordedCall, approved: { arguments?: JsonObject }): void {
  if (approvals.approved.every((one) => one.callId !== callId)) approvals.approved.push({ callId, ...approved });
}

/** Waits until the limits have room for a call, so that nobody decides about a call that could not start. */
async function mayAsk(run: ProgramRun, tool: ToolSnapshot): Promise<boolean> {
  if (run.budget.roomForCall(tool.name, run.ports.now()).type !== 'limit') return true;
  return run.mayStart({ roomFor: tool.name });
}

/**
 * Returns the requirement of a decision. The tool's predicate is evaluated here, because no activity that could have evaluated it made the
 * call.
 */
async function requirementOf(
  { ports }: ProgramRun,
  invocation: ToolInvocation,
  found: ApprovalRequirement | undefined,
): Promise<DecisionRequest['requirement']> {
  const decided = found ?? (invocation.tool.approval?.when === 'predicate' ? await ports.reevaluateApproval(invocation) : undefined);
  if (decided === undefined) return undefined;
  // The decision is bound to the arguments.
  const { digest: _, ...requirement } = decided;
  return requirement;
}
