import { LonghaulError } from '../../core/domain/errors/error.ts';
import type { EventId, RetryPoints } from './retry-points.ts';
import { isoTime } from '../../core/domain/record/time.ts';

/** Returns the step that a run goes on from, and the task that asked for it. Throws `invalid_input` if it cannot go on from there. */
export function retriedStep(
  runId: string,
  points: RetryPoints,
  { fromStep: wanted }: { fromStep?: number },
): { fromStep: number; task: EventId } {
  requireTime(runId, points);
  const { firstTask, firstStep, tasks, isContinued } = points;
  if (firstTask === undefined) {
    const next = `start it again under its id with ifExists: 'restartFailed'`;
    throw new LonghaulError('invalid_input', `Run "${runId}" cannot be retried: it ended before a worker had begun it. Instead, ${next}`);
  }
  // A run that never asked the model begins this execution again.
  const known = tasks.size === 0 ? new Map([[firstStep, firstTask]]) : tasks;
  const steps = [...known.keys()];
  const fromStep = wanted ?? Math.max(...steps);
  const task = known.get(fromStep);
  if (task !== undefined) return { fromStep, task };
  const [from, to] = [Math.min(...steps), Math.max(...steps)];
  const there = from === to ? `step ${from}` : `a step from ${from} to ${to}`;
  const why =
    isContinued && fromStep < from
      ? `step ${fromStep} is in an earlier execution, which the run has left behind by continuing as new`
      : `it has no step ${fromStep}`;
  throw new LonghaulError('invalid_input', `Run "${runId}" cannot be retried from there: ${why}. Retry it from ${there}`);
}

/** Throws if the deadline has passed. It counts from the start of the run: a retry would end at once and lose what it drops. */
function requireTime(runId: string, { deadline }: RetryPoints): void {
  if (deadline === undefined || Date.now() < deadline) return;
  throw new LonghaulError(
    'invalid_input',
    `Run "${runId}" cannot be retried: its deadline was ${isoTime(deadline)}, and it would end at once. Start a new run`,
  );
}
