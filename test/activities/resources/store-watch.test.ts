import { describe, expect, test } from 'vitest';
import { StoreWatch, type WorkerStores } from '../../../activities/resources/store-watch.ts';
import { LonghaulError } from '../../../src/core/domain/errors.ts';

/** A payload store that can be full, and what the watch of it has said and counted. */
function scene(): {
  store: NonNullable<WorkerStores['payloadStore']>;
  watch: StoreWatch;
  fail: (error: Error | undefined) => void;
  pass: (ms: number) => void;
  lines: string[];
  failed: string[];
} {
  const [lines, failed]: [string[], string[]] = [[], []];
  let error: Error | undefined;
  let now = 0;
  const work = async (): Promise<never[]> => {
    if (error !== undefined) throw error;
    return [];
  };
  const raw = { name: 'files', type: 'file', store: work, retrieve: async () => [], deleteRun: async () => undefined };
  const watch = new StoreWatch({ log: (line) => lines.push(line), failed: (name) => failed.push(name), now: () => now });
  const store = watch.watched({ payloadStore: raw }).payloadStore;
  if (store === undefined) throw new Error('there is no store');
  return { store, watch, lines, failed, fail: (next) => (error = next), pass: (ms) => (now += ms) };
}

const full = new Error('ENOSPC: no space left on device, write');

describe('a payload store that is full', () => {
  test('is told in a line a minute, and each failure counts', async () => {
    const { store, fail, pass, lines, failed } = scene();
    fail(full);
    for (let call = 0; call < 5; call += 1) await expect(store.store({}, [])).rejects.toBe(full);
    expect(lines).toEqual([
      'The payload store of this worker fails: "store" has failed: ENOSPC: no space left on device, write. Meanwhile results that it is to keep are cut, and files are missing',
    ]);
    expect(failed).toEqual(Array.from({ length: 5 }, () => 'payloadStore'));
    pass(60_000);
    await expect(store.store({}, [])).rejects.toBe(full);
    expect(lines[1]).toContain('write, and 4 more failures since the last line. Meanwhile');
  });

  test('has failed until it stores again: that it can be read says nothing', async () => {
    const { store, watch, fail } = scene();
    expect(watch.health()).toEqual({ payloadStore: { state: 'working' } });
    fail(full);
    await expect(store.store({}, [])).rejects.toBe(full);
    await store.retrieve({}, []);
    expect(watch.health()).toEqual({
      payloadStore: { state: 'failed', message: '"store" has failed: ENOSPC: no space left on device, write' },
    });
    fail(undefined);
    await store.store({}, []);
    expect(watch.health()).toEqual({ payloadStore: { state: 'working' } });
  });
});

test('content that is missing, and calls that are given up, are no failures of the store', async () => {
  const { store, watch, fail, failed } = scene();
  for (const error of [
    new LonghaulError('spilled_unavailable', 'it was removed'),
    Object.assign(new Error('cancelled'), { name: 'AbortError' }),
  ]) {
    fail(error);
    await expect(store.store({}, [])).rejects.toBe(error);
  }
  expect(failed).toEqual([]);
  expect(watch.health()).toEqual({ payloadStore: { state: 'working' } });
});

test('stores keep their other members, and a worker without stores has no health of them', () => {
  const { store } = scene();
  expect(store.name).toBe('files');
  const watch = new StoreWatch({ log: () => undefined, failed: () => undefined });
  expect(watch.watched({})).toEqual({});
  expect(watch.health()).toEqual({});
});
