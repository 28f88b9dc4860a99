import { type ErrorCode, errorCode, errorMessage, LonghaulError } from '../core/domain/errors.ts';

/** The code of a failure of each store, and the name of the store in sentences. */
const STORES = {
  payloadStore: { code: 'payload_store_failed', name: 'payload store' },
  archive: { code: 'archive_failed', name: 'archive' },
  memory: { code: 'memory_failed', name: 'memory' },
} as const satisfies Record<string, { code: ErrorCode; name: string }>;

type StoreName = keyof typeof STORES;

/**
 * Does a client's work in a store, which may be written by the user and throw anything: an error without a code gets the code of the store.
 * `failed` is the beginning of its message, such as "The archive of run "r" was not removed".
 */
export async function inStore<Value>(store: StoreName, failed: string, work: () => Promise<Value>): Promise<Value> {
  try {
    return await work();
  } catch (error) {
    throw storeFailure(store, failed, error);
  }
}

/** Yields what a store yields, with the same errors as `inStore`. */
export async function* readFromStore<Item>(store: StoreName, failed: string, items: AsyncIterable<Item>): AsyncGenerator<Item> {
  const reading = items[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next = await inStore(store, failed, () => reading.next());
      if (next.done) return;
      yield next.value;
    }
  } finally {
    await reading.return?.();
  }
}

function storeFailure(store: StoreName, failed: string, error: unknown): unknown {
  if (errorCode(error) !== undefined) return error;
  const { code, name } = STORES[store];
  return new LonghaulError(code, `${failed}: ${errorMessage(error)}. Try again once the ${name} can be reached`, { cause: error });
}
