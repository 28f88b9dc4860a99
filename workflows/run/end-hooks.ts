import { CancellationScope } from '@temporalio/workflow';
import { endHooksRequest } from '../../src/core/activity-requests/hook-requests.ts';
import { endedWithHooks, hasEndHooks } from '../../src/core/loop/hooks/end-hooks.ts';
import type { RunResultFields } from '../../src/core/domain/run/result.ts';
import type { LiveRun } from './live-run.ts';
import { scheduleActivity } from './schedule-activity.ts';

/** Calls the hooks at the end of a run, if it has any: one activity, which bounds their time. Returns the result with their answers. */
export async function callEndHooks(run: LiveRun, result: RunResultFields): Promise<RunResultFields> {
  const { snapshot } = run;
  if (snapshot === undefined || !hasEndHooks(snapshot)) return result;
  const { steps: _, ...queried } = result;
  run.result = queried;
  const request = endHooksRequest(Object.assign(run, { snapshot }), result);
  const records = await CancellationScope.nonCancellable(() => scheduleActivity(run, request));
  return endedWithHooks(result, records);
}
