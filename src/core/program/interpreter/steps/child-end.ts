// Programs: the end of a child.

import { cutText } from '../../../domain/content/cut-content.ts';
import type { ErrorCode } from '../../../domain/errors/error.ts';
import type { Event } from '../../../domain/record/event.ts';
import type { StepDocument } from '../../../domain/program/document.ts';
import type { StepError } from '../../../domain/program/step-error.ts';
import type { StepNote } from '../../../domain/program/step-note.ts';
import type { RunResultFields } from '../../../domain/run/result.ts';
import { noteError } from '../../../loop/state/run-state.ts';
import { spendChild } from '../../../loop/state/child-spending.ts';
import { insertedText } from '../../references/interpolate.ts';
import type { AttemptEnd } from '../ends.ts';
import type { ProgramRun } from '../program-run.ts';
import { recordNote, type RunningStep } from '../record.ts';
import { stepFailure } from '../step-failure.ts';

/** Bytes of the partial answer of a child in the details of a failure. */
const PARTIAL_BYTES = 4_000;

/** Records the end of a child. Every status but `completed` is a failed attempt. */
export function childEnded(
  run: ProgramRun,
  running: RunningStep,
  { step, result }: { step: StepDocument; result: RunResultFields },
): AttemptEnd {
  const spent = spendChild(run.state, result);
  if (result.status !== 'completed') return failed(run, running, failureOf(running, step, result), { child: result.runId, event: spent });
  const { output } = result;
  const content = [{ type: 'message' as const, role: 'assistant' as const, content: insertedText(output) }];
  recordNote(run, noteOf(running, result.runId), { ...spent, content });
  return { type: 'done', output, id: run.state.window.lastEventId };
}

/** Records that a child did not start, or ended without a result. */
export function childNotRun(
  run: ProgramRun,
  running: RunningStep,
  { code, message }: { code: ErrorCode; message: string },
  child?: string,
): AttemptEnd {
  const { kind } = running.state;
  const text = `The ${kind} of step '${running.address.step}' did not run: ${message}`;
  const ended = child === undefined || code === 'child_failed' ? text : `The ${kind} of step '${running.address.step}' failed: ${message}`;
  const details = code === 'child_failed' ? message : `${code}: ${message}`;
  return failed(run, running, stepFailure(running, 'child_failed', ended, details), child === undefined ? {} : { child });
}

/** Records the end of a child that the cancellation of the run has cancelled. */
export function childStopped(
  run: ProgramRun,
  running: RunningStep,
  { runId, result }: { runId: string; result: RunResultFields | undefined },
): AttemptEnd {
  const spent = result === undefined ? {} : spendChild(run.state, result);
  recordNote(run, noteOf(running, runId), { ...spent, interrupted: true });
  return { type: 'stopped' };
}

/** Returns the failure of an attempt whose child ended otherwise than completed. Its details hold the partial answer. */
function failureOf(running: RunningStep, { timeout }: StepDocument, result: RunResultFields): StepError {
  const { step } = running.address;
  const { status, stopReason, error, output, agentName } = result;
  const partial = output === null || output === '' ? '' : `Partial answer: ${cutText(insertedText(output), PARTIAL_BYTES)}`;
  const details = [error ?? '', partial].filter((text) => text !== '').join('\n');
  if (stopReason === 'deadline' && timeout !== undefined) {
    return stepFailure(running, 'step_timeout', `Step '${step}' timed out after ${timeout}`, details);
  }
  const reason = status === stopReason ? status : `${status} (${stopReason})`;
  const message = `The ${running.state.kind} '${agentName}' of step '${step}' ended with ${reason}`;
  return stepFailure(running, 'child_failed', message, details);
}

function failed(
  run: ProgramRun,
  running: RunningStep,
  error: StepError,
  { child, event = {} }: { child?: string; event?: Partial<Event> },
): AttemptEnd {
  noteError(run.state, error.message);
  recordNote(run, { ...noteOf(running, child), error }, event);
  return { type: 'failed', error, id: run.state.window.lastEventId };
}

function noteOf({ at, state }: RunningStep, child: string | undefined): StepNote {
  return { at, kind: state.kind, type: 'attempt', attempt: state.attempts, ...(child === undefined ? {} : { child }) };
}
