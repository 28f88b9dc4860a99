import { cancellationSignal, getClient } from '@temporalio/activity';
import { LRUCache } from 'lru-cache';
import type { SpilledContent } from '../../src/core/domain/content.ts';
import { errorCode, errorMessage, LonghaulError } from '../../src/core/domain/errors.ts';
import { joinPieces, jsonBytes, type JsonPiece } from '../../src/core/domain/byte-budgets.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../src/core/domain/json.ts';
import type { StoredOutput } from '../../src/core/domain/program-run.ts';
import { type OfRun, QUERIES, type StepValuesAnswer, type StepValuesQuestion } from '../../src/core/protocol.ts';
import { type PayloadStore, readSpilled, spill, type StoredRun } from '../../src/stores/payload-store.ts';
import { currentRun, withTimeout } from '../attempts/attempt.ts';
import { queryRun, runKey } from '../run-queries/query-run.ts';

/** The maximum bytes of values that a worker keeps for program steps. */
const MAX_CACHED_BYTES = 64_000_000;

/** Outputs of a run: their ids by address. */
type OutputsReference = OfRun & { outputs?: Record<string, string> };

/** The step of an activity, and the outputs that it refers to. */
export type StepReference = OutputsReference & { step: string };

/**
 * Values of programs in the memory of this worker: inputs and outputs by id. It affects how a prompt is assembled, never its text: an
 * output is found by the id that the workflow names.
 */
export class StepValuesCache {
  readonly #values = new LRUCache<string, { value: JsonValue }>({
    maxSize: MAX_CACHED_BYTES,
    sizeCalculation: ({ value }) => jsonBytes(value) + 1,
  });
  /** The outputs that are too large to be carried. */
  readonly store: OutputStore;

  constructor(store = new OutputStore(undefined)) {
    this.store = store;
  }

  /** Keeps an output that this worker has just produced. */
  add(run: OfRun, id: string, value: JsonValue): void {
    this.#values.set(keyOf(run, id), { value });
  }

  /** Returns outputs, by address. Queries the run for those that this worker lacks. */
  async outputs(reference: OutputsReference): Promise<Map<string, JsonValue>> {
    const entries = Object.entries(reference.outputs ?? {});
    const found = new Map<string, JsonValue>();
    let missing: [address: string, id: string][] = [];
    for (const [address, id] of entries) {
      const known = this.#values.get(keyOf(reference, id));
      if (known === undefined) missing.push([address, id]);
      else found.set(address, known.value);
    }
    while (missing.length > 0) {
      const answer = await askForValues(reference, { outputs: missing.map(([address]) => address) });
      for (const [address, id] of missing) {
        const value = await this.#received(reference, answer, { address, id });
        if (value === undefined) continue;
        found.set(address, value);
        this.add(reference, id, value);
      }
      missing = missing.filter(([address]) => !found.has(address));
    }
    return found;
  }

  /** Returns an output that is in the payload store. */
  async stored(run: OfRun, stored: StoredOutput): Promise<JsonValue> {
    const known = this.#values.get(keyOf(run, stored.id));
    if (known !== undefined) return known.value;
    const value = await this.store.get(stored);
    this.add(run, stored.id, value);
    return value;
  }

  /** Returns an output from the run's answer, loaded or joined as needed; undefined if the answer ends before it. */
  async #received(run: OfRun, answer: StepValuesAnswer, { address, id }: Omit<StoredOutput, 'spilled'>): Promise<JsonValue | undefined> {
    if (answer.outputs !== undefined && Object.hasOwn(answer.outputs, address)) return answer.outputs[address] ?? null;
    if (answer.long?.includes(address)) return (await joinPieces<never>((from) => pieceOf(run, address, from))).value;
    const spilled = answer.spilled === undefined || !Object.hasOwn(answer.spilled, address) ? undefined : answer.spilled[address];
    return spilled === undefined ? undefined : this.stored(run, { address, id, spilled });
  }

  /** Returns the input of the program. It is kept for one execution, because a later run may have the same workflow id. */
  async input(run: OfRun): Promise<JsonObject> {
    const key = `${runKey(run).execution} input`;
    const known = this.#values.get(key);
    if (known !== undefined) return known.value as JsonObject;
    const input = (await askForValues(run, { program: true })).program?.input ?? {};
    this.#values.set(key, { value: input });
    return input;
  }

  /** Returns the failure of the previous attempt, which the prompt quotes. */
  async failure(reference: StepReference, id: string): Promise<string> {
    const known = this.#values.get(keyOf(reference, `failure ${id}`))?.value;
    return typeof known === 'string' ? known : ((await askForValues(reference, { step: reference.step })).failure ?? '');
  }

  /** Returns a person's edits from before the step is paid for. */
  async edited(reference: StepReference): Promise<JsonObject> {
    return (await askForValues(reference, { step: reference.step })).edited ?? {};
  }
}

async function pieceOf(run: OfRun, address: string, from: number): Promise<{ piece: JsonPiece }> {
  const { piece = { text: '', of: Infinity } } = await askForValues(run, { piece: { address, from } });
  return { piece };
}

function askForValues(run: OfRun, question: StepValuesQuestion): Promise<StepValuesAnswer> {
  return queryRun<StepValuesAnswer>(run, QUERIES.stepValues, question);
}

/** Identifies a value: ids are unique in one execution chain, and a reset starts another run id. */
function keyOf(run: OfRun, id: string): string {
  return `${runKey(run).chain} ${id}`;
}

/** The time limit of one call of the store, in milliseconds. */
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
      return await withinStoreTime(() => spill(store, getClient().options.loadedDataConverter, run, [ownerOf(run, id), output]));
    } catch (error) {
      if (cancellationSignal().aborted) throw error;
      throw new LonghaulError('payload_store_failed', `payload store "${store.name}" failed: ${errorMessage(error)}`, { cause: error });
    }
  }

  /** Reads an output. Throws `spilled_unavailable` if the store does not have it for the given run: a forged location finds nothing. */
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
      content = await withinStoreTime(() => readSpilled(store, getClient().options.loadedDataConverter, spilled));
    } catch (error) {
      if (cancellationSignal().aborted) throw error;
      // If the store does not classify its failure, the next attempt may succeed.
      const code = errorCode(error) ?? 'payload_store_failed';
      throw new LonghaulError(code, `${where}, and could not be read: ${errorMessage(error)}`, { cause: error });
    }
    const [owner, output] = content;
    if (isJsonObject(owner) && isOwner(owner, ownerOf(run, id)) && output !== undefined) return output;
    throw new LonghaulError('spilled_unavailable', `${where}, and that content is not of this step and run`);
  }
}

/** Stops waiting for a store that does not answer, or when the activity is cancelled or its worker shuts down. */
function withinStoreTime<Result>(work: () => Promise<Result>): Promise<Result> {
  return withTimeout(work, { ms: LONGEST_CALL_MS, stop: cancellationSignal() });
}

/** Returns the owner that is stored with an output, so that no other run can read it by its location. */
function ownerOf({ namespace, runId }: StoredRun, id: string): JsonObject {
  return { namespace, run: runId, id };
}

function isOwner(owner: JsonObject, expected: JsonObject): boolean {
  return Object.entries(expected).every(([key, value]) => owner[key] === value);
}
