import { LRUCache } from 'lru-cache';
import type { JsonObject, JsonValue } from '../../src/core/domain/json/json.ts';
import { jsonBytes } from '../../src/core/domain/json/payload-limit.ts';
import { joinPieces, type JsonPiece } from '../../src/core/domain/json/json-piece.ts';
import { type OfRun, QUERIES, type StepValuesAnswer, type StepValuesQuestion } from '../../src/core/protocol.ts';
import type { StoredOutput } from '../../src/core/domain/program/messages.ts';
import { queryRun, runKey } from '../run-queries/access.ts';
import { OutputStore } from './output-store.ts';

/** The most bytes of values that a worker keeps for the steps of programs. */
const MAX_BYTES = 64_000_000;

/** Outputs of a run: their ids by address. */
type OutputsReference = OfRun & { outputs?: Record<string, string> };

/** The step of an activity, and the outputs that it refers to. */
export type StepReference = OutputsReference & { step: string };

/**
 * Values of programs in the memory of this worker: inputs and outputs by id. It decides how a prompt is assembled, never
 * what it says: an output is found by the id that the workflow names.
 */
export class StepValuesCache {
  readonly #values = new LRUCache<string, { value: JsonValue }>({
    maxSize: MAX_BYTES,
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
      const answer = await ask(reference, { outputs: missing.map(([address]) => address) });
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

  /** Returns an output that the run has answered with, loaded or joined as it says; undefined if the answer ends before it. */
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
    const input = (await ask(run, { program: true })).program?.input ?? {};
    this.#values.set(key, { value: input });
    return input;
  }

  /** Returns the failure of the attempt before, which the prompt quotes. */
  async failure(reference: StepReference, id: string): Promise<string> {
    const known = this.#values.get(keyOf(reference, `failure ${id}`))?.value;
    return typeof known === 'string' ? known : ((await ask(reference, { step: reference.step })).failure ?? '');
  }

  /** Returns what a person has edited before the step is paid. */
  async edited(reference: StepReference): Promise<JsonObject> {
    return (await ask(reference, { step: reference.step })).edited ?? {};
  }
}

async function pieceOf(run: OfRun, address: string, from: number): Promise<{ piece: JsonPiece }> {
  const { piece = { text: '', of: Infinity } } = await ask(run, { piece: { address, from } });
  return { piece };
}

function ask(run: OfRun, question: StepValuesQuestion): Promise<StepValuesAnswer> {
  return queryRun<StepValuesAnswer>(run, QUERIES.stepValues, question);
}

/** Identifies a value: ids are unique in one execution chain, and a reset begins another run id. */
function keyOf(run: OfRun, id: string): string {
  return `${runKey(run).chain} ${id}`;
}
