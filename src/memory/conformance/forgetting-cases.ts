import assert from 'node:assert/strict';
import type { MemoryPage, MemoryStore } from '../memory-store.ts';
import { assertKeys, assertRefused, type ConformanceCase, HOME, put } from './conformance-case.ts';

/** Cases of `forget` and `list`. */
export const FORGETTING_CASES: readonly ConformanceCase[] = [
  {
    name: 'forgets one entry, a namespace or everything, as often as asked, and counts',
    run: async (store) => {
      for (const namespace of [HOME, 'b', 'c']) for (const key of ['k', 'l']) await put(store, key, `of ${namespace}`, namespace);
      assert.deepEqual([await store.forget({ namespace: HOME, key: 'k' }), await store.forget({ namespace: HOME, key: 'k' })], [1, 0]);
      await assertKeys(store, { namespace: HOME, text: '' }, ['l']);
      await assertKeys(store, { text: 'of', topK: 100 }, ['l', 'k', 'l', 'k', 'l']);
      assert.deepEqual([await store.forget({ namespace: 'b' }), await store.forget({ namespace: 'b' })], [2, 0]);
      assert.deepEqual([await store.forget({ namespace: 'never' }), await store.forget({ namespace: 'never', key: 'k' })], [0, 0]);
      assert.deepEqual([await store.forget({}), await store.forget({})], [3, 0]);
      await assertKeys(store, { text: '', topK: 100 }, []);
      await put(store, 'k', 'again');
      await assertKeys(store, { namespace: HOME, text: 'again' }, ['k']);
    },
  },
  {
    name: 'refuses to forget a key of no namespace',
    run: async (store) => {
      await put(store, 'k', 1);
      await assertRefused(() => store.forget({ key: 'k' }), 'no namespace');
      await assertKeys(store, { text: 'k' }, ['k']);
    },
  },
  {
    name: 'forgets all namespaces that begin with a text, letter for letter, and no other',
    run: async (store) => {
      const mine = ['["acme","ada",null,null,"notes"]', '["acme","ada","clerk",null,null]', '["acme","ada",'];
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
      assert.equal((await store.recall({ text: '', topK: 100 })).length, others.length);
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
