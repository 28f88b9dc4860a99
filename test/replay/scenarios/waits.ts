import type { RunHandle } from '../../../src/client/index.ts';
import type { ScriptedModel } from '../../../src/testing/index.ts';
import { until } from '../../server/testbed/until.ts';

/** Cancels a run in its second model call. */
export async function cancelled(run: RunHandle, model: ScriptedModel): Promise<void> {
  await until(() => model.requests.length === 2, 'the last answer');
  await run.cancel('recorded');
}

/** Waits until this many calls need a decision. */
export async function waiting(run: RunHandle, calls: number): ReturnType<RunHandle['approvals']> {
  let approvals = await run.approvals();
  const isWaiting = async (): Promise<boolean> => {
    approvals = await run.approvals();
    return approvals.pending.length === calls;
  };
  await until(isWaiting, `${calls} calls wait`, 30);
  return approvals;
}
