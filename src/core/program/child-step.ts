import type { AgentDocument } from '../domain/agent.ts';
import { cutText } from '../domain/byte-budgets.ts';
import type { ChildStart } from '../domain/children.ts';
import { defined, isJsonObject } from '../domain/json.ts';
import { type ErrorCode, errorMessage } from '../domain/errors.ts';
import { DEFAULT_STEPS, type LimitChanges, type LimitOptions, plainLimits } from '../domain/limits.ts';
import type { AskDocument, StepDocument, UnitDocument } from '../domain/program-document.ts';
import type { RunningChild } from '../domain/program-run.ts';
import type { Event } from '../domain/record.ts';
import type { RunResultFields } from '../domain/result.ts';
import { inheritedRules } from '../domain/parts.ts';
import { DEFAULT_CHILD_CHECK_MS, MAX_RUN_DEPTH, type ParentInput, parentOf, type RunInput } from '../domain/run-input.ts';
import type { Principal } from '../domain/run.ts';
import { oneLine } from '../domain/text.ts';
import { type Duration, isoTime, milliseconds } from '../domain/time.ts';
import { isCutOff } from '../domain/tool-calls.ts';
import type { AnswerVerdict, StepError, StepNote } from '../domain/verdicts.ts';
import { points } from '../kernel/points.ts';
import { forgetChild, spendChild } from '../capabilities/children/children.ts';
import { noteError } from '../kernel/run-state.ts';
import { anchorNames, FAILURE_CONTEXT, renderAsk, type RenderedPrompt } from './ask.ts';
import { indexOf } from './program-index.ts';
import { type AttemptEnd, failedAtOnce, type ProgramRun, recordAnswer, recordNote, type RunningStep, stepFailure } from './program-run.ts';
import { insertedText, interpolate, lookupAt, resolveValue } from './references.ts';
import { failureText, modelCallFailure, timeoutFailure } from './step-errors.ts';

// Programs: the input of a child.

/** The maximum characters of a workflow id. */
const MAX_WORKFLOW_ID = 1_000;

/** A child to start, or the reason why it cannot start. */
type ChildStartResult = { ok: true; runId: string; start: ChildStart; promptLength?: number } | { ok: false; problem: string };

/** Creates the input of a step's child, with resolved references, a person's edits, and the given share of the run's limits. */
export function childStart(run: ProgramRun, running: RunningStep, step: StepDocument, given: LimitChanges): ChildStartResult {
  const { depth = 0 } = parentOf(run.state) ?? {};
  if (depth >= MAX_RUN_DEPTH) return cannotStart(`the limit of ${MAX_RUN_DEPTH} runs inside of each other is reached`);
  const { at, state } = running;
  const runId = `${run.state.runId}/${at}${state.attempts > 1 ? `#${state.attempts}` : ''}`;
  if (runId.length > MAX_WORKFLOW_ID)
    return cannotStart(`its run id would have more than ${MAX_WORKFLOW_ID} characters: start the program with a shorter one`);
  try {
    const parent = asParent(run, step, { depth: depth + 1, given });
    const made = prepareStart(run, running, step, parent);
    return made.ok ? { ...made, runId } : made;
  } catch (error) {
    // An invalid limit or timeout, which a lenient document may contain.
    return cannotStart(errorMessage(error));
  }
}

type PreparedStart = { ok: true; start: ChildStart; promptLength?: number } | Extract<ChildStartResult, { ok: false }>;

function prepareStart(run: ProgramRun, running: RunningStep, step: StepDocument, parent: ParentInput): PreparedStart {
  if (step.ask !== undefined) return askStart(run, running, step, parent);
  return step.agent === undefined ? programStart(run, running, step, parent) : agentStart(run, running, step, parent);
}

function askStart(run: ProgramRun, running: RunningStep, step: StepDocument & { ask: AskDocument }, parent: ParentInput): PreparedStart {
  const asked = askAgent(run, running, step);
  if (!asked.ok) return cannotStart(asked.problem);
  const limits = { steps: DEFAULT_STEPS, ...plainStepLimits(running.at, step.ask.limits) };
  const input = { ...asked.input, ...commonInput(run, limits, parent) };
  return { ok: true, start: { kind: 'agent', input }, promptLength: asked.promptLength };
}

function agentStart(run: ProgramRun, running: RunningStep, { agent, refine }: StepDocument, parent: ParentInput): PreparedStart {
  const { program } = run;
  const { approved, failure } = running.state.progress ?? {};
  const { name = '', input = '', deps, limits } = agent ?? {};
  const lookup = lookupAt(program, running.address);
  const text = interpolate(input, lookup, { lenient: program.document.lenient });
  const data = resolveValue(deps ?? {}, lookup, { lenient: program.document.lenient });
  if (!text.ok) return cannotStart(text.problem);
  if (!data.ok) return cannotStart(data.problem);
  const given = { input: text.value, deps: data.value, ...approved?.arguments };
  if (typeof given.input !== 'string') return cannotStart('"input" is not text');
  if (!isJsonObject(given.deps)) return cannotStart('"deps" is not an object');
  const told = failure !== undefined && refine?.passFailureContext !== false;
  return {
    ok: true,
    start: {
      kind: 'agent',
      input: {
        agent: name,
        input: told ? `${given.input}${FAILURE_CONTEXT}${failureText(failure.error)}` : given.input,
        ...(Object.keys(given.deps).length === 0 ? {} : { deps: given.deps }),
        ...commonInput(run, plainStepLimits(running.at, limits), parent),
      },
    },
  };
}

function programStart(run: ProgramRun, running: RunningStep, { program: called }: StepDocument, parent: ParentInput): PreparedStart {
  const { program } = run;
  const { approved } = running.state.progress ?? {};
  const { name = '', input = {}, limits } = called ?? {};
  const resolved = resolveValue(input, lookupAt(program, running.address), { lenient: program.document.lenient });
  if (!resolved.ok) return cannotStart(resolved.problem);
  const given = approved?.arguments?.['input'] ?? resolved.value;
  if (!isJsonObject(given)) return cannotStart('"input" is not an object');
  return {
    ok: true,
    start: { kind: 'program', input: { program: name, input: given, ...commonInput(run, plainStepLimits(running.at, limits), parent) } },
  };
}

/** Returns the input fields shared by agents and programs. */
function commonInput<Limits extends LimitChanges>(
  { state }: ProgramRun,
  limits: Limits,
  parent: ParentInput,
): { limits?: Limits; tags?: string[]; live?: true; principal?: Principal; parent: ParentInput } {
  const { principal, snapshot } = state;
  const { tags = [], live } = snapshot;
  return {
    ...(Object.keys(limits).length === 0 ? {} : { limits }),
    ...(tags.length === 0 ? {} : { tags: [...tags] }),
    ...defined({ live, principal }),
    parent,
  };
}

function asParent(
  { state, ports }: ProgramRun,
  { name, timeout, ask }: StepDocument,
  { depth, given }: { depth: number; given: LimitChanges },
): ParentInput {
  const { limits, startedAt } = state;
  const left = { ...given };
  if (limits.deadlineMs !== undefined) left.deadlineMs = Math.max(1, startedAt + limits.deadlineMs - ports.now());
  if (timeout !== undefined) left.deadlineMs = Math.min(left.deadlineMs ?? Infinity, milliseconds(timeout, `step "${name}": "timeout"`));
  const { childCheckMs = DEFAULT_CHILD_CHECK_MS } = state.snapshot.timing;
  return {
    runId: state.runId,
    depth,
    checkMs: childCheckMs,
    ...(Object.keys(left).length === 0 ? {} : { left }),
    ...inheritedRules(parentOf(state)),
    ...points.passesOn(state),
    ...((ask?.tier ?? state.snapshot.tier) === 'batch' ? { tier: 'batch' as const } : {}),
  };
}

function plainStepLimits(at: string, limits: LimitOptions | undefined): LimitChanges {
  return limits === undefined ? {} : plainLimits(`step "${at}"`, limits);
}

function cannotStart(problem: string): Extract<ChildStartResult, { ok: false }> {
  return { ok: false, problem };
}

// Programs: the agent of an `ask` with tools, as the input of its run.

/** The maximum characters of an agent's name. */
const MAX_AGENT_NAME = 100;

/** The part of the input of a run that describes an `ask` with tools, and the length of its prompt. */
type AskAgent = { ok: true; input: RunInput; promptLength: number } | Extract<RenderedPrompt, { ok: false }>;

/** Renders the prompt of an `ask` with tools, and describes its agent. Its tools get the program's deps. */
function askAgent(run: ProgramRun, running: RunningStep, step: StepDocument & { ask: AskDocument }): AskAgent {
  const { document } = run.program;
  const { unit } = indexOf(document).get(running.address.unit, step.name);
  const rendered = renderedPrompt(run, running, { unit, step });
  if (!rendered.ok) return rendered;
  const { deps } = run.state;
  const input: RunInput = {
    agent: oneLine(`${document.name}/${unit.name}.${step.name}`, MAX_AGENT_NAME),
    document: agentDocument(run, { unit, step, instructions: rendered.instructions }),
    input: rendered.prompt,
    ...(Object.keys(deps).length === 0 ? {} : { deps }),
  };
  return { ok: true, input, promptLength: rendered.prompt.length };
}

/** A step that asks, and its unit. */
interface AskStep {
  unit: UnitDocument;
  step: StepDocument & { ask: AskDocument };
}

function renderedPrompt({ program }: ProgramRun, { address, state }: RunningStep, { unit, step }: AskStep): RenderedPrompt {
  const { failure, approved } = state.progress ?? {};
  const edited = approved?.arguments?.['prompt'];
  const isTold = failure !== undefined && step.refine?.passFailureContext !== false;
  return renderAsk(unit, step.ask, {
    lookup: lookupAt(program, address),
    lenient: program.document.lenient === true,
    anchors: [],
    ...(isTold ? { failure: failureText(failure.error) } : {}),
    ...(typeof edited === 'string' ? { edited } : {}),
  });
}

function agentDocument(
  { program: { document } }: ProgramRun,
  { unit, step, instructions }: AskStep & { instructions: string[] },
): AgentDocument {
  const { ask, name } = step;
  const { model = document.model ?? '', tools = [], output, type, confidenceFloor, requiredFields, range } = ask;
  const anchors = anchorNames(unit, ask);
  const effort = ask.effort ?? unit.effort;
  const settings = { ...defined({ reasoningEffort: effort }), ...ask.settings };
  return {
    step: name,
    model,
    instructions,
    tools,
    ...(anchors.length === 0 ? {} : { anchors }),
    ...(Object.keys(settings).length === 0 ? {} : { settings }),
    ...defined({ output, type, confidenceFloor, requiredFields, range }),
    ...(document.lenient === true ? { lenient: true } : {}),
  };
}

// Programs: the end of a child.

/** Bytes of a child's partial answer in the details of a failure. */
const PARTIAL_BYTES = 4_000;

/** Records that a child did not start. */
export function notStarted(run: ProgramRun, running: RunningStep, problem: string): AttemptEnd {
  const { address } = running;
  const message = `The ${childNoun(running)} of step '${address.step}' could not start: ${problem}`;
  return failedAtOnce(run, running, stepFailure(running, 'child_failed', message, problem));
}

/** Records that a step no longer waits for its child. */
export function leaveChild({ ports }: ProgramRun, { state }: RunningStep, { runId }: RunningChild): void {
  delete state.progress?.child;
  forgetChild(ports.inbox, runId);
}

/** Records the end of a child. Every status except `completed` is a failed attempt. */
export function childEnded(
  run: ProgramRun,
  running: RunningStep,
  { step, child, result }: { step: StepDocument; child: RunningChild; result: RunResultFields },
): AttemptEnd {
  if (hasCheckedAnswer(result)) return recordAskAnswer(run, running, { child, note: childNote(running, child), result });
  const spent = spendChild(run.state, result);
  if (result.status !== 'completed') return recordFailedChild(run, running, { child, error: childFailure(running, step, result), spent });
  const { output, finishReason } = result;
  if (typeof output === 'string' && (output === '' || isCutOff(finishReason))) {
    return recordFailedChild(run, running, { child, error: cutAnswerFailure(running, result), spent });
  }
  const content = [{ type: 'message' as const, role: 'assistant' as const, content: insertedText(output) }];
  recordNote(run, childNote(running, child), { ...spent, content });
  return { type: 'done', output, id: run.state.window.lastEventId };
}

/** Records that a child ended without a result: the server refused it, or an operator terminated it. */
export function childFailed(
  run: ProgramRun,
  running: RunningStep,
  { code, message }: { code: ErrorCode; message: string },
  child: RunningChild,
): AttemptEnd {
  const text = `The ${childNoun(running)} of step '${running.address.step}' ended without a result: ${message}`;
  return recordFailedChild(run, running, { child, error: stepFailure(running, 'child_failed', text, `${code}: ${message}`) });
}

/** Records the end of a child that was cancelled with the run. */
export function childStopped(run: ProgramRun, running: RunningStep, child: RunningChild, result: RunResultFields | undefined): AttemptEnd {
  const spent = result === undefined ? {} : spendChild(run.state, result);
  recordNote(run, childNote(running, child), { ...spent, interrupted: true });
  return { type: 'stopped' };
}

/** Returns the failure of an attempt whose child did not complete. Its details contain the partial answer. */
function childFailure(running: RunningStep, { timeout }: StepDocument, result: RunResultFields): StepError {
  const { step } = running.address;
  const { status, stopReason, error, errorCode = '', output, agentName } = result;
  const partial = output === null || output === '' ? '' : `Partial answer: ${cutText(insertedText(output), PARTIAL_BYTES)}`;
  const details = [error ?? '', partial].filter((text) => text !== '').join('\n');
  if (stopReason === 'deadline' && timeout !== undefined && hasTimeOf(result, timeout)) {
    return timeoutFailure(timeout, running.address, details);
  }
  if (running.state.kind === 'ask' && isModelFailure(errorCode)) return modelCallFailure(error ?? '', running.address);
  const reason = status === stopReason ? status : `${status} (${stopReason})`;
  return stepFailure(running, 'child_failed', `The ${childNoun(running)} '${agentName}' of step '${step}' ended with ${reason}`, details);
}

/** False for a child with an earlier deadline than the timeout of its step: one that it has itself, or that the program leaves it. */
function hasTimeOf({ limits }: RunResultFields, timeout: Duration): boolean {
  return limits.deadlineMs === undefined || limits.deadlineMs >= milliseconds(timeout, 'the timeout of a step');
}

/** Returns the failure of an attempt whose child gave an empty answer, or one that was cut off: later steps would treat it as complete. */
function cutAnswerFailure(running: RunningStep, { output, finishReason = 'stop', agentName }: RunResultFields): StepError {
  const text = insertedText(output);
  const problem = text === '' ? 'gave an empty answer' : `gave an incomplete answer (finish reason "${finishReason}")`;
  const partial = text === '' ? '' : `Partial answer: ${cutText(text, PARTIAL_BYTES)}`;
  return stepFailure(
    running,
    'child_failed',
    `The ${childNoun(running)} '${agentName}' of step '${running.address.step}' ${problem}`,
    partial,
  );
}

function recordFailedChild(
  run: ProgramRun,
  running: RunningStep,
  { child, error, spent = {} }: { child: RunningChild; error: StepError; spent?: Partial<Event> },
): AttemptEnd {
  noteError(run.state, error.message);
  recordNote(run, { ...childNote(running, child), error }, spent);
  return { type: 'failed', error, id: run.state.window.lastEventId };
}

/** Returns the noun for a step's child. */
function childNoun({ state: { kind } }: RunningStep): string {
  return kind === 'ask' ? 'agent' : kind;
}

/** True if a run has a checked answer, which only an `ask` with tools can have. */
function hasCheckedAnswer(result: RunResultFields): result is AnsweredChild {
  return result.status === 'completed' && result.verdict !== undefined;
}

/** True for the error code of a run that ended because a model call failed. */
function isModelFailure(code: string): boolean {
  return code.startsWith('model_') || code === 'context_length_exceeded' || code === 'unknown_provider';
}

function childNote({ at, state }: RunningStep, { runId, startedAt }: RunningChild): StepNote {
  return { at, kind: state.kind, type: 'attempt', attempt: state.attempts, startedAt: isoTime(startedAt), child: runId };
}

// Programs: the answer of an `ask` with tools.

type AnsweredChild = RunResultFields & { verdict: AnswerVerdict };

/** Records the answer of a run like that of an `ask` without tools: its verdict decides whether the attempt failed. */
function recordAskAnswer(
  run: ProgramRun,
  running: RunningStep,
  { child, note, result }: { child: RunningChild; note: StepNote; result: AnsweredChild },
): AttemptEnd {
  const { output, verdict } = result;
  const spent = spendChild(run.state, result);
  const text = insertedText(output);
  const structured = typeof output === 'string' ? undefined : output;
  const content = [{ type: 'message' as const, role: 'assistant' as const, content: text }];
  const error = recordAnswer(
    run,
    running,
    { note, verdict, promptLength: child.promptLength ?? 0, text, structured },
    { ...spent, content },
  );
  const id = run.state.window.lastEventId;
  return error === undefined ? { type: 'done', output, id } : { type: 'failed', error, id };
}
