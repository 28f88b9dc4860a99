import { activityInfo, cancellationSignal, getClient } from '@temporalio/activity';
import type { SpilledContent } from '../../src/core/domain/content/content.ts';
import { errorCode, errorMessage, LonghaulError } from '../../src/core/domain/errors/error.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../src/core/domain/json/json.ts';
import type { StoredOutput } from '../../src/core/domain/program/messages.ts';
import type { PayloadStore, StoredRun } from '../../src/stores/payload-store/payload-store.ts';
import { readSpilled, spill } from '../../src/stores/payload-store/spill.ts';
import { withTimeout } from '../attempts/with-timeout.ts';

/** The longest time of one call of the store, in milliseconds. */
const LONGEST_CALL_MS = 120_000;

/** The outputs of programs in the payload store of a worker. */
export class OutputStore {
  readonly #store: PayloadStore | undefined;

  constructor(store: PayloadStore | undefined) {
    this.#store = store;
  }

  /** Stores an output for the run that the current activity belongs to. Throws `payload_store_failed` if that fails. */
  async put(id: string, output: JsonValue): Promise<SpilledContent> {
    const store = this.#store;
    if (store === undefined) throw new LonghaulError('payload_store_failed', 'this worker has no payload store');
    const run = currentRun();
    try {
      return await inTime(() => spill(store, getClient().options.loadedDataConverter, run, [ownerOf(run, id), output]));
    } catch (error) {
      if (cancellationSignal().aborted) throw error;
      throw new LonghaulError('payload_store_failed', `payload store "${store.name}" failed: ${errorMessage(error)}`, { cause: error });
    }
  }

  /**
   * Reads an output. Throws `spilled_unavailable` if the store does not have it for the run that `run` says, or has none of that
   * run: a forged location leads to nothing.
   */
  async get(
    { address, id, spilled }: StoredOutput,
    run: StoredRun = currentRun(),
    what = `The output of step "${address}"`,
  ): Promise<JsonValue> {
    const where = `${what} is in payload store "${spilled.store}" (SHA-256 ${spilled.sha256})`;
    const store = this.#store;
    if (store?.name !== spilled.store) {
      const own = store === undefined ? 'has none' : `has "${store.name}"`;
      throw new LonghaulError('payload_store_failed', `${where}, and this worker ${own}: give it that store`);
    }
    let content: JsonValue[];
    try {
      content = await inTime(() => readSpilled(store, getClient().options.loadedDataConverter, spilled));
    } catch (error) {
      if (cancellationSignal().aborted) throw error;
      // A store that says nothing of the kind of its failure may have it at the next attempt.
      const code = errorCode(error) ?? 'payload_store_failed';
      throw new LonghaulError(code, `${where}, and could not be read: ${errorMessage(error)}`, { cause: error });
    }
    const [owner, output] = content;
    if (isJsonObject(owner) && isOwner(owner, ownerOf(run, id)) && output !== undefined) return output;
    throw new LonghaulError('spilled_unavailable', `${where}, and that content is not of this step and run`);
  }
}

/** Gives up a store that does not answer, also once the activity is cancelled or its worker shuts down. */
function inTime<Result>(work: () => Promise<Result>): Promise<Result> {
  return withTimeout(work, { ms: LONGEST_CALL_MS, stop: cancellationSignal() });
}

/** Returns what is stored beside an output, so that no other run can read it by its location. */
function ownerOf({ namespace, runId }: StoredRun, id: string): JsonObject {
  return { namespace, run: runId, id };
}

function isOwner(owner: JsonObject, expected: JsonObject): boolean {
  return Object.entries(expected).every(([key, value]) => owner[key] === value);
}

function currentRun(): StoredRun {
  const { workflowExecution, workflowNamespace } = activityInfo();
  return { namespace: workflowNamespace ?? '', runId: workflowExecution?.workflowId ?? '' };
}
