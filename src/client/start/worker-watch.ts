import type { Client } from '@temporalio/client';
import { missingText, nameOfMissing } from '../../core/domain/missing-definitions.ts';
import { missingThings } from './missing-things.ts';
import { sleep } from '../../temporal/waiting.ts';
import { withoutMemos } from '../../temporal/without-memos.ts';

/** The time after which a worker has said that it lacks something, if it does. */
const FIRST_LOOK_MS = 700;

/** The time after which there is probably no worker: one takes a run within milliseconds. */
const NO_WORKER_MS = 3_000;

/** The events of a history before a worker has taken the run: started, and the first task scheduled. */
const EVENTS_BEFORE_WORKER = 2;

/** Milliseconds between later looks at a run: something that it needs may be missing later, too. */
const EVERY_MS = 15_000;

/**
 * Reports if no worker has taken a run a few seconds after its start, and if the workers that take its tasks lack something,
 * such as an agent whose name was misspelt: the run is safe, and the caller who waits for it should know why nothing
 * happens. Never rejects, and stops with the signal.
 */
export async function watchForWorker(client: Client, runId: string, signal: AbortSignal, report: (line: string) => void): Promise<void> {
  const reported = new Set<string>();
  const reportOnce = (line: string, key = line): void => {
    if (signal.aborted || reported.has(key)) return;
    reported.add(key);
    report(line);
  };
  try {
    const waits = [FIRST_LOOK_MS, NO_WORKER_MS - FIRST_LOOK_MS];
    for (let look = 0; ; look += 1) {
      const wait = waits[look] ?? EVERY_MS;
      await sleep(wait, signal);
      const description = await withoutMemos(client).workflow.getHandle(runId).describe();
      const { historyLength, taskQueue, status } = description;
      if (status.name !== 'RUNNING') return;
      if (look > 0 && historyLength <= EVENTS_BEFORE_WORKER) reportOnce(noWorkerText(client, runId, taskQueue));
      for (const missing of await missingThings(client, description)) reportOnce(missingText(missing), nameOfMissing(missing));
    }
  } catch {
    // The wait is over, or the server is unreachable: the caller who waits for the run gets that error itself.
  }
}

function noWorkerText(client: Client, runId: string, taskQueue: string): string {
  return (
    `No worker has taken run "${runId}" yet: is one polling task queue "${taskQueue}" in namespace "${client.options.namespace}"? ` +
    'The run is safe and begins as soon as one does.'
  );
}
