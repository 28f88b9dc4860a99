import { log } from '@temporalio/activity';
import type { SpilledContent } from '../../src/core/domain/content/content.ts';
import { errorMessage } from '../../src/core/domain/errors/error.ts';
import { storeCheckpoint } from './checkpoint-store.ts';
import type { Namespace } from './namespace.ts';
import type { SegmentWork } from './segment-work.ts';

/** Milliseconds of cells since the last checkpoint after which the next one is taken. */
const CELLS_MS = 2_000;

/**
 * Takes a checkpoint after a cell, if the cells since the last one took long or the run asks for one, and if this worker can store it.
 * Undefined without one: the run can do without. A store that fails is logged.
 */
export async function takeCheckpoint({ runtime, input, attempt }: SegmentWork, namespace: Namespace): Promise<SpilledContent | undefined> {
  const { payloadStore, secrets } = runtime;
  const { executor, names } = namespace;
  if (payloadStore === undefined || executor.checkpoint === undefined) return undefined;
  if (namespace.cellMs < CELLS_MS && input.checkpoint !== true) return undefined;
  try {
    const spilled = await storeCheckpoint(payloadStore, { bytes: await executor.checkpoint(), names }, attempt.signal);
    namespace.checkpointed(spilled.sha256);
    return spilled;
  } catch (error) {
    attempt.throwIfAborted();
    log.warn('A checkpoint of code could not be stored: its cells are run again instead, if they have to be', {
      agent: input.agentName,
      callId: input.callId,
      error: secrets.redact(errorMessage(error)),
    });
    return undefined;
  }
}
