import type { Client } from '@temporalio/client';
import { sleep, jitter } from '../../temporal/waiting.ts';
import { withoutMemos } from '../../temporal/without-memos.ts';

/** Milliseconds between two looks: asking costs the run nothing, but many may ask. */
const LOOKS_MS = { shortest: 200, longest: 1_000 };

/** So many looks in a row without a workflow task: the run has nothing to do. Once says nothing, since tasks get lost where something is shed. */
const IDLE_LOOKS = 3;

/** A run that has not worked on anything for so long may be tried again all the same. */
const LONGEST_MS = 30_000;

/**
 * Waits until a run has worked on what it was told: its history has grown or goes on in the next execution, or it has
 * nothing to do. Asks the server, not the run. Returns at the deadline or after a while in any case.
 */
export async function waitForWorkflowTask(client: Client, runId: string, deadline: number): Promise<void> {
  const end = Math.min(deadline, Date.now() + LONGEST_MS);
  const before = await lookAt(client, runId);
  let wait = LOOKS_MS.shortest;
  let idle = 0;
  if (before === undefined) return;
  while (idle < IDLE_LOOKS && Date.now() < end) {
    await sleep(jitter(wait));
    const now = await lookAt(client, runId);
    if (now?.place !== before.place) return;
    idle = now.isIdle ? idle + 1 : 0;
    wait = Math.min(wait * 1.5, LOOKS_MS.longest);
  }
}

/** Where a run is: the execution and the length of its history. Undefined where the server does not say: whoever waits finds out why by trying again. */
async function lookAt(client: Client, runId: string): Promise<{ place: string; isIdle: boolean } | undefined> {
  try {
    const { runId: executionId, historyLength, raw } = await withoutMemos(client).workflow.getHandle(runId).describe();
    return { place: `${executionId} ${historyLength}`, isIdle: !raw.pendingWorkflowTask };
  } catch {
    return undefined;
  }
}
