import type { Client } from '@temporalio/client';
import type { ArchiveSink } from '../../stores/archive/archive-sink.ts';
import { errorCode, LonghaulError } from '../../core/domain/errors.ts';
import { type Duration, milliseconds } from '../../core/domain/time.ts';
import type { PayloadStore } from '../../stores/payload-store/payload-store.ts';
import { runState } from '../../temporal/run-state.ts';
import { sleep } from '../../temporal/waiting.ts';
import type { StreamChannel } from '../../streams/stream-sink.ts';
import { RunChain } from '../read/chain.ts';
import { endRuns, LISTING_DELAY_MS } from './end-runs.ts';
import { removeExecutionsOf } from './remove-executions.ts';
import { runsBelow } from './runs-below.ts';

/** The stores that hold parts of a run beside the server. */
export interface RunStores {
  /** The store of results that were too large for the conversation. */
  payloadStore?: PayloadStore | undefined;
  archive?: ArchiveSink | undefined;
}

/** What is removed of a run beside its executions. */
export interface RunContent extends RunStores {
  /** The sink of live output, which keeps the newest entries of each run. */
  streams?: Pick<StreamChannel, 'removeRun'> | undefined;
}

/** The options of a deletion. */
export interface DeleteOptions extends RunStores {
  /** True to cancel the run and the runs below it first if they go on. Default: a run that goes on is refused. */
  end?: boolean;
  /** The time that they have to end by themselves before they are terminated. Default 30 seconds. */
  grace?: Duration;
}

/** The result of a deletion: `not_found` if the server had nothing of the run. */
export type DeleteOutcome = 'deleted' | 'not_found';

/** The time that cancelled runs have to end by themselves. */
export const GRACE: Duration = '30s';

/**
 * Removes a run and the runs below it: the spilled results and the archive of each, and all its executions, which the server then
 * removes in the background, within a minute or so. Deleting again is no error, and finishes a deletion that was interrupted: the
 * run itself goes last. Throws `run_open` if one of them goes on, unless they are to be ended first.
 */
export async function deleteRun(
  client: Client,
  runId: string,
  { end = false, grace = GRACE, ...stores }: DeleteOptions & RunContent,
): Promise<DeleteOutcome> {
  await requireRunOrNothing(client, runId);
  const graceMs = milliseconds(grace, 'delete: "grace"');
  const removed = new Set<string>();
  for (;;) {
    const below = (await runsBelow(client, runId)).filter((one) => !removed.has(one));
    const runs = [...below, runId];
    const ended = end ? await endRuns(client, runs, { reason: 'the run is deleted', graceMs }) : 0;
    if (!end) for (const one of runs) await requireEnded(client, one, runId);
    // Runs that were started just before are not listed yet.
    if (ended > 0) await sleep(LISTING_DELAY_MS);
    else if (below.length === 0) break;
    for (const one of below) await removeRun(client, one, stores);
    for (const one of below) removed.add(one);
  }
  return (await removeRun(client, runId, stores)).length === 0 ? 'not_found' : 'deleted';
}

/** Removes one run that has ended, its content before its executions. Returns the ids of the executions that the server had. */
async function removeRun(client: Client, runId: string, stores: RunContent): Promise<string[]> {
  await removeContentOfRun(client, runId, stores);
  return removeExecutionsOf(client, runId);
}

/** Removes the spilled results, the archive and the live output of a run. */
export async function removeContentOfRun(client: Client, runId: string, { payloadStore, archive, streams }: RunContent): Promise<void> {
  const { namespace } = client.options;
  await streams?.removeRun(runId);
  await payloadStore?.deleteRun({ namespace, runId });
  await archive?.deleteRun({ namespace, runId });
}

/** Throws `not_a_run` for a workflow of the user's own. */
async function requireRunOrNothing(client: Client, runId: string): Promise<void> {
  try {
    await new RunChain(client, runId).newest();
  } catch (error) {
    if (errorCode(error) !== 'run_not_found') throw error;
  }
}

async function requireEnded(client: Client, runId: string, deleted: string): Promise<void> {
  if ((await runState(client, runId)) !== 'open') return;
  const whose = runId === deleted ? '' : `, below "${deleted}",`;
  throw new LonghaulError(
    'run_open',
    `Run "${runId}"${whose} is still going on: cancel it first, or delete with "end", which cancels the run and all below it`,
  );
}
