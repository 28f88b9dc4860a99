import type { Client } from '@temporalio/client';
import { pause } from './waiting.ts';
import { withoutMemos } from './without-memos.ts';

/** A worker takes a run within milliseconds; after this long there is probably none. */
const PATIENCE_MS = 3_000;

/** Events of a history before any worker has touched it: started, and the first task scheduled. */
const UNTOUCHED = 2;

/**
 * Says so when no worker has taken a run a few seconds after its start: the run is safe, and whoever waits for it
 * should know why nothing happens. Never rejects, and stops with the signal.
 */
export async function watchForWorker(client: Client, runId: string, signal: AbortSignal, say: (line: string) => void): Promise<void> {
  try {
    await pause(PATIENCE_MS, signal);
    const { historyLength, taskQueue, status } = await withoutMemos(client).workflow.getHandle(runId).describe();
    if (signal.aborted || status.name !== 'RUNNING' || historyLength > UNTOUCHED) return;
    say(
      `No worker has taken run "${runId}" yet: is one polling task queue "${taskQueue}" in namespace "${client.options.namespace}"? ` +
        'The run is safe and begins as soon as one does.',
    );
  } catch {
    // The wait is over, or the server is away: whoever waits for the run hears of that by itself.
  }
}
