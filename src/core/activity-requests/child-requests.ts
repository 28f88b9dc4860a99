import { isJsonObject } from '../domain/json/json.ts';
import { isRunResult } from '../domain/run/result.ts';
import type { ChildOutcome, ChildStart } from '../program/interpreter/program-ports.ts';
import { ACTIVITIES, type CheckParentInput, type CheckParentOutput, type ReadResultInput } from '../protocol.ts';
import { checkProgramInput } from '../wire-schemas/program-input-schema.ts';
import { checkRunInput } from '../wire-schemas/run-input-schema.ts';
import { activityProblem } from './activity-outcome.ts';
import type { ActivityRequest } from './activity-request.ts';

const OPTIONS = {
  startToCloseTimeout: '30 seconds',
  scheduleToCloseTimeout: '1 day',
  retry: { maximumAttempts: 20, initialInterval: '1s', backoffCoefficient: 2, maximumInterval: '1 minute' },
} as const;

/** Returns why a child cannot start with its input; undefined if it can. */
export function childProblem({ kind, input }: ChildStart): string | undefined {
  const checked = kind === 'agent' ? checkRunInput(input) : checkProgramInput(input);
  return checked.ok ? undefined : checked.problem;
}

/** A child that has ended, or that still goes on. */
export type ReadChild = Extract<ChildOutcome, { type: 'ended' | 'failed' }> | { type: 'running' };

/** Reads the result of a child whose closing event does not reach this execution, or does not hold all of it. */
export function readChildRequest(input: ReadResultInput): ActivityRequest<ReadResultInput, unknown, ReadChild> {
  return {
    name: ACTIVITIES.readResult,
    tier: 'remote',
    options: { ...OPTIONS, summary: input.ifEnded ? 'checks that the child is alive' : 'reads the result of the child' },
    input,
    returned: (output) => (isRunResult(output) ? { type: 'ended', result: output } : { type: 'running' }),
    failed: readChildFailure,
  };
}

/** Returns the outcome of a child whose result could not be read: an operator has terminated it, for instance. */
export function readChildFailure(error: unknown): Extract<ReadChild, { type: 'failed' }> {
  const problem = activityProblem(error);
  if (problem.type === 'failed') return { type: 'failed', code: problem.code ?? 'internal', message: problem.message };
  return { type: 'failed', code: 'internal', message: problem.type === 'cancelled' ? 'its result was not read' : problem.message };
}

/** The codes of a child that has ended without a result. Any other failure says nothing about the child. */
const GONE: readonly string[] = ['run_terminated', 'run_timed_out', 'run_not_found'];

/** True if the failure says that the child has ended, and not only that it could not be read. */
export function isGone(read: ReadChild): boolean {
  return read.type === 'failed' && GONE.includes(read.code);
}

/** Asks if the parent of a run has ended without cancelling it. A check that fails says nothing. */
export function checkParentRequest(runId: string): ActivityRequest<CheckParentInput, CheckParentOutput, boolean> {
  return {
    name: ACTIVITIES.checkParent,
    tier: 'remote',
    options: { ...OPTIONS, summary: 'checks that the parent is alive' },
    input: { runId },
    returned: (output) => isJsonObject(output) && output.ended,
    failed: () => false,
  };
}
