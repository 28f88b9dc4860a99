import { proxyLocalActivities } from '@temporalio/workflow';
import type { EMPTY_CALL } from './sides.ts';

const { empty } = proxyLocalActivities<Record<typeof EMPTY_CALL, () => Promise<void>>>({ startToCloseTimeout: '1 minute' });

/** Runs `count` empty local activities sequentially: the cost of the SDK itself. */
export async function emptyCalls(count: number): Promise<void> {
  for (let call = 0; call < count; call += 1) await empty();
}
