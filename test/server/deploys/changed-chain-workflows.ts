import { continueAsNew, sleep } from '@temporalio/workflow';

/** The same workflow after an unguarded change: it no longer waits in its last execution but one. */
export async function countdown(left: number): Promise<string> {
  if (left !== 1) await sleep(1);
  return left === 0 ? 'done' : continueAsNew<typeof countdown>(left - 1);
}
