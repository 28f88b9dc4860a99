import { ApplicationFailure, CancelledFailure, ChildWorkflowFailure, TerminatedFailure, TimeoutFailure } from '@temporalio/common';
import { defined, isJsonObject } from '../domain/json.ts';
import type { ChildCall, ChildEnd, ChildStart, MessageProblem, NextTurnInput, ReadChild } from '../domain/children.ts';
import { errorMessage } from '../domain/errors.ts';
import { isRunResult } from '../domain/result.ts';
import type { FromCall } from '../domain/run-input.ts';
import type { MessageContent } from '../domain/sessions.ts';
import { summaryText } from '../domain/text.ts';
import type { CheckParentInput, ReadCallInput, ReadResultInput } from '../protocol.ts';
import type { SessionPorts } from '../sessions/run-session.ts';
import { checkProgramInput, checkRunInput, nextTurnProblem } from '../input-checks.ts';
import { activityProblem, fits, type PerformActivity, type RequestOf } from './activity-request.ts';

const OPTIONS = {
  startToCloseTimeout: '30 seconds',
  scheduleToCloseTimeout: '1 day',
  retry: { maximumAttempts: 20, initialInterval: '1s', backoffCoefficient: 2, maximumInterval: '1 minute' },
} as const;

/** The ports of a kept session. */
export function childPorts(perform: PerformActivity): Pick<SessionPorts, 'readMessage'> {
  return { readMessage: (call) => perform(callInputRequest(call)) };
}

/** Returns why a child cannot start with its input, or undefined. */
export function childProblem({ kind, input }: ChildStart): string | undefined {
  const checked = kind === 'agent' ? checkRunInput(input) : checkProgramInput(input);
  return checked.ok ? undefined : checked.problem;
}

/**
 * Returns the start of an agent with a reference to its call, replacing an input or deps that are too large to be stored again: the agent's
 * first activity queries the parent for them. The beginning of the input stays, for people.
 */
export function referringToCall(start: ChildStart, of: ChildCall['of']): ChildStart {
  if (start.kind !== 'agent' || of === undefined) return start;
  const { input, deps, ...others } = start.input;
  const isLong = typeof input === 'string' && !fits({ input });
  const isLarge = deps !== undefined && !fits(deps);
  if (!isLong && !isLarge) return start;
  const fromCall: FromCall = { ...of, ...(isLong ? { input: true } : {}), ...(isLarge ? { deps: true } : {}) };
  const rest = { ...others, ...(isLarge || deps === undefined ? {} : { deps }), fromCall };
  return { kind: 'agent', input: { ...rest, input: isLong ? summaryText(input) : (input ?? '') } };
}

/** Returns the end of an uncompleted child, from the failure that its parent receives. */
export function endOfFailure(error: unknown): ChildEnd {
  const cause = error instanceof ChildWorkflowFailure ? error.cause : error;
  if (cause instanceof CancelledFailure) return { type: 'unread' };
  if (cause instanceof TerminatedFailure) return { type: 'failed', code: 'run_terminated', message: 'an operator terminated it' };
  if (cause instanceof TimeoutFailure) return { type: 'failed', code: 'run_timed_out', message: 'a timeout of its workflow ended it' };
  const [details]: unknown[] = cause instanceof ApplicationFailure ? (cause.details ?? []) : [];
  if (isRunResult(details)) return { type: 'ended', result: details };
  return { type: 'failed', code: 'child_failed', message: errorMessage(cause) };
}

/** Reads the result of a child whose closing event does not reach this execution or does not contain the full result. */
export function readChildRequest(input: ReadResultInput): RequestOf<'readResult', ReadChild> {
  return {
    name: 'readResult',
    key: ({ runId }) => runId,
    tier: 'remote',
    options: { ...OPTIONS, summary: input.ifEnded ? 'checks that the child is alive' : 'reads the result of the child' },
    input: { ...input, whole: true },
    returned: readChild,
    failed: readChildFailure,
  };
}

function readChild(output: unknown): ReadChild {
  return isRunResult(output) ? { type: 'ended', result: output } : { type: 'running' };
}

/** Returns a child whose result could not be read, for example because an operator terminated it. */
function readChildFailure(error: unknown): ReadChild {
  const problem = activityProblem(error);
  if (problem.type === 'failed') return { type: 'failed', code: problem.code ?? 'internal', message: problem.message };
  return { type: 'failed', code: 'internal', message: problem.type === 'cancelled' ? 'its result was not read' : problem.message };
}

/** Asks whether the parent of a run has ended without cancelling it. A failed check proves nothing. */
export function checkParentRequest({ runId, firstRunId }: CheckParentInput): RequestOf<'checkParent', boolean> {
  return {
    name: 'checkParent',
    isNoProgress: true,
    tier: 'remote',
    options: { ...OPTIONS, summary: 'checks that the parent is alive' },
    input: { runId, ...defined({ firstRunId }) },
    returned: (output) => isJsonObject(output) && output.ended,
    failed: () => false,
  };
}

export const ENDED_SESSION: MessageProblem = { code: 'run_ended', message: 'its session has ended: the next call starts another one' };

/** Returns why a message cannot be sent, or undefined. */
export function messageProblem(next: NextTurnInput): MessageProblem | undefined {
  const problem = nextTurnProblem(next);
  return problem === undefined ? undefined : { code: 'invalid_input', message: problem };
}

/** Returns a call's message with a reference to the call, which replaces content that is too large to be stored again. */
export function messageOfCall({ content = '', ...next }: NextTurnInput, of: ChildCall['of']): NextTurnInput {
  return { ...next, ...(of === undefined || fits({ content }) ? { content } : {}), ...defined({ of }) };
}

/** Reads a message that is too large to be stored again from the parent's call. */
function callInputRequest(input: ReadCallInput): RequestOf<'readCallInput', MessageContent> {
  return {
    name: 'readCallInput',
    tier: 'remote',
    options: { ...OPTIONS, summary: 'reads the message of the call' },
    input,
    returned: (content) => ({ type: 'read', content: content }),
    failed: unreadMessage,
  };
}

/** Returns the outcome of a failed attempt to read a message. */
function unreadMessage(error: unknown): MessageContent {
  const problem = activityProblem(error);
  if (problem.type === 'cancelled') return { type: 'cancelled' };
  const code = (problem.type === 'failed' ? problem.code : undefined) ?? 'internal';
  return { type: 'failed', code, message: `The message of the call could not be read: ${problem.message}` };
}
