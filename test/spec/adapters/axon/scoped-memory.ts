import type { JsonObject, JsonValue } from '../../../../src/core/domain/json.ts';
import { inMemory } from '../../../../src/memory/file-memory.ts';
import type { FoundEntry } from '../../../../src/memory/memory-store.ts';
import { CONTAINED_SCORE } from '../../../../src/memory/search.ts';

/**
 * A memory with scopes as the cases have it: without a scope, a query searches all of them, and everything is cleared. No store does that:
 * a scope is a namespace, and each of them is searched.
 */
export class ScopedMemory {
  readonly #memory = inMemory();
  /** The scopes and keys of all values, the oldest first. */
  readonly #stored = new Set<string>();

  async store(key: string, value: JsonValue, metadata: JsonObject): Promise<string> {
    const scope = typeof metadata['scope'] === 'string' ? metadata['scope'] : '';
    const entry = await this.#memory.remember({ namespace: scope, key, value, metadata });
    this.#stored.delete(place(scope, key));
    this.#stored.add(place(scope, key));
    return entry.key;
  }

  /** Returns the entries that contain the query: as in a program, whose steps leave out those that only share words with it. */
  async retrieve(text: string, topK = 5, scope?: string): Promise<FoundEntry[]> {
    return (await this.#all(text, scope)).filter(({ score }) => score >= CONTAINED_SCORE).slice(0, Math.max(0, topK));
  }

  async clear(scope?: string): Promise<number> {
    let removed = 0;
    for (const namespace of this.#scopes(scope)) removed += await this.#memory.forget({ namespace });
    return removed;
  }

  async count(): Promise<number> {
    return (await this.#all('')).length;
  }

  async #all(text: string, scope?: string): Promise<FoundEntry[]> {
    const order = [...this.#stored];
    const found: { entry: FoundEntry; age: number }[] = [];
    for (const namespace of this.#scopes(scope)) {
      const entries = await this.#memory.recall({ namespace, text, topK: Infinity });
      found.push(...entries.map((entry) => ({ entry, age: order.indexOf(place(namespace, entry.key)) })));
    }
    return found.toSorted((one, other) => other.entry.score - one.entry.score || other.age - one.age).map(({ entry }) => entry);
  }

  #scopes(scope: string | undefined): string[] {
    if (scope !== undefined) return [scope];
    return [...new Set([...this.#stored].map((one) => (JSON.parse(one) as [string, string])[0]))];
  }
}

function place(scope: string, key: string): string {
  return JSON.stringify([scope, key]);
}
