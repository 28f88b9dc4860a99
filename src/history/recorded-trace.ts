import type { Client } from '@temporalio/client';
import { ApplicationFailure, CancelledFailure } from '@temporalio/common';
import { activityCause } from '../core/activity-requests/activity-request.ts';
import { recordOfBurst } from '../core/activity-requests/burst-requests.ts';
import {
  type CallModelOutput,
  isOwnActivity,
  type RunBurstInput,
  type SummarizeInput,
  type SummarizeOutput,
} from '../core/activity-requests/contracts.ts';
import type { StoredBurst } from '../core/bursts/burst.ts';
import { type AgentSnapshot, summaryModelsOf } from '../core/domain/agent.ts';
import { isErrorCode, LonghaulError } from '../core/domain/errors.ts';
import { defined } from '../core/domain/json.ts';
import { missingIn } from '../core/domain/missing-definitions.ts';
import { isNotSent, NOT_SENT_ERROR } from '../core/domain/model.ts';
import type { AskStepOutput } from '../core/domain/program-run.ts';
import type { Event } from '../core/domain/record.ts';
import type { RunResultFields } from '../core/domain/result.ts';
import { endedTurns, sessionOf, type TurnResultFields } from '../core/domain/sessions.ts';
import { cellOfCall, type StepResult } from '../core/domain/tool-calls.ts';
import {
  beginningOfLoss,
  type TracedCall,
  type TracedEnd,
  type TracedLoss,
  type TracedPart,
  tracedPart,
  turnsOfEvents,
} from '../core/domain/traced-part.ts';
import { noUsage, spentIn, type UsageStats } from '../core/domain/usage.ts';
import type { ModelCallOutcome, ToolOutcome } from '../core/kernel/ports.ts';
import { countsOf } from '../core/kernel/run-loop.ts';
import { indexOf, parseAddress } from '../core/program/program-index.ts';
import type { CallModelInput, RunToolInput, RunToolOutput } from '../core/protocol.ts';
import { type RunTrace, tracedRun, traceOfChild, traceOfStart, traceOfTurn } from '../telemetry/ids.ts';
import { describeRun, hasEndedAs, runOutcome } from '../temporal/run-workflow.ts';
import { executionBeginning } from './execution-reader.ts';
import { executionChain } from './history-events.ts';
import { isOfFlow, type ReadBackRun, readExecution } from './read-run.ts';
import {
  activitiesNamed,
  type EndedAttempt,
  type LostActivity,
  type RecordedExecution,
  type ToolCallInBurst,
} from './recorded-execution.ts';

/** The traced content of a run's whole record, and the run's place in its trace. */
interface RecordedTrace {
  trace: RunTrace;
  part: TracedPart;
}

/**
 * Reads the traced content of a run from the histories of all its executions. Throws `run_not_found`, and
 * `history_removed` if the server no longer has the beginning of the run.
 */
export async function recordedTrace(client: Client, runId: string): Promise<RecordedTrace> {
  const { runId: newest, status, closeTime } = await describeRun(client, runId);
  const trace = await findTrace(client, { workflowId: runId, key: '' });
  const { executionIds } = await executionChain(client, runId, newest);
  const record = new WholeRecord();
  for (const executionId of executionIds) {
    const read = await readExecution(client, runId, executionId);
    if (read !== undefined) record.add(read);
  }
  if (trace === undefined || record.run === undefined)
    throw new LonghaulError('history_removed', `The beginning of run "${runId}" is no longer on the server: its trace is not known`);
  const isCutOff = status.name === 'TERMINATED' || status.name === 'TIMED_OUT';
  const hasEnded = hasEndedAs(status.name) && !isCutOff;
  const cutOff = isCutOff ? cutOffEnd(record.run, status.name, closeTime?.getTime() ?? 0) : undefined;
  return { trace, part: record.part(hasEnded ? await runOutcome(client, runId, newest) : undefined, cutOff) };
}

/** Collects the records of a run's executions in order. */
class WholeRecord {
  run: ReadBackRun | undefined;
  readonly #events: Event[] = [];
  readonly #steps: StepResult[] = [];
  readonly #turns: TurnResultFields[] = [];
  readonly #losses: LostActivity[] = [];
  readonly #ended: { executionId: string; attempt: EndedAttempt; inBursts: BurstCalls }[] = [];
  /** The agents of the run by digest, to find the agent of each model call. */
  readonly #agents = new Map<string, AgentSnapshot>();
  readonly #waited = new Set<string>();
  #firstOffset = 0;

  add(execution: NonNullable<Awaited<ReturnType<typeof readExecution>>>): void {
    const { executionId, run, recorded, firstOffset, events, steps, losses, endedAttempts } = execution;
    if (this.run === undefined) this.#firstOffset = firstOffset;
    this.run = run;
    this.#events.push(...events);
    this.#steps.push(...steps);
    this.#turns.push(...endedTurns(run.state ?? {}));
    for (const callId of run.waited) this.#waited.add(callId);
    this.#losses.push(...losses);
    const inBursts = { checkpoints: recorded.checkpoints, modelCalls: run.modelCalls, toolCalls: run.toolCalls };
    for (const attempt of [...endedAttempts, ...run.localAttempts]) this.#ended.push({ executionId, attempt, inBursts });
    const resolved = activitiesNamed(recorded, 'resolveAgent').flatMap(({ output }) => output ?? []);
    for (const agent of [...resolved, run.state?.snapshot ?? []].flat()) this.#agents.set(agent.digest, agent);
  }

  part(result: RunResultFields | undefined, cutOff?: TracedEnd): TracedPart {
    const agentName = result?.agentName ?? this.run?.agentName ?? '';
    const turnsBegun = sessionOf(this.run?.state ?? {})?.turns;
    const [events, turnOf] = [this.#events, turnsOfEvents(this.#events, turnsBegun)];
    const agentOf = (digest: string): ReturnType<AgentOf> => this.#agents.get(digest) ?? { name: agentName };
    const inTurns = <Traced extends object>(calls: readonly (CallAt<Traced> | undefined)[]): (Traced & { turn?: number })[] =>
      calls.flatMap((call) =>
        call === undefined ? [] : [{ ...call.traced, ...defined({ turn: turnOf(call.offset - this.#firstOffset) }) }],
      );
    const losses = inTurns(this.#losses.map((lost) => lossOf(lost, agentOf)));
    const calls = inTurns(
      this.#ended.flatMap(({ executionId, attempt, inBursts }) =>
        attempt.name === 'runBurst' ? burstCallsOf(attempt, inBursts, agentOf) : [endedCallOf(attempt, executionId, agentOf)],
      ),
    );
    const part = {
      agentName,
      firstOffset: this.#firstOffset,
      events,
      steps: this.#steps,
      turns: this.#turns,
      turnsBegun,
      isFlow: this.run !== undefined && isOfFlow(this.run),
      waited: this.#waited,
      result,
      isOpen: result === undefined && cutOff === undefined,
      cutOff,
    };
    return { ...tracedPart(part), losses, calls, ...(cutOff === undefined ? {} : { end: cutOff }) };
  }
}

/** Returns the end of a run that the server has ended, so that the run recorded none. */
function cutOffEnd(run: ReadBackRun, status: string, to: number): TracedEnd {
  const { agentName, startedAt, state } = run;
  const how = status === 'TERMINATED' ? 'terminated' : 'timed_out';
  const { usage, stepsUsed, toolCallsTotal } =
    state === undefined ? { usage: noUsage(), stepsUsed: 0, toolCallsTotal: 0 } : countsOf(state);
  return {
    agent: state?.snapshot.name ?? agentName,
    status: how,
    stopReason: how,
    isWorkflow: state?.program !== undefined,
    ...(isOfFlow(run) ? { isFlow: true as const } : {}),
    usage,
    steps: stepsUsed,
    toolCalls: toolCallsTotal,
    from: startedAt,
    to,
  };
}

/** An execution of a workflow, and the run in it. */
export interface TracedExecution {
  workflowId: string;
  /** Temporal's run id. Absent: the newest execution. */
  executionId?: string;
  /** The key of a run inside a workflow of the user, or empty. */
  key: string;
  /** The offset of an event whose turn is wanted. Absent: the place of the whole run. */
  offset?: number;
}

/** Finds the place of a run in its trace. */
type FindTrace = (client: Client, execution: TracedExecution) => Promise<RunTrace | undefined>;

/**
 * Finds the place of a run in its trace, from the first events of its executions and of its ancestors, whose
 * places `findParent` returns. Undefined if the server no longer has one of them.
 */
export async function findTrace(
  client: Client,
  { workflowId, executionId, key, offset }: TracedExecution,
  findParent: FindTrace = findTrace,
): Promise<RunTrace | undefined> {
  const beginning = await executionBeginning(client, workflowId, executionId);
  const firstExecutionId = beginning?.firstExecutionId;
  if (beginning === undefined || firstExecutionId === undefined) return undefined;
  const run = tracedRun({ namespace: client.options.namespace, workflowId, firstExecutionId, key });
  // The input belongs to a workflow of the user.
  if (key !== '') return traceOfStart(run, undefined);
  // An execution that continues another one does not have the start of the run.
  const first = beginning.before === undefined ? beginning : await executionBeginning(client, workflowId, firstExecutionId);
  // A session may outlive its first execution. Only its first turn is in the caller's trace.
  const start = first ?? (beginning.isSession ? beginning : undefined);
  if (start === undefined) return undefined;
  const { parentRunId, parentFirstId, traceparent, isSession } = start;
  if (parentRunId !== undefined && parentFirstId !== undefined) {
    const above = { workflowId: parentRunId, executionId: parentFirstId, key: '' };
    const whole = await findParent(client, above);
    const parent = whole?.isSession ? await findParent(client, { ...above, offset: offsetOfCall(workflowId) }) : whole;
    return parent === undefined ? undefined : traceOfChild(run, parent);
  }
  const trace = traceOfStart(run, traceparent);
  if (!isSession) return trace;
  const session: RunTrace = { ...trace, isSession };
  if (offset === undefined) return session;
  const turn = await turnAt(client, { runId: workflowId, firstExecutionId, offset });
  return turn === undefined ? undefined : traceOfTurn(session, turn);
}

/** Returns the offset of the event with the call that started a child: the child's id ends with the call's position. */
function offsetOfCall(childRunId: string): number {
  const { offset } = /\.(?<offset>\d+)\.\d+\.[^.]+$/.exec(childRunId)?.groups ?? {};
  return Number(offset ?? 0);
}

/** Returns the turn of a session to which an event belongs. Undefined if the server no longer has the event. */
async function turnAt(
  client: Client,
  { runId, firstExecutionId, offset }: { runId: string; firstExecutionId: string; offset: number },
): Promise<number | undefined> {
  let executionId = (await describeRun(client, runId)).runId;
  for (;;) {
    const beginning = await executionBeginning(client, runId, executionId);
    if (beginning?.firstExecutionId !== firstExecutionId) return undefined;
    const { before, continuedState } = beginning;
    if (before === undefined || offset >= (continuedState?.window.through ?? 0)) break;
    executionId = before;
  }
  const read = await readExecution(client, runId, executionId);
  const later = read?.events.slice(Math.max(0, offset - read.firstOffset));
  return later?.find(({ turn }) => turn !== undefined)?.turn?.number ?? sessionOf(read?.run.state ?? {})?.turns;
}

/** An attempt at a call, and the offset of the event that it is about. */
interface CallAt<Traced> {
  traced: Traced;
  offset: number;
}

/** Returns the agent of a call by its snapshot digest. */
type AgentOf = (digest: string) => Pick<AgentSnapshot, 'name'> & Partial<AgentSnapshot>;

/** Returns a lost activity as a call. Undefined for an activity that is not a call. */
function lossOf(lost: LostActivity, agentOf: AgentOf): CallAt<TracedLoss> | undefined {
  const { name, input, activityId: activity, attempt, scheduledAt, endedAt: to } = lost;
  if (attempt < 1) return undefined;
  const times = { activity, attempt, from: beginningOfLoss({ attempt, scheduledAt, to }), to };
  if (name === 'callModel') {
    const { agent: digest, through, step } = input as CallModelInput;
    const { name: agent, model } = agentOf(digest);
    return { traced: { call: String(through), agent, ...times, ...defined({ model, step }) }, offset: through };
  }
  return isOwnActivity(name) ? undefined : { traced: { ...toolCallOf(name, input as RunToolInput), ...times }, offset: offsetOf(input) };
}

/**
 * Returns the end of an activity as a call. Undefined for an activity that is not a call, and if the history does not say under which
 * name the worker has reported it: which of several models has failed, or how many attempts workers have counted.
 */
export function endedCallOf(ended: EndedAttempt, executionId: string, agentOf: AgentOf): CallAt<TracedCall> | undefined {
  const { name, input, attempt, localAt, startedAt: from, endedAt: to, activityId: activity } = ended;
  if (attempt === undefined || isRefusal(ended.failure)) return undefined;
  const times = { activity, attempt, from, to, ...defined({ localAt }) };
  // Model calls without a recorded event are named by their activity.
  const byActivity = `${executionId}/${activity}`;
  switch (name) {
    case 'callModel': {
      const { agent: digest, through, step } = input as CallModelInput;
      const agent = agentOf(digest);
      const answer = modelAnswer(ended, agent.model, { isOnly: agent.fallback === undefined });
      if (answer === undefined) return undefined;
      return { traced: { call: String(through), agent: agent.name, ...times, ...answer, ...defined({ step }) }, offset: through };
    }
    case 'summarize': {
      const { agent: digest, through } = input as SummarizeInput;
      const agent = agentOf(digest);
      const [model, ...others] = agent.model === undefined ? [] : summaryModelsOf({ ...agent, model: agent.model });
      const answer = modelAnswer(ended, model, { isOnly: others.length === 0 });
      return answer && { traced: { call: byActivity, agent: agent.name, ...times, ...answer }, offset: through };
    }
    case 'askStep': {
      const { agent: digest, step } = input as { agent: string; step: string };
      const { name: agent, program } = agentOf(digest);
      const address = parseAddress(step);
      const { ask } = (program && indexOf(program).get(address.unit, address.step)?.step) ?? {};
      const answer = modelAnswer(ended, ask?.model ?? program?.model, { isOnly: true });
      return answer && { traced: { call: byActivity, agent, ...times, ...answer }, offset: 0 };
    }
    default: {
      // Any other failure happened before the tool was called, or its worker has reported the result differently.
      if (isOwnActivity(name) || (ended.failure !== undefined && !isCancellation(ended.failure))) return undefined;
      const code = codeOfTool(ended);
      return { traced: { ...toolCallOf(name, input as RunToolInput), ...times, ...defined({ code }) }, offset: offsetOf(input) };
    }
  }
}

/** The requests for a burst's calls, as repeated by the loop: the history only has their outcomes. */
interface BurstCalls {
  checkpoints: RecordedExecution['checkpoints'];
  modelCalls: ReadonlyMap<string, CallModelInput>;
  toolCalls: ReadonlyMap<string, ToolCallInBurst>;
}

/**
 * Returns the completed calls of a burst. A burst makes model calls one at a time, with tool calls in between: a model
 * call is assumed to begin at the previous outcome, and a tool call at its own outcome minus the duration that the tool reports.
 */
export function burstCallsOf(
  burst: EndedAttempt,
  { checkpoints, modelCalls, toolCalls }: BurstCalls,
  agentOf: AgentOf,
): CallAt<TracedCall>[] {
  const { activityId: activity, attempt: attemptAtBurst, scheduledAt, startedAt, endedAt, output, failure } = burst;
  const input = burst.input as RunBurstInput;
  const { entries = [], attempts = {} } = recordOfBurst({ input, output: output as StoredBurst | undefined, failure }, checkpoints) ?? {};
  // A later attempt counts from the time at which the burst was scheduled.
  const began = attemptAtBurst === 1 ? startedAt : scheduledAt;
  const moment = (at: number): number => Math.min(endedAt, began + Math.max(0, at));
  let [answeredAt, lastAt] = [0, 0];
  const calls: CallAt<TracedCall>[] = [];
  // If a model call failed and was repeated at the same offset, its number of attempts is unknown.
  const lastOfKey = new Map(entries.map(({ key }, index) => [key, index]));
  for (const [index, { at, key, model, tool }] of entries.entries()) {
    const attempt = attempts[key] ?? 1;
    const before = entries.slice(0, index).filter((entry) => entry.key === key).length;
    const attempted = (since: number) => ({
      activity,
      attempt,
      ...(before === 0 ? {} : { earlier: before }),
      from: moment(Math.min(since, at)),
      to: moment(at),
    });
    if (model === undefined) {
      const asked = toolCalls.get(key);
      const ended = endOfTool(tool);
      if (asked !== undefined && ended !== undefined && attempt > 0) {
        const { durationMs, ...ending } = ended;
        const times = attempted(Math.max(answeredAt, Math.round(at - durationMs)));
        calls.push({ traced: { ...toolCallOf(asked.name, asked.input), ...times, ...ending }, offset: offsetOf(asked.input) });
      }
    } else if (lastOfKey.get(key) === index) {
      const asked = modelCalls.get(key);
      const { name: agent, model: first, fallback } = agentOf(asked?.agent ?? '');
      const answer = burstAnswer(model, first, { isOnly: fallback === undefined, attempt });
      if (asked !== undefined && answer !== undefined && attempt > 0) {
        const { through, step } = asked;
        calls.push({ traced: { call: String(through), agent, ...attempted(lastAt), ...answer, ...defined({ step }) }, offset: through });
      }
    }
    lastAt = Math.max(lastAt, at);
    if (model !== undefined) answeredAt = lastAt;
  }
  return calls;
}

/** Returns how a tool call of a burst ended. Undefined if the tool was not called, or its worker has reported the end differently. */
function endOfTool(outcome: ToolOutcome): (Pick<TracedCall, 'code'> & { durationMs: number }) | undefined {
  if (outcome.type === 'cancelled') return { code: 'interrupted', durationMs: Infinity };
  if (outcome.type !== 'result' || outcome.resultId === undefined || outcome.durationMs === null) return undefined;
  return { durationMs: outcome.durationMs, ...(outcome.status === 'error' ? { code: 'tool_failed' } : {}) };
}

function burstAnswer(
  outcome: ModelCallOutcome,
  first: string | undefined,
  { attempt, isOnly }: { attempt: number; isOnly: boolean },
): ModelAnswer | undefined {
  const answer = (end: Pick<EndedAttempt, 'output' | 'failure'>): ModelAnswer | undefined =>
    modelAnswer({ attempt, ...end }, first, { isOnly });
  switch (outcome.type) {
    case 'response':
      return answer({ output: outcome });
    case 'cancelled':
    case 'interrupted':
      // Without a partial answer, no request was sent.
      return outcome.partial && answer({ output: { type: 'aborted', partial: outcome.partial } });
    case 'failed': {
      // A worker that timed out has interrupted the request itself, and reports that.
      if (outcome.code === 'model_timeout') return undefined;
      const usage = attempt === 1 ? outcome.spent?.reported : undefined;
      const code = isNotSent(outcome) ? NOT_SENT_ERROR : outcome.code;
      return isOnly ? { code, ...defined({ model: first, usage }) } : undefined;
    }
  }
}

function toolCallOf(toolName: string, { callId: call, agentName: agent, step, ofProgram }: ToolCallInBurst['input']): ToolCallNames {
  const cell = ofProgram ? undefined : cellOfCall(call);
  return { call, toolName, agent, step, ...defined({ cell }) };
}

type ToolCallNames = Required<Pick<TracedCall, 'call' | 'toolName' | 'agent' | 'step'>> & Pick<TracedCall, 'cell'>;

function offsetOf(input: unknown): number {
  return (input as RunToolInput).at[0];
}

function codeOfTool({ output, failure }: EndedAttempt): string | undefined {
  if (failure !== undefined) return 'interrupted';
  const { isError, lost } = output as RunToolOutput;
  if (lost) return 'interrupted';
  return isError ? 'tool_failed' : undefined;
}

/** The outcome of a model call, as in its span. */
type ModelAnswer = Pick<TracedCall, 'model' | 'asked' | 'code' | 'usage' | 'finishReason'>;

/** `isOnly`: the call only asks the first model. */
function modelAnswer(
  { output, failure, attempt }: Pick<EndedAttempt, 'output' | 'failure' | 'attempt'>,
  first: string | undefined,
  { isOnly }: { isOnly: boolean },
): ModelAnswer | undefined {
  if (failure !== undefined) {
    // A call that was cancelled without a partial answer has sent no request.
    if (!isOnly || isCancellation(failure)) return undefined;
    // The details also include the cost of earlier attempts.
    const spent = attempt === 1 ? spentIn(failure instanceof ApplicationFailure ? failure.details?.[0] : undefined)?.reported : undefined;
    return { code: codeOf(failure), ...defined({ model: first, usage: spent }) };
  }
  const answered = answerIn(output as CallModelOutput | SummarizeOutput | AskStepOutput);
  // A partial answer does not say how many models were asked before.
  if (answered === undefined || (answered.code !== undefined && !isOnly)) return undefined;
  const { answeredBy, tried = [], usage, finishReason, inBatch } = answered.answer;
  // A batch worker makes no attempt itself. A summary does not say which models were asked before.
  if (inBatch || (answeredBy !== undefined && tried.length === 0 && 'text' in answered.answer)) return undefined;
  return {
    asked: tried.length + 1,
    usage,
    ...defined({ model: answeredBy ?? first, code: answered.code, finishReason: answered.code === undefined ? finishReason : undefined }),
  };
}

/** An answer or a partial answer. */
interface Answer {
  answeredBy?: string;
  tried?: readonly unknown[];
  usage: UsageStats | null;
  finishReason?: string;
  inBatch?: true;
}

function answerIn(output: CallModelOutput | SummarizeOutput | AskStepOutput): { answer: Answer; code?: 'interrupted' } | undefined {
  // An answer in a program omits the default finish reason.
  if ('promptLength' in output) return { answer: { finishReason: 'stop', ...output.response } };
  if ('text' in output) return { answer: { ...output, finishReason: 'stop' } };
  if (output.type === 'response') return { answer: output.response };
  if (output.type === 'aborted' && output.partial !== undefined) return { answer: output.partial, code: 'interrupted' };
  return undefined;
}

/** True for the end of an attempt that did nothing: its worker lacked something. */
function isRefusal(failure: Error | undefined): boolean {
  if (!(failure instanceof ApplicationFailure)) return false;
  return missingIn(failure.details?.[0]) !== undefined || failure.type === 'NotFoundError';
}

function isCancellation(failure: Error): boolean {
  return activityCause(failure) instanceof CancelledFailure;
}

function codeOf(failure: Error): string {
  const cause = activityCause(failure);
  if (isNotSent(cause)) return NOT_SENT_ERROR;
  const type = cause instanceof ApplicationFailure ? cause.type : undefined;
  return isErrorCode(type) ? type : 'internal';
}
