import type { OwnLimits } from '../domain/agent.ts';
import type { ChildOutcome, ChildStart } from '../domain/children.ts';
import { defined, type JsonValue } from '../domain/json.ts';
import { type ErrorCode, errorMessage } from '../domain/errors.ts';
import { DEFAULT_STEPS, plainLimits } from '../domain/limits.ts';
import type { AskDocument, HumanDocument, SleepDocument, StepDocument } from '../domain/program-document.ts';
import type { RunningChild } from '../domain/program-run.ts';
import { incrementStep } from '../domain/record.ts';
import { type Duration, isoTime, milliseconds } from '../domain/time.ts';
import { addRunUsage, type AggregatedUsage, noUsage } from '../domain/usage.ts';
import { type StepNote, withAttempt } from '../domain/verdicts.ts';
import { answerOf, thoughtOf } from '../kernel/next-step.ts';
import { recordFailedCall, recordInterrupted, spend } from '../kernel/limits.ts';
import { noteError } from '../kernel/run-state.ts';
import { approve, review, waitForDecision } from './approvals.ts';
import { askPromptTexts } from './ask.ts';
import { childEnded, childFailed, childStart, childStopped, leaveChild, notStarted } from './child-step.ts';
import { addressText, indexOf } from './program-index.ts';
import type { AskOutcome } from './program-ports.ts';
import {
  type AttemptEnd,
  endStep,
  failedAtOnce,
  type ProgramRun,
  recordAnswer,
  recordCall,
  recordNote,
  recordResult,
  reserveCallEvent,
  type RunningStep,
  stepFailure,
  type StepsEnd,
} from './program-run.ts';
import { lookupAt, outputIds, resolveValue } from './references.ts';
import { failedAttempt, fallbackOf, makeAttempts, resolveRefine } from './refine.ts';
import { exhaustionFailure, formatError, modelCallFailure, type StepError, timeoutFailure } from './step-errors.ts';
import { loadForRun } from './stored-outputs.ts';
import { callTool } from './tool-step.ts';

// Programs: the attempts of one step.

/** Runs the attempts of a step until one succeeds or none is left, and ends the step. */
export async function runAttempts(run: ProgramRun, running: RunningStep, step: StepDocument): Promise<StepsEnd> {
  const { state, at } = running;
  const { retryAt, failure, usedUp } = state.progress ?? {};
  if (usedUp !== undefined) return failStep(run, running, step, usedUp);
  const config = resolveRefine(step.refine);
  const isWaiting = retryAt !== undefined;
  let last: AttemptEnd = { type: 'stopped' };
  await makeAttempts<JsonValue>({
    config,
    from: {
      attempt: Math.max(1, state.attempts + (isWaiting ? 1 : 0)),
      ...(failure === undefined ? {} : { failureContext: formatError(failure.error) }),
      waitMs: isWaiting ? 1 : 0,
    },
    attempt: async (_, number) => {
      if (state.attempts !== number) run.moveOn();
      state.attempts = number;
      last = await loadAndRun(run, running, step);
      if (last.type === 'stopped') return last;
      if (last.type === 'failed') state.attemptDetails = withAttempt(state.attemptDetails ?? [], { attempt: number, error: last.error });
      if (last.type === 'done') return { type: 'succeeded', result: last.output };
      if (last.isFinal) return { type: 'stopped' };
      state.progress = {
        failure: { error: last.error, id: last.id },
        ...defined({ approved: state.progress?.approved }),
      };
      return failedAttempt(last.error);
    },
    wait: async (ms, attempt) => {
      state.progress = { ...state.progress, retryAt: state.progress?.retryAt ?? run.ports.now() + ms };
      const isWoken = await sleepUntil(run, running, 'retryAt', `before attempt ${attempt + 1} of ${at}`);
      if (!isWoken) last = { type: 'stopped' };
      return { type: isWoken ? 'waited' : 'stopped' };
    },
  });
  return concludeStep(run, running, step, last);
}

/** Makes one attempt, once the run has loaded the outputs that it resolves for it. If they cannot be loaded, no further attempt follows. */
async function loadAndRun(run: ProgramRun, running: RunningStep, step: StepDocument): Promise<AttemptEnd> {
  const loading = loadForRun(run, running, step);
  const unloaded = loading === undefined ? undefined : await loading;
  if (unloaded === undefined) return makeAttempt(run, running, step);
  return unloaded.type === 'stopped' ? unloaded : failedAtOnce(run, running, unloaded.error);
}

// Programs: the end of a step after its attempts.

/** Ends a step with the outcome of its last attempt. */
async function concludeStep(run: ProgramRun, running: RunningStep, step: StepDocument, last: AttemptEnd): Promise<StepsEnd> {
  if (last.type === 'stopped') return 'stopped';
  if (last.type === 'failed') return failStep(run, running, step, last.error);
  endStep(run, running, { status: 'completed', output: last.output, outputId: last.id });
  return 'completed';
}

/** Ends a step whose attempts are used up: it fails, is skipped, or takes the output of its fallback. */
async function failStep(run: ProgramRun, running: RunningStep, step: StepDocument, last: StepError): Promise<StepsEnd> {
  const fallback = fallbackOf(step.refine ?? {});
  const { unit, step: name } = running.address;
  // Only a lenient program may name an unknown fallback.
  const isMissing = fallback !== undefined && indexOf(run.program.document).find(unit, fallback) === undefined;
  if (step.refine?.onExhaustion === 'skip' || isMissing) {
    const reason = isMissing ? `its attempts are used up, and there is no step "${fallback}"` : 'its attempts are used up';
    endStep(run, running, { status: 'skipped', error: last, reason });
    return 'completed';
  }
  if (fallback !== undefined) {
    // The fallback may run for several executions.
    running.state.progress = { usedUp: last };
    return takeFallback(run, running, fallback);
  }
  // AXON reports used-up attempts even for a model call with a single attempt.
  const isExhausted = step.refine !== undefined || (run.program.document.lenient === true && step.ask !== undefined);
  const error = isExhausted ? exhaustionFailure(running.state.attempts, last, { step: name, unit }) : last;
  endStep(run, running, { status: 'failed', error });
  return 'failed';
}

/** Takes the output of another step, which runs now if it has not run yet. */
async function takeFallback(run: ProgramRun, running: RunningStep, name: string): Promise<StepsEnd> {
  const { unit, indexes } = running.address;
  const { step } = indexOf(run.program.document).get(unit, name);
  const end = await run.runSteps({ unit, steps: [step], indexes });
  if (end === 'stopped') return 'stopped';
  const { output, spilled, outputId, error } = run.program.steps.get(addressText({ unit, step: name, indexes })) ?? {};
  if (end === 'failed' || (output === undefined && spilled === undefined)) {
    const missing = stepFailure(running, 'step_failed', `The fallback "${name}" of step "${running.address.step}" has no output`);
    endStep(run, running, { status: 'failed', error: error ?? missing });
    return 'failed';
  }
  endStep(run, running, {
    status: 'completed',
    ...defined({ output, spilled, outputId }),
    reason: `taken from "${name}"`,
  });
  return 'completed';
}

// Programs: one attempt of a step.

/** Makes one attempt: waits for the approval, acts, and waits for the review. Continues where the previous execution stopped. */
async function makeAttempt(run: ProgramRun, running: RunningStep, step: StepDocument): Promise<AttemptEnd> {
  const { held } = running.state.progress ?? {};
  if (held !== undefined) return review(run, running, step, { type: 'done', ...held });
  const decided = await approve(run, running, step);
  const end = decided ?? (await runStepKind(run, running, step));
  return end.type === 'done' ? review(run, running, step, end) : end;
}

async function runStepKind(run: ProgramRun, running: RunningStep, step: StepDocument): Promise<AttemptEnd> {
  if (step.tool !== undefined) reserveCallEvent(run, running);
  // A child starts with its share of the limits. A running child is waited for even if no further step may start.
  if (step.agent !== undefined || step.program !== undefined || step.ask?.tools !== undefined) return runChildOnce(run, running, step);
  if (!(await run.mayStart(step.ask === undefined ? 'other' : 'model'))) return { type: 'stopped' };
  if (step.ask !== undefined) return askOnce(run, running, step);
  if (step.tool !== undefined) return callTool(run, running, step);
  if (step.human !== undefined) return askHuman(run, running, step.human);
  if (step.sleep !== undefined) return sleepOnce(run, running, step.sleep);
  if (step.remember !== undefined || step.recall !== undefined) return useMemoryOnce(run, running, step);
  throw new TypeError(`Step "${running.at}" has a kind that this release cannot run`);
}

// Programs: a question to a person.

/** Asks a person, and waits for the answer. A rejected question is a failed attempt. */
async function askHuman(run: ProgramRun, running: RunningStep, human: HumanDocument): Promise<AttemptEnd> {
  const { address, state } = running;
  const name = `${address.unit}.${address.step}`;
  const edited = state.progress?.approved?.arguments?.['question'];
  const options = { lenient: run.program.document.lenient };
  const question =
    edited === undefined ? resolveValue(human.question, lookupAt(run.program, address), options) : { ok: true as const, value: edited };
  if (!question.ok) return failedAtOnce(run, running, stepFailure(running, 'invalid_input', question.problem));
  const questionData = { question: question.value };
  const call = state.progress?.call ?? recordCall(run, running, { name, arguments: questionData });
  const decision = await waitForDecision(run, { kind: 'question', call, toolName: name, arguments: questionData, deadline: human });
  if (decision === undefined) return { type: 'stopped' };
  if (decision.type === 'reject') {
    const message = decision.reason === undefined ? 'The question was rejected' : `The question was rejected: ${decision.reason}`;
    const error = stepFailure(running, 'step_rejected', message);
    recordResult(run, running, call, { name, status: 'error', content: [message], error });
    return { type: 'failed', error, id: run.state.window.lastEventId };
  }
  const output = decision.content ?? null;
  recordResult(run, running, call, { name, status: 'success', content: [output] });
  return { type: 'done', output, id: run.state.window.lastEventId };
}

/** An activity that refuses its input, such as a reference without a value, sends nothing, and would refuse it again. */
function finalIfRefused({ code }: { code: ErrorCode }): { isFinal?: true } {
  return code === 'invalid_input' ? { isFinal: true } : {};
}

// Programs: uses of the memory.

/** Stores a value, or looks values up. */
async function useMemoryOnce(run: ProgramRun, running: RunningStep, step: StepDocument): Promise<AttemptEnd> {
  const { program, ports } = run;
  const { at, address, state } = running;
  const kind = step.remember === undefined ? 'recall' : 'remember';
  const outputs = outputIds(program, address, { ...step.remember, ...step.recall });
  const startedAt = isoTime(ports.now());
  const { timeout } = step;
  const timed = timeout === undefined ? {} : { timeoutMs: milliseconds(timeout, `step "${at}": "timeout"`) };
  const edited = state.progress?.approved?.arguments === undefined ? {} : { edited: true as const };
  const outcome = await ports.useMemory({ kind, address: at, attempt: state.attempts, outputs, now: ports.now(), ...timed, ...edited });
  const note = { at, kind, type: 'attempt' as const, attempt: state.attempts, startedAt };
  switch (outcome.type) {
    case 'cancelled':
      return { type: 'stopped' };
    case 'failed': {
      const isTimeOut = outcome.code === 'step_timeout' && timeout !== undefined;
      const error = isTimeOut ? timeoutFailure(timeout, address) : stepFailure(running, outcome.code, outcome.message);
      noteError(run.state, error.message);
      recordNote(run, { ...note, error });
      return { type: 'failed', error, id: run.state.window.lastEventId, ...finalIfRefused(outcome) };
    }
    case 'done': {
      const { id, output } = outcome;
      const content = [{ type: 'message' as const, role: 'assistant' as const, content: JSON.stringify(output) }];
      recordNote(run, note, { id, content });
      return { type: 'done', output, id };
    }
  }
}

// Programs: one attempt of an `agent` or `program` step, or of an `ask` with tools, each in a separate run.

/** Starts a child and waits for its end, or waits for one that an earlier execution started. */
async function runChildOnce(run: ProgramRun, running: RunningStep, step: StepDocument): Promise<AttemptEnd> {
  const { state } = running;
  let start: ChildStart | undefined;
  if (state.progress?.child === undefined) {
    const own = ownLimits(run, running, step);
    if (!own.ok) return notStarted(run, running, own.problem);
    const given = await run.giveChild(running.at, own.limits);
    if (given === undefined) return { type: 'stopped' };
    const made = childStart(run, running, step, given);
    if (!made.ok) {
      run.takeBack(running.at);
      return notStarted(run, running, made.problem);
    }
    start = made.start;
    const startedAt = run.ports.now();
    const { runId, promptLength } = made;
    const shared = Object.keys(given).length === 0 ? {} : { given };
    const child = { runId, startedAt, seenAt: startedAt, ...defined({ promptLength }), ...shared };
    state.progress = { ...state.progress, child };
    recordNote(run, { at: running.at, kind: state.kind, type: 'start', attempt: state.attempts, child: runId });
  }
  const { child } = state.progress ?? {};
  if (child === undefined) throw new TypeError(`Step "${running.at}" has no child`);
  run.children += 1;
  const outcome = await run.ports.runChild({ ...child, ...defined({ start }), isLeft: () => run.isContinuing });
  run.children -= 1;
  if (outcome.type === 'left') {
    child.seenAt = outcome.seenAt;
    return { type: 'stopped' };
  }
  leaveChild(run, running, child);
  const end = chargeStep(run, running, () => childEnd(run, running, { step, child, outcome }));
  // Called after the child's usage was counted: no step starts in between.
  run.takeBack(running.at, { isUnreported: outcome.type === 'failed' && !outcome.unstarted });
  return end;
}

function childEnd(run: ProgramRun, running: RunningStep, { step, child, outcome }: ChildStepEnd): AttemptEnd {
  switch (outcome.type) {
    case 'failed':
      return childFailed(run, running, outcome, child);
    case 'cancelled':
      return childStopped(run, running, child, outcome.result);
    case 'ended':
      return childEnded(run, running, { step, child, result: outcome.result });
  }
}

/** A child that has ended, or was cancelled along with the run. */
interface ChildStepEnd {
  step: StepDocument;
  child: RunningChild;
  outcome: Exclude<ChildOutcome, { type: 'left' }>;
}

// Programs: a child's own limits.

/** The limits of a child, or the reason why they are invalid. */
type FoundLimits = { ok: true; limits: OwnLimits } | { ok: false; problem: string };

/** Returns the limits of a step's agent or program, as known at the start of the run, and the step's own. */
function ownLimits({ state }: ProgramRun, { at }: RunningStep, { agent, program, ask }: StepDocument): FoundLimits {
  const { agents = {}, programs = {} } = state.snapshot.childLimits ?? {};
  const called = agent === undefined ? limitsIn(programs, program?.name) : limitsIn(agents, agent.name);
  const known = ask === undefined ? called : limitsOfAsk(state, ask);
  try {
    return { ok: true, limits: { ...known, ...plainLimits(`step "${at}"`, (agent ?? program ?? ask)?.limits ?? {}) } };
  } catch (error) {
    // An invalid limit, which a lenient document may contain.
    return { ok: false, problem: errorMessage(error) };
  }
}

/** Returns the limits of an `ask` with tools. It needs no calls of limited tools that neither it nor an agent below it can have. */
function limitsOfAsk({ limits, snapshot }: ProgramRun['state'], { tools = [] }: AskDocument): OwnLimits {
  const { agentTools = [] } = snapshot.childLimits ?? {};
  if (tools.some((name) => agentTools.includes(name))) return { steps: DEFAULT_STEPS };
  const lacking = Object.keys(limits.toolCallsByName ?? {}).filter((name) => !tools.includes(name));
  const byName = Object.fromEntries(lacking.map((name) => [name, 0]));
  return { steps: DEFAULT_STEPS, ...(lacking.length === 0 ? {} : { toolCallsByName: byName }) };
}

function limitsIn(all: Record<string, OwnLimits>, name: string | undefined): OwnLimits {
  return name !== undefined && Object.hasOwn(all, name) ? (all[name] ?? {}) : {};
}

// Programs: one attempt of an `ask`.

/**
 * Makes one model call, which `mayStart` has already counted as in flight. The activity has checked the answer; its verdict decides whether
 * the attempt failed.
 */
async function askOnce(run: ProgramRun, running: RunningStep, step: StepDocument & { ask: AskDocument }): Promise<AttemptEnd> {
  const { program, ports } = run;
  const { state, address, at } = running;
  const startedAt = isoTime(ports.now());
  const { failure, approved } = state.progress ?? {};
  const model = step.ask.model ?? program.document.model ?? '';
  const outcome = await ports.ask({
    address: at,
    attempt: state.attempts,
    outputs: outputIds(program, address, promptTexts(program, address, step.ask)),
    ...(failure === undefined || step.refine?.passFailureContext === false ? {} : { failureId: failure.id }),
    ...(approved?.arguments === undefined ? {} : { edited: true as const }),
    ...(step.timeout === undefined ? {} : { timeoutMs: milliseconds(step.timeout, `step "${at}": "timeout"`) }),
    model,
    ...((step.ask.tier ?? run.state.snapshot.tier) === 'batch' ? { isBatched: true as const } : {}),
  });
  run.endModelCall();
  const note: StepNote = { at, kind: 'ask', type: 'attempt', attempt: state.attempts, startedAt };
  return chargeStep(run, running, () => recordAskOutcome(run, running, step, { note, outcome, model }));
}

function recordAskOutcome(
  run: ProgramRun,
  running: RunningStep,
  step: StepDocument & { ask: AskDocument },
  { note, outcome, model }: EndedAsk<AskOutcome>,
): AttemptEnd {
  const { ports } = run;
  switch (outcome.type) {
    case 'cancelled':
      if (outcome.partial !== undefined) recordInterrupted(run.state, ports, model, outcome.partial);
      return { type: 'stopped' };
    case 'failed': {
      recordFailedCall(run.state, ports, model, outcome);
      const error = callFailure(running, step, outcome);
      noteError(run.state, error.message);
      recordNote(run, { ...note, error });
      return { type: 'failed', error, id: run.state.window.lastEventId, ...finalIfRefused(outcome) };
    }
    case 'answered':
      return recordAskAnswer(run, running, step.ask, { note, outcome, model });
  }
}

/** Returns all texts of the call that may contain references. */
function promptTexts(program: ProgramRun['program'], { unit, step }: RunningStep['address'], ask: AskDocument): string[] {
  const { system, prompt } = askPromptTexts(indexOf(program.document).get(unit, step).unit, ask);
  return [...system, prompt];
}

/** An ended model call. */
interface EndedAsk<Outcome extends AskOutcome> {
  note: StepNote;
  outcome: Outcome;
  model: string;
}

function recordAskAnswer(
  run: ProgramRun,
  running: RunningStep,
  ask: AskDocument,
  { note, outcome, model }: EndedAsk<AskOutcome & { type: 'answered' }>,
): AttemptEnd {
  const { state: runState } = run;
  const { response, verdict, promptLength } = outcome;
  const { id, content, providerItems, sources, notices } = response;
  const spending = spend(runState, { ...response, model, answer: content });
  incrementStep(runState.context);
  const text = thoughtOf(content) ?? '';
  const event = {
    id,
    content,
    ...spending,
    ...defined({ providerItems, sources, notices }),
  };
  const structured = response.output === undefined || response.output.type === 'problem' ? undefined : answerOf(response, ask);
  const noted = { ...note, ...defined({ warnings: response.warnings }) };
  const error = recordAnswer(run, running, { note: noted, verdict, promptLength, text, structured }, event);
  if (error !== undefined) return { type: 'failed', error, id };
  return { type: 'done', output: answerOf(response, ask) ?? text, id };
}

/** Returns the failure of an attempt whose model call failed, or exceeded the step's timeout. */
function callFailure(running: RunningStep, { timeout }: StepDocument, { code, message }: AskOutcome & { type: 'failed' }): StepError {
  const { address } = running;
  // The prompt quotes an output that is no longer in the payload store.
  if (code === 'spilled_unavailable' || code === 'payload_store_failed') return stepFailure(running, code, message);
  if (code !== 'model_timeout' || timeout === undefined) return modelCallFailure(message, address);
  return timeoutFailure(timeout, address);
}

// Programs: the usage of a step.

/** Does work that adds to the run's usage, and adds the same to the step's usage. */
function chargeStep<Result>(run: ProgramRun, { state }: RunningStep, work: () => Result): Result {
  const before = run.state.usage;
  const result = work();
  const spent = usageBetween(run.state.usage, before);
  if (spent.llmCalls > 0 || spent.totalTokens > 0 || spent.estimated !== undefined)
    state.usage = addRunUsage(state.usage ?? noUsage(), spent);
  return result;
}

/** Returns the usage added between two moments. */
function usageBetween(after: AggregatedUsage, before: AggregatedUsage): AggregatedUsage {
  const { estimated, ...reported } = after;
  const { estimated: estimatedBefore, ...reportedBefore } = before;
  const ofEstimated = estimated === undefined ? undefined : fieldsSince(estimated, estimatedBefore ?? {});
  return {
    ...fieldsSince(reported, reportedBefore),
    ...(ofEstimated === undefined || ofEstimated.totalTokens === 0 ? {} : { estimated: ofEstimated }),
  };
}

function fieldsSince<Counts extends object>(after: Counts, before: Partial<Counts>): Counts {
  const earlier = new Map(Object.entries(before) as [string, number][]);
  const fields = (Object.entries(after) as [string, number][]).map(([name, amount]) => [
    name,
    roundedDollars(amount - (earlier.get(name) ?? 0)),
  ]);
  return Object.fromEntries(fields) as Counts;
}

/** Rounds away what the subtraction of dollars leaves after the twelfth digit. */
function roundedDollars(amount: number): number {
  return Number(amount.toFixed(12));
}

// Programs: waits.

/** Waits for the duration of a `sleep`. */
async function sleepOnce(run: ProgramRun, running: RunningStep, sleep: SleepDocument): Promise<AttemptEnd> {
  const { state, address, at } = running;
  if (state.progress?.wakeAt === undefined) {
    const edited = state.progress?.approved?.arguments?.['for'];
    const duration = edited === undefined ? resolveValue(sleep.for, lookupAt(run.program, address)) : { ok: true as const, value: edited };
    try {
      if (!duration.ok) throw new TypeError(duration.problem);
      state.progress = { ...state.progress, wakeAt: run.ports.now() + milliseconds(duration.value as Duration, `step "${at}": "sleep"`) };
    } catch (error) {
      return failedAtOnce(run, running, stepFailure(running, 'invalid_input', errorMessage(error)));
    }
  }
  return (await sleepUntil(run, running, 'wakeAt', `sleep of ${at}`))
    ? { type: 'done', output: null, id: run.ports.uuid() }
    : { type: 'stopped' };
}

/** Waits until a time in the step's progress. Returns false if the run stops first. */
async function sleepUntil(run: ProgramRun, { state }: RunningStep, time: 'wakeAt' | 'retryAt', summary: string): Promise<boolean> {
  const { ports } = run;
  const wakeAt = state.progress?.[time] ?? 0;
  while (ports.now() < wakeAt && run.stop === undefined) {
    const at = Math.min(wakeAt, run.deadline);
    await ports.until(() => run.isStopped, { at, summary });
    if (ports.now() < wakeAt && ports.now() >= run.deadline) await run.mayStart('other');
  }
  if (ports.now() < wakeAt) return false;
  delete state.progress?.[time];
  return true;
}
