import { CancellationScope, condition } from '@temporalio/workflow';
import type { ActivityRequest } from '../../src/core/activity-requests/activity-request.ts';
import { DeadlineWatch } from '../../src/core/deadline-watch.ts';
import type { WaitDeadline } from '../../src/core/domain/time.ts';
import type { LiveDeadline, LiveRun } from './live-run.ts';
import { abortModelCall, scheduleActivity } from './schedule-activity.ts';

/** Makes calls that are given up when the deadline of the run passes. */
export function withinDeadline<Outcome>(run: LiveRun, calls: () => Promise<Outcome>): Promise<Outcome> {
  const { watch, scopes } = deadlineOf(run);
  if (!watch.begin()) return calls();
  const scope = new CancellationScope({ cancellable: true });
  scopes.set(scope, CancellationScope.current());
  return scope.run(calls).finally(() => scopes.delete(scope));
}

/** Executes an activity that the loop requests. At the deadline of the run it is given up, or at least does not begin any more. */
export function scheduleInTime<Input, Output, Outcome>(run: LiveRun, call: ActivityRequest<Input, Output, Outcome>): Promise<Outcome> {
  const { watch } = deadlineOf(run);
  if (watch.at === Infinity) return scheduleActivity(run, call);
  if (!call.outlastsDeadline) return withinDeadline(run, () => scheduleActivity(run, call));
  const leftMs = watch.at - Date.now();
  const isBounded = call.tier === 'remote' && call.outlastsDeadline === 'begun' && leftMs > 0;
  return scheduleActivity(run, isBounded ? { ...call, options: { ...call.options, scheduleToStartTimeout: leftMs } } : call);
}

/** True once the run or its turn is cancelled, also where a call that the deadline has given up is read. */
export function isRunCancelled(run: LiveRun): boolean {
  const scope = CancellationScope.current();
  return (run.deadline?.scopes.get(scope) ?? scope).consideredCancelled;
}

/** Begins to watch the deadline of the run, for a burst, which `giveUp` of the burst ends. */
export function watchDeadline(run: LiveRun): void {
  deadlineOf(run).watch.begin();
}

function deadlineOf(run: LiveRun): LiveDeadline {
  run.deadline ??= {
    scopes: new Map(),
    watch: new DeadlineWatch({
      state: () => run.state,
      inbox: run.inbox,
      now: () => Date.now(),
      until,
      giveUp: () => giveUpCalls(run),
    }),
  };
  return run.deadline;
}

function giveUpCalls(run: LiveRun): void {
  abortModelCall(run);
  run.burst?.giveUp();
  for (const scope of run.deadline?.scopes.keys() ?? []) scope.cancel();
}

/** Waits for a condition or a deadline. A cancellation ends the wait too; the loop checks for it itself. */
export async function until(isMet: () => boolean, deadline?: WaitDeadline): Promise<void> {
  try {
    if (deadline === undefined) await condition(isMet);
    // A timer that has already elapsed would still be a command.
    else if (deadline.at > Date.now()) await condition(isMet, deadline.at - Date.now(), { summary: deadline.summary });
  } catch {
    // Cancelled.
  }
}
