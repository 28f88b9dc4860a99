import { activityInfo, getClient } from '@temporalio/activity';
import type { SpilledContent } from '../../src/core/domain/content/content.ts';
import { LonghaulError } from '../../src/core/domain/errors/error.ts';
import { isJsonObject } from '../../src/core/domain/json/json.ts';
import type { PayloadStore } from '../../src/stores/payload-store/payload-store.ts';
import { readSpilled, spill } from '../../src/stores/payload-store/spill.ts';
import { withTimeout } from '../attempts/with-timeout.ts';

/** Bytes that a checkpoint may have: it is in memory several times while it is stored. */
const MAX_BYTES = 64_000_000;

/** The longest time of one call of the store, in milliseconds. */
const LONGEST_CALL_MS = 30_000;

/** The namespace of a run between two cells. */
export interface Checkpoint {
  /** As the executor made them. */
  bytes: Uint8Array;
  /** The names that code had declared. */
  names: readonly string[];
}

/** Stores a checkpoint for the run that the current activity belongs to. Rejects if it is too large, or with the error of the store. */
export async function storeCheckpoint(store: PayloadStore, { bytes, names }: Checkpoint, stop: AbortSignal): Promise<SpilledContent> {
  if (bytes.length > MAX_BYTES) throw new LonghaulError('payload_too_large', `it has ${bytes.length} bytes, more than ${MAX_BYTES}`);
  const run = currentRun();
  const content = [
    { namespace: run.namespace, run: run.runId },
    { bytes: Buffer.from(bytes).toString('base64'), names: [...names] },
  ];
  return withTimeout(() => spill(store, getClient().options.loadedDataConverter, run, content), { ms: LONGEST_CALL_MS, stop });
}

/**
 * Reads a checkpoint. Throws `spilled_unavailable` if the store does not have it, or has none of that run: a forged location leads to
 * nothing.
 */
export async function readCheckpoint(store: PayloadStore | undefined, spilled: SpilledContent, stop: AbortSignal): Promise<Checkpoint> {
  if (store === undefined) throw new LonghaulError('payload_store_failed', 'this worker has no payload store');
  const read = (): ReturnType<typeof readSpilled> => readSpilled(store, getClient().options.loadedDataConverter, spilled);
  const [owner, content] = await withTimeout(read, { ms: LONGEST_CALL_MS, stop });
  const { namespace, runId } = currentRun();
  const isOwn = isJsonObject(owner) && owner['namespace'] === namespace && owner['run'] === runId;
  if (!isOwn || !isJsonObject(content) || typeof content['bytes'] !== 'string') {
    throw new LonghaulError('spilled_unavailable', 'what is stored there is no checkpoint of this run');
  }
  const names = Array.isArray(content['names']) ? content['names'].filter((name) => typeof name === 'string') : [];
  return { bytes: Buffer.from(content['bytes'], 'base64'), names };
}

function currentRun(): { namespace: string; runId: string } {
  const { workflowExecution, workflowNamespace } = activityInfo();
  return { namespace: workflowNamespace ?? '', runId: workflowExecution?.workflowId ?? '' };
}
