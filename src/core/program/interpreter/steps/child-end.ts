import { cutText } from '../../../domain/byte-budgets.ts';
import type { ErrorCode } from '../../../domain/errors.ts';
import type { StepDocument } from '../../../domain/program-document.ts';
import type { RunningChild } from '../../../domain/program-run.ts';
import type { AnswerVerdict, StepError, StepNote } from '../../../domain/verdicts.ts';
import type { Event } from '../../../domain/record.ts';
import { endedEarly } from '../../../domain/tool-calls.ts';
import { isoTime } from '../../../domain/time.ts';
import type { RunResultFields } from '../../../domain/result.ts';
import { spendChild } from '../../../loop/spending.ts';
import { noteError } from '../../../loop/state/run-state.ts';
import { modelCallFailure } from '../../errors/step-failures.ts';
import { insertedText } from '../../references/interpolate.ts';
import type { AttemptEnd } from '../ends.ts';
import type { ProgramRun } from '../program-run.ts';
import { failedAtOnce, recordNote, type RunningStep } from '../record.ts';
import { stepFailure } from '../step-failure.ts';
import { recordAnswer } from './record-answer.ts';

// Programs: the end of a child.

/** Bytes of the partial answer of a child in the details of a failure. */
const PARTIAL_BYTES = 4_000;

/** Records that a child did not start. */
export function notStarted(run: ProgramRun, running: RunningStep, problem: string): AttemptEnd {
  const { address } = running;
  const message = `The ${nounOf(running)} of step '${address.step}' could not start: ${problem}`;
  return failedAtOnce(run, running, stepFailure(running, 'child_failed', message, problem));
}

/** Records the end of a child. Every status but `completed` is a failed attempt. */
export function childEnded(
  run: ProgramRun,
  running: RunningStep,
  { step, child, result }: { step: StepDocument; child: RunningChild; result: RunResultFields },
): AttemptEnd {
  if (isAnswered(result)) return askAnswered(run, running, { child, note: noteOf(running, child), result });
  const spent = spendChild(run.state, result);
  if (result.status !== 'completed') return failed(run, running, { child, error: failureOf(running, step, result), spent });
  const { output, finishReason } = result;
  if (typeof output === 'string' && (output === '' || endedEarly(finishReason))) {
    return failed(run, running, { child, error: cutFailure(running, result), spent });
  }
  const content = [{ type: 'message' as const, role: 'assistant' as const, content: insertedText(output) }];
  recordNote(run, noteOf(running, child), { ...spent, content });
  return { type: 'done', output, id: run.state.window.lastEventId };
}

/** Records that a child has ended without a result: the server refused it, or an operator has terminated it. */
export function childFailed(
  run: ProgramRun,
  running: RunningStep,
  { code, message }: { code: ErrorCode; message: string },
  child: RunningChild,
): AttemptEnd {
  const text = `The ${nounOf(running)} of step '${running.address.step}' ended without a result: ${message}`;
  return failed(run, running, { child, error: stepFailure(running, 'child_failed', text, `${code}: ${message}`) });
}

/** Records the end of a child that was cancelled with the run. */
export function childStopped(run: ProgramRun, running: RunningStep, child: RunningChild, result: RunResultFields | undefined): AttemptEnd {
  const spent = result === undefined ? {} : spendChild(run.state, result);
  recordNote(run, noteOf(running, child), { ...spent, interrupted: true });
  return { type: 'stopped' };
}

/** Returns the failure of an attempt whose child ended otherwise than completed. Its details hold the partial answer. */
function failureOf(running: RunningStep, { timeout }: StepDocument, result: RunResultFields): StepError {
  const { step } = running.address;
  const { status, stopReason, error, errorCode = '', output, agentName } = result;
  const partial = output === null || output === '' ? '' : `Partial answer: ${cutText(insertedText(output), PARTIAL_BYTES)}`;
  const details = [error ?? '', partial].filter((text) => text !== '').join('\n');
  if (stopReason === 'deadline' && timeout !== undefined) {
    return stepFailure(running, 'step_timeout', `Step '${step}' timed out after ${timeout}`, details);
  }
  if (running.state.kind === 'ask' && isModelFailure(errorCode)) return modelCallFailure(error ?? '', running.address);
  const reason = status === stopReason ? status : `${status} (${stopReason})`;
  return stepFailure(running, 'child_failed', `The ${nounOf(running)} '${agentName}' of step '${step}' ended with ${reason}`, details);
}

/** Returns the failure of an attempt whose child gave an answer that is empty or cut off: later steps would read it as whole. */
function cutFailure(running: RunningStep, { output, finishReason = 'stop', agentName }: RunResultFields): StepError {
  const text = insertedText(output);
  const problem = text === '' ? 'gave an empty answer' : `gave an answer that was not whole (finish reason "${finishReason}")`;
  const partial = text === '' ? '' : `Partial answer: ${cutText(text, PARTIAL_BYTES)}`;
  return stepFailure(
    running,
    'child_failed',
    `The ${nounOf(running)} '${agentName}' of step '${running.address.step}' ${problem}`,
    partial,
  );
}

function failed(
  run: ProgramRun,
  running: RunningStep,
  { child, error, spent = {} }: { child: RunningChild; error: StepError; spent?: Partial<Event> },
): AttemptEnd {
  noteError(run.state, error.message);
  recordNote(run, { ...noteOf(running, child), error }, spent);
  return { type: 'failed', error, id: run.state.window.lastEventId };
}

/** Returns what the child of a step is. */
function nounOf({ state: { kind } }: RunningStep): string {
  return kind === 'ask' ? 'agent' : kind;
}

/** True if a run has an answer that was checked. Only that of an `ask` with tools has. */
function isAnswered(result: RunResultFields): result is AnsweredChild {
  return result.status === 'completed' && result.verdict !== undefined;
}

/** True for the code of a run that a model call ended. */
function isModelFailure(code: string): boolean {
  return code.startsWith('model_') || code === 'context_length_exceeded' || code === 'unknown_provider';
}

function noteOf({ at, state }: RunningStep, { runId, startedAt }: RunningChild): StepNote {
  return { at, kind: state.kind, type: 'attempt', attempt: state.attempts, startedAt: isoTime(startedAt), child: runId };
}

// Programs: the answer of an `ask` with tools.

/** The result of a run that has answered. */
type AnsweredChild = RunResultFields & { verdict: AnswerVerdict };

/** Records the answer of a run, as that of an `ask` without tools: its verdict decides if the attempt has failed. */
function askAnswered(
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
