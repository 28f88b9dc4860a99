import type { Client } from '@temporalio/client';
import { missingText, nameOfMissing } from '../../core/domain/errors/missing.ts';
import { missingThings } from './missing-things.ts';
import { sleep } from '../../temporal/waiting.ts';
import { withoutMemos } from '../../temporal/without-memos.ts';

/** A worker takes a run within milliseconds; after this long there is probably none. */
const PATIENCE_MS = 3_000;

/** Events of a history before any worker has touched it: started, and the first task scheduled. */
const UNTOUCHED = 2;

/** How often a run is looked at afterwards, in milliseconds: what it needs may be missing later, too. */
const EVERY_MS = 15_000;

/**
 * Says so when no worker has taken a run a few seconds after its start, and when those that take its tasks lack what it needs,
 * such as an agent whose name was misspelt: the run is safe, and whoever waits for it should know why nothing happens. Never
 * rejects, and stops with the signal.
 */
export async function watchForWorker(client: Client, runId: string, signal: AbortSignal, say: (line: string) => void): Promise<void> {
  const said = new Set<string>();
  const sayOnce = (line: string, key = line): void => {
    if (signal.aborted || said.has(key)) return;
    said.add(key);
    say(line);
  };
  try {
    for (let wait = PATIENCE_MS; ; wait = EVERY_MS) {
      await sleep(wait, signal);
      const description = await withoutMemos(client).workflow.getHandle(runId).describe();
      const { historyLength, taskQueue, status } = description;
      if (status.name !== 'RUNNING') return;
      if (historyLength <= UNTOUCHED) sayOnce(untaken(client, runId, taskQueue));
      for (const missing of await missingThings(client, description)) sayOnce(missingText(missing), nameOfMissing(missing));
    }
  } catch {
    // The wait is over, or the server is away: whoever waits for the run hears of that by itself.
  }
}

function untaken(client: Client, runId: string, taskQueue: string): string {
  return (
    `No worker has taken run "${runId}" yet: is one polling task queue "${taskQueue}" in namespace "${client.options.namespace}"? ` +
    'The run is safe and begins as soon as one does.'
  );
}
