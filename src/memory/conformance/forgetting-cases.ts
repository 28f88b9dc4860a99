import assert from 'node:assert/strict';
import type { MemoryEntry, MemoryPage, MemorySource, MemoryStore } from '../memory-store.ts';
import { assertKeys, assertRefused, type ConformanceCase, HOME, put } from './conformance-case.ts';

/** Cases of `forget` and `list`. */
export const FORGETTING_CASES: readonly ConformanceCase[] = [
  {
    name: 'forgets one entry or a namespace, as often as asked, and counts',
    run: async (store) => {
      for (const namespace of [HOME, 'b', 'c']) for (const key of ['k', 'l']) await put(store, key, `of ${namespace}`, namespace);
      assert.deepEqual([await store.forget({ namespace: HOME, key: 'k' }), await store.forget({ namespace: HOME, key: 'k' })], [1, 0]);
      await assertKeys(store, { namespace: HOME, text: '' }, ['l']);
      assert.deepEqual([await store.forget({ namespace: 'b' }), await store.forget({ namespace: 'b' })], [2, 0]);
      assert.deepEqual([await store.forget({ namespace: 'never' }), await store.forget({ namespace: 'never', key: 'k' })], [0, 0]);
      await assertKeys(store, { namespace: 'c', text: '' }, ['l', 'k']);
      await put(store, 'k', 'again');
      await assertKeys(store, { namespace: HOME, text: 'again' }, ['k']);
    },
  },
  {
    name: 'refuses to forget, recall, list or remember without a namespace',
    run: async (store) => {
      await put(store, 'k', 1);
      const without = { key: 'k', value: 1, text: 'k' } as { namespace: string; key: string; value: number; text: string };
      for (const use of [
        () => store.forget({} as { namespace: string }),
        () => store.forget(without),
        () => store.recall(without),
        () => store.list({} as { namespace: string }),
        () => store.remember(without),
      ]) {
        await assertRefused(use, 'namespace of a memory is missing');
      }
      await assertKeys(store, { namespace: HOME, text: 'k' }, ['k']);
    },
  },
  {
    name: 'forgets an entry only if it has the source and the time that are given',
    run: async (store) => {
      const remember = (source?: MemorySource): Promise<MemoryEntry> =>
        store.remember({ namespace: HOME, key: 'k', value: 1, ...(source === undefined ? {} : { source }) });
      const forgotten = (what: { source?: MemorySource; timestamp?: number }): Promise<number> =>
        store.forget({ namespace: HOME, key: 'k', ...what });
      const { timestamp } = await remember({ runId: 'r', offset: 3 });
      for (const source of [{ runId: 'r' }, { runId: 'r', offset: 4 }, { runId: 's', offset: 3 }])
        assert.equal(await forgotten({ source }), 0);
      assert.equal(await forgotten({ source: { runId: 'r', offset: 3 }, timestamp: timestamp + 1 }), 0);
      // The order of the members does not matter.
      assert.equal(await forgotten({ source: { offset: 3, runId: 'r' }, timestamp }), 1);
      await remember({ runId: 'r' });
      assert.deepEqual([await forgotten({ source: { runId: 'r', offset: 3 } }), await forgotten({ source: { runId: 'r' } })], [0, 1]);
      await remember();
      assert.equal(await forgotten({ source: { runId: 'r' } }), 0);
      await put(store, 'other', 2);
      assert.equal(await store.forget({ namespace: HOME, source: { runId: 'r' } }), 0);
      await assertKeys(store, { namespace: HOME, text: '' }, ['other', 'k']);
    },
  },
  {
    name: 'forgets all namespaces that begin with a text, letter for letter, and no other',
    run: async (store) => {
      const mine = ['["acme","ada",null,"notes"]', '["acme","ada","clerk",null]', '["acme","ada",'];
      const others = [
        '["acme","ada2",null]',
        '["acme","Ada","clerk"]',
        '["acmeX"ada","clerk"]',
        '[null,"ada","clerk"]',
        'x["acme","ada",',
        '',
      ];
      for (const namespace of [...mine, ...others]) await put(store, 'k', `of ${namespace}`, namespace);
      await put(store, 'l', 'more');
      const prefix = '["acme","ada",';
      assert.deepEqual([await store.forgetNamespaces({ prefix }), await store.forgetNamespaces({ prefix })], [4, 0]);
      for (const namespace of mine) assert.deepEqual(await store.list({ namespace }), { entries: [] });
      for (const namespace of others) await assertKeys(store, { namespace, text: '' }, ['k']);
      await put(store, 'k', 1, '%_"a');
      assert.deepEqual([await store.forgetNamespaces({ prefix: '%' }), await store.forgetNamespaces({ prefix: '_' })], [1, 0]);
      await assertRefused(() => store.forgetNamespaces({ prefix: '' }), 'is empty');
    },
  },
  {
    name: 'finds nothing of a forgotten entry, by its words or its meaning',
    run: async (store) => {
      await store.remember({ namespace: HOME, key: 'k', value: 'a unique word', vector: [1, 0] });
      await store.forget({ namespace: HOME, key: 'k' });
      await assertKeys(store, { namespace: HOME, text: 'which unique words?', vector: [1, 0] }, []);
      assert.deepEqual(await store.list({ namespace: HOME }), { entries: [] });
    },
  },
  {
    name: 'lists a namespace by key, in pages that entries of meanwhile do not disturb',
    run: async (store) => {
      for (const key of ['b', 'a', 'd', 'c', 'ä', '😀', 'B']) await put(store, key, key);
      await put(store, 'a', 1, 'other');
      const first = await store.list({ namespace: HOME, limit: 2 });
      await put(store, 'A', 'before the cursor');
      await store.forget({ namespace: HOME, key: 'b' });
      const pages = [first, ...(await restOf(store, first))];
      assert.deepEqual(
        pages.map(({ entries }) => entries.map(({ key }) => key)),
        [
          ['B', 'a'],
          ['c', 'd'],
          ['ä', '😀'],
        ],
      );
    },
  },
  {
    name: 'lists at most 100 entries at once, and refuses other limits and texts that are no cursor',
    run: async (store) => {
      await Promise.all(Array.from({ length: 101 }, (_, index) => put(store, `k${index}`, index)));
      const first = await store.list({ namespace: HOME });
      const [second] = await restOf(store, first, 100);
      assert.deepEqual([first.entries.length, second?.entries.length, second?.next], [100, 1, undefined]);
      for (const limit of [0, 101, 1.5, NaN]) await assertRefused(() => store.list({ namespace: HOME, limit }), '1 to 100');
      for (const cursor of ['', '?', 'k1 ']) await assertRefused(() => store.list({ namespace: HOME, cursor }), 'no cursor');
    },
  },
];

async function restOf(store: MemoryStore, { next }: MemoryPage, limit = 2): Promise<MemoryPage[]> {
  if (next === undefined) return [];
  const page = await store.list({ namespace: HOME, cursor: next, limit });
  return [page, ...(await restOf(store, page, limit))];
}
