import assert from 'node:assert/strict';
import type { JsonValue } from '../../core/domain/json.ts';
import type { MemoryStore, RecallQuery } from '../memory-store.ts';

/** One behaviour that every store of memory has. */
export interface ConformanceCase {
  /** The behaviour in a sentence without a subject: "returns a value that it was given". */
  name: string;
  /** Rejects with an AssertionError if the store, which must be empty, behaves differently. */
  run(store: MemoryStore): Promise<void>;
}

/** The namespace of cases that need one alone. */
export const HOME = '["acme","ada",null,"notes"]';

/** Stores a value in the namespace of the cases, or in another. */
export async function put(store: MemoryStore, key: string, value: JsonValue, namespace: string = HOME): Promise<void> {
  await store.remember({ namespace, key, value });
}

/** Asserts the keys and scores that a query finds. */
export async function assertFound(store: MemoryStore, query: RecallQuery, expected: readonly (readonly [string, number])[]): Promise<void> {
  const found = await store.recall(query);
  assert.deepEqual(
    found.map(({ key, score }) => [key, score]),
    expected,
  );
}

/** Asserts the keys that a query finds. */
export async function assertKeys(store: MemoryStore, query: RecallQuery, expected: readonly string[]): Promise<void> {
  const found = await store.recall(query);
  assert.deepEqual(
    found.map(({ key }) => key),
    expected,
  );
}

/** Asserts that a use of the store is refused with a message that contains a text. */
export async function assertRefused(use: () => Promise<unknown>, says: string): Promise<void> {
  await assert.rejects(use, (error: unknown) => {
    const message = error instanceof Error ? error.message : String(error);
    assert.ok(message.includes(says), `The store refused it with "${message}", which does not say "${says}"`);
    return true;
  });
}
