import assert from 'node:assert/strict';
import { assertKeys, assertRefused, type ConformanceCase, HOME, put } from './conformance-case.ts';

/** Cases of `remember`. */
export const STORING_CASES: readonly ConformanceCase[] = [
  {
    name: 'returns a value that it was given, with its metadata, source and time',
    run: async (store) => {
      const before = Date.now() / 1_000;
      const given = {
        key: 'contract',
        value: { kind: 'NDA', pages: [1, null] },
        metadata: { by: 'Read' },
        source: { runId: 'r', offset: 3 },
      };
      const entry = await store.remember({ namespace: HOME, ...given });
      assert.deepEqual({ ...entry, timestamp: 0 }, { ...given, timestamp: 0 });
      assert.ok(Math.abs(entry.timestamp - before) < 60, `the timestamp ${entry.timestamp} is not in seconds since the epoch`);
      assert.deepEqual(await store.recall({ namespace: HOME, text: 'contract' }), [{ ...entry, score: 1 }]);
      assert.deepEqual(await store.list({ namespace: HOME }), { entries: [entry] });
    },
  },
  {
    name: 'replaces the value of a key, also when a call is repeated',
    run: async (store) => {
      await put(store, 'k', 'old');
      await put(store, 'k', 'new');
      await put(store, 'k', 'new');
      const entries = await store.recall({ namespace: HOME, text: '', topK: 10 });
      assert.deepEqual(
        entries.map(({ value }) => value),
        ['new'],
      );
      await assertKeys(store, { namespace: HOME, text: 'old' }, []);
    },
  },
  {
    name: 'keeps each namespace apart, whatever its name',
    run: async (store) => {
      const names = [HOME, 'a', 'A', 'a%', 'a_', "'; DROP TABLE entries; --", '', 'é', '😀'];
      for (const name of names) await put(store, 'k', `of ${name}`, name);
      for (const name of names) {
        const entries = await store.recall({ namespace: name, text: 'k', topK: 100 });
        assert.deepEqual(
          entries.map(({ value }) => value),
          [`of ${name}`],
        );
      }
      await assertKeys(store, { namespace: 'b', text: 'k' }, []);
    },
  },
  {
    name: 'keeps each key apart, whatever its characters',
    run: async (store) => {
      const keys = ['Key', 'key', 'key ', '__proto__', 'constructor', 'a/b', 'a%b', 'ü', 'u\u0308', '😀', '\n'];
      for (const [index, key] of keys.entries()) await put(store, key, index);
      const { entries } = await store.list({ namespace: HOME });
      assert.deepEqual(new Map(entries.map(({ key, value }) => [key, value])), new Map(keys.map((key, index) => [key, index])));
    },
  },
  {
    name: 'returns every JSON value as it was',
    run: async (store) => {
      const values = [null, true, 0, -1.5e300, '', 'null', '\u0000 \ud800 \u2028', [], {}, JSON.parse('{"__proto__":{"a":1}}') as never];
      for (const value of values) {
        await put(store, 'k', value);
        const [found] = await store.recall({ namespace: HOME, text: 'k' });
        assert.equal(JSON.stringify(found?.value), JSON.stringify(value));
      }
    },
  },
  {
    name: 'keeps values apart from what the caller changes later',
    run: async (store) => {
      const value = { list: [1] };
      const stored = await store.remember({ namespace: HOME, key: 'k', value });
      value.list.push(2);
      (stored.value as typeof value).list.push(3);
      for (const found of await store.recall({ namespace: HOME, text: 'k' })) (found.value as typeof value).list.push(4);
      assert.deepEqual((await store.recall({ namespace: HOME, text: 'k' }))[0]?.value, { list: [1] });
    },
  },
  {
    name: 'loses nothing that is stored at once',
    run: async (store) => {
      await Promise.all(Array.from({ length: 20 }, (_, index) => put(store, `k${index}`, index)));
      await Promise.all(Array.from({ length: 10 }, () => put(store, 'same', 'x')));
      assert.equal((await store.recall({ namespace: HOME, text: '', topK: 100 })).length, 21);
    },
  },
  {
    name: 'takes keys of 200 characters and values of 64,000 bytes, and refuses larger ones with the numbers',
    run: async (store) => {
      await put(store, '😀'.repeat(200), 'x'.repeat(63_998));
      await assertRefused(() => put(store, 'k'.repeat(201), 1), '201 characters, over 200');
      await assertRefused(() => put(store, 'k', 'ü'.repeat(32_000)), '64002 bytes of JSON, over 64000');
      await assertRefused(() => put(store, '', 1), 'Memory key must not be empty');
      await assertRefused(() => put(store, 'a\0b', 1), 'zero character');
      await assertRefused(() => put(store, 'a\ud800', 1), 'half of a character');
      assert.equal((await store.recall({ namespace: HOME, text: '', topK: 100 })).length, 1);
    },
  },
];
