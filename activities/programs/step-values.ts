import { LRUCache } from 'lru-cache';
import type { JsonObject, JsonValue } from '../../src/core/domain/json/json.ts';
import { jsonBytes } from '../../src/core/domain/json/payload-limit.ts';
import { type OfRun, QUERIES, type StepValuesAnswer, type StepValuesQuestion } from '../../src/core/protocol.ts';
import { queryRun, runKey } from '../run-queries/access.ts';

/** The most bytes of values that a worker keeps for the steps of programs. */
const MAX_BYTES = 64_000_000;

/** The step of an activity, and the outputs that it refers to. */
export type StepReference = OfRun & { step: string; outputs?: Record<string, string> };

/**
 * Values of programs in the memory of this worker: inputs and outputs by id. It decides how a prompt is assembled, never
 * what it says: an output is found by the id that the workflow names.
 */
export class StepValuesCache {
  readonly #values = new LRUCache<string, { value: JsonValue }>({
    maxSize: MAX_BYTES,
    sizeCalculation: ({ value }) => jsonBytes(value) + 1,
  });

  /** Keeps an output that this worker has just produced. */
  add(run: OfRun, id: string, value: JsonValue): void {
    this.#values.set(keyOf(run, id), { value });
  }

  /** Returns the outputs that a step refers to, by address. Queries the run for those that this worker lacks. */
  async outputs(reference: StepReference): Promise<Map<string, JsonValue>> {
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
      const received = answer.outputs ?? {};
      for (const [address, id] of missing) {
        if (!Object.hasOwn(received, address)) continue;
        const value = received[address] ?? null;
        found.set(address, value);
        this.add(reference, id, value);
      }
      missing = missing.filter(([address]) => !found.has(address));
    }
    return found;
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

function ask(run: OfRun, question: StepValuesQuestion): Promise<StepValuesAnswer> {
  return queryRun<StepValuesAnswer>(run, QUERIES.stepValues, question);
}

/** Identifies a value: ids are unique in one execution chain, and a reset begins another run id. */
function keyOf(run: OfRun, id: string): string {
  return `${runKey(run).chain} ${id}`;
}
