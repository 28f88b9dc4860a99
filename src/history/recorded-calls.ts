import { ApplicationFailure, CancelledFailure } from '@temporalio/common';
import { isOwnActivity } from '../core/activity-requests/contracts.ts';
import { activityCause } from '../core/activity-requests/activity-request.ts';
import { type AgentSnapshot, summaryModelsOf } from '../core/domain/agent.ts';
import { defined } from '../core/domain/defined.ts';
import { isErrorCode } from '../core/domain/errors.ts';
import { missingIn } from '../core/domain/missing-definitions.ts';
import { isNotSent, NOT_SENT_ERROR } from '../core/domain/model.ts';
import type { AskStepOutput } from '../core/domain/program-run.ts';
import { cellOfCall } from '../core/domain/tool-calls.ts';
import { beginningOfLoss, type TracedCall, type TracedLoss } from '../core/domain/traced-part.ts';
import { spentIn, type UsageStats } from '../core/domain/usage.ts';
import { indexOf, parseAddress } from '../core/program/program-index.ts';
import type { CallModelInput, RunToolInput, RunToolOutput } from '../core/protocol.ts';
import type { CallModelOutput, RunBurstInput, SummariseInput, SummariseOutput } from '../core/activity-requests/contracts.ts';
import { recordOfBurst } from '../core/activity-requests/burst-requests.ts';
import type { StoredBurst } from '../core/bursts/stored-burst.ts';
import type { ModelCallOutcome, ToolOutcome } from '../core/kernel/ports.ts';
import type { EndedAttempt, LostActivity, RecordedExecution, ToolCallInBurst } from './recorded-execution.ts';

/** An attempt at a call, and the offset of the event that it is about. */
export interface CallAt<Traced> {
  traced: Traced;
  offset: number;
}

/** The agent that has made a call, by the digest of its snapshot. */
export type AgentOf = (digest: string) => Pick<AgentSnapshot, 'name'> & Partial<AgentSnapshot>;

/** Returns a lost activity as a call. Undefined for one that is no call. */
export function lossOf(lost: LostActivity, agentOf: AgentOf): CallAt<TracedLoss> | undefined {
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
 * Returns the end of an activity as a call. Undefined for one that is no call, and for one of which the history does not say under which name its
 * worker has reported it: which of several models has failed, and how many attempts there were that workers count.
 */
export function endedCallOf(ended: EndedAttempt, executionId: string, agentOf: AgentOf): CallAt<TracedCall> | undefined {
  const { name, input, attempt, localAt, startedAt: from, endedAt: to, activityId: activity } = ended;
  if (attempt === undefined || isRefusal(ended.failure)) return undefined;
  const times = { activity, attempt, from, to, ...defined({ localAt }) };
  // Model calls of which no event of the record says the place are named by their activity.
  const byActivity = `${executionId}/${activity}`;
  switch (name) {
    case 'callModel': {
      const { agent: digest, through, step } = input as CallModelInput;
      const agent = agentOf(digest);
      const answer = modelAnswer(ended, agent.model, { isOnly: agent.fallback === undefined });
      if (answer === undefined) return undefined;
      return { traced: { call: String(through), agent: agent.name, ...times, ...answer, ...defined({ step }) }, offset: through };
    }
    case 'summarise': {
      const { agent: digest, through } = input as SummariseInput;
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
      // Any other failure is from before the tool was called, or of a result that its worker has reported otherwise.
      if (isOwnActivity(name) || (ended.failure !== undefined && !isCancellation(ended.failure))) return undefined;
      const code = codeOfTool(ended);
      return { traced: { ...toolCallOf(name, input as RunToolInput), ...times, ...defined({ code }) }, offset: offsetOf(input) };
    }
  }
}

/** What the calls of a burst were about, as the loop has asked for them again: the history has their outcomes alone. */
export interface BurstCalls {
  checkpoints: RecordedExecution['checkpoints'];
  modelCalls: ReadonlyMap<string, CallModelInput>;
  toolCalls: ReadonlyMap<string, ToolCallInBurst>;
}

/**
 * Returns the calls that a burst has made to their ends. A burst makes one model call after the other, and those of tools in between: a model
 * call is taken to begin with the outcome before it, and a tool call so long before its own as its tool says.
 */
export function burstCallsOf(
  burst: EndedAttempt,
  { checkpoints, modelCalls, toolCalls }: BurstCalls,
  agentOf: AgentOf,
): CallAt<TracedCall>[] {
  const { activityId: activity, attempt: attemptAtBurst, scheduledAt, startedAt, endedAt, output, failure } = burst;
  const input = burst.input as RunBurstInput;
  const { entries = [], attempts = {} } = recordOfBurst({ input, output: output as StoredBurst | undefined, failure }, checkpoints) ?? {};
  // A later attempt counts from the time at which the server had the burst.
  const began = attemptAtBurst === 1 ? startedAt : scheduledAt;
  const moment = (at: number): number => Math.min(endedAt, began + Math.max(0, at));
  let [answeredAt, lastAt] = [0, 0];
  const calls: CallAt<TracedCall>[] = [];
  // Of a model call that has failed, and was made again after as many events, nobody knows how many attempts it took.
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

/** Returns how a tool call of a burst has ended. Undefined if the tool was not called, or its worker has reported the end otherwise. */
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
      // Without the part of an answer, no request was sent.
      return outcome.partial && answer({ output: { type: 'aborted', partial: outcome.partial } });
    case 'failed': {
      // A worker whose time was over has interrupted the request itself, and says so.
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

/** What a model call has ended with, as its span says it. */
type ModelAnswer = Pick<TracedCall, 'model' | 'asked' | 'code' | 'usage' | 'finishReason'>;

/** `isOnly`: the call asks the first model and no other. */
function modelAnswer(
  { output, failure, attempt }: Pick<EndedAttempt, 'output' | 'failure' | 'attempt'>,
  first: string | undefined,
  { isOnly }: { isOnly: boolean },
): ModelAnswer | undefined {
  if (failure !== undefined) {
    // One that was cancelled otherwise than by its end, with what had arrived, has sent no request.
    if (!isOnly || isCancellation(failure)) return undefined;
    // What the attempts before have cost is in the details, too.
    const spent = attempt === 1 ? spentIn(failure instanceof ApplicationFailure ? failure.details?.[0] : undefined)?.reported : undefined;
    return { code: codeOf(failure), ...defined({ model: first, usage: spent }) };
  }
  const answered = answerIn(output as CallModelOutput | SummariseOutput | AskStepOutput);
  // The part of an answer does not say how many models were asked before.
  if (answered === undefined || (answered.code !== undefined && !isOnly)) return undefined;
  const { answeredBy, tried = [], usage, finishReason, inBatch } = answered.answer;
  // The worker of a batch has no attempt of its own. A summary does not say which models were asked before.
  if (inBatch || (answeredBy !== undefined && tried.length === 0 && 'text' in answered.answer)) return undefined;
  return {
    asked: tried.length + 1,
    usage,
    ...defined({ model: answeredBy ?? first, code: answered.code, finishReason: answered.code === undefined ? finishReason : undefined }),
  };
}

/** An answer, or the part of one. */
interface Answer {
  answeredBy?: string;
  tried?: readonly unknown[];
  usage: UsageStats | null;
  finishReason?: string;
  inBatch?: true;
}

function answerIn(output: CallModelOutput | SummariseOutput | AskStepOutput): { answer: Answer; code?: 'interrupted' } | undefined {
  // The finish reason that goes without saying is left out of an answer in a program.
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
