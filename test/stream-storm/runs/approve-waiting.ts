import { setTimeout as pause } from 'node:timers/promises';
import type { LonghaulClient } from '../../../src/client/index.ts';
import type { Waiting } from '../processes/settings.ts';

const AGAIN_MS = 500;
const TRIES = 60;

/** Approves a call that waits, however often its run has no worker just now. The same approval may be sent twice. */
export async function approveWaiting(client: LonghaulClient, { runId, callId, digest }: Waiting): Promise<void> {
  for (let tries = 0; tries < TRIES; tries += 1) {
    try {
      await client.handle(runId).approve({ callId, digest }, { id: `yes-${callId}`, by: 'boss', timeout: '10s' });
      return;
    } catch {
      // A run that is never approved does not end, which the storm reports.
      await pause(AGAIN_MS);
    }
  }
}
