import type { Client } from '@temporalio/client';
import { sleep, jitter } from '../../temporal/waiting.ts';
import { withoutMemos } from '../../temporal/without-memos.ts';

/** Milliseconds between two looks: they cost the run nothing, but many callers may look. */
const LOOKS_MS = { shortest: 200, longest: 1_000 };

/** Looks in a row without a workflow task after which the run has nothing to do. A single one proves nothing, since tasks get lost when the server sheds Updates. */
const IDLE_LOOKS = 3;

/** The longest wait: a run that has made no progress for this long may be tried again all the same. */
const LONGEST_MS = 30_000;

/**
 * Waits until a run has made progress: its history has grown or continues in the next execution, or it has nothing to do.
 * Asks the server, not the run. Returns at the deadline or after a while in any case.
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
    if (now?.progress !== before.progress) return;
    idle = now.isIdle ? idle + 1 : 0;
    wait = Math.min(wait * 1.5, LOOKS_MS.longest);
  }
}

/** Returns the execution with the length of its history. Undefined if the server does not answer: the caller learns the reason when it tries again. */
async function lookAt(client: Client, runId: string): Promise<{ progress: string; isIdle: boolean } | undefined> {
  try {
    const { runId: executionId, historyLength, raw } = await withoutMemos(client).workflow.getHandle(runId).describe();
    return { progress: `${executionId} ${historyLength}`, isIdle: !raw.pendingWorkflowTask };
  } catch {
    return undefined;
  }
}
