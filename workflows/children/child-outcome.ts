import { ApplicationFailure, CancelledFailure, TerminatedFailure, TimeoutFailure } from '@temporalio/common';
import { ChildWorkflowFailure } from '@temporalio/workflow';
import { readChildRequest } from '../../src/core/activity-requests/child-requests.ts';
import { errorMessage } from '../../src/core/domain/errors/error.ts';
import { isRunResult } from '../../src/core/domain/run/result.ts';
import type { ChildOutcome } from '../../src/core/program/interpreter/program-ports.ts';
import type { LiveRun } from '../run/live-run.ts';
import { scheduleActivity } from '../run/schedule-activity.ts';

/** The end of a child as its closing event tells it. `unread`: the event does not hold the result. */
export type ChildEnd = Extract<ChildOutcome, { type: 'ended' | 'failed' }> | { type: 'unread' };

/** Reads the failure of a child. */
export function endOfFailure(error: unknown): ChildEnd {
  const cause = error instanceof ChildWorkflowFailure ? error.cause : error;
  if (cause instanceof CancelledFailure) return { type: 'unread' };
  if (cause instanceof TerminatedFailure) return { type: 'failed', code: 'run_terminated', message: 'an operator terminated it' };
  if (cause instanceof TimeoutFailure) return { type: 'failed', code: 'run_timed_out', message: 'a time-out of its workflow ended it' };
  const [details]: unknown[] = cause instanceof ApplicationFailure ? (cause.details ?? []) : [];
  if (isRunResult(details)) return { type: 'ended', result: details };
  return { type: 'failed', code: 'child_failed', message: errorMessage(cause) };
}

/** Returns the outcome of a child that has ended. An activity reads the parts that its closing event does not hold. */
export async function outcomeOf(run: LiveRun, runId: string, end: ChildEnd): Promise<Extract<ChildOutcome, { type: 'ended' | 'failed' }>> {
  if (end.type === 'failed' || (end.type === 'ended' && !end.result.outputTruncated)) return end;
  return readEnded(run, runId);
}

/** Reads the whole result of a child that ends. */
export async function readEnded(run: LiveRun, runId: string): Promise<Extract<ChildOutcome, { type: 'ended' | 'failed' }>> {
  const read = await scheduleActivity(run, readChildRequest({ runId, whole: true }));
  return read.type === 'running' ? { type: 'failed', code: 'internal', message: 'its result cannot be read' } : read;
}
