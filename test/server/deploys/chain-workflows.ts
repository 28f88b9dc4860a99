import { continueAsNew, sleep } from '@temporalio/workflow';

/** Continues as new until its counter is zero. */
export async function countdown(left: number): Promise<string> {
  await sleep(1);
  return left === 0 ? 'done' : continueAsNew<typeof countdown>(left - 1);
}
