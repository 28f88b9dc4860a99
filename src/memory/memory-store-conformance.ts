import assert from 'node:assert/strict';
import { defined, type JsonValue } from '../core/domain/json.ts';
import type { MemoryEntry, MemoryPage, MemorySource, MemoryStore, RecallQuery } from './memory-store.ts';

/** Cases of `remember`. */
const STORING_CASES: readonly ConformanceCase[] = [
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

/** Cases of `recall`. */
const RECALLING_CASES: readonly ConformanceCase[] = [
  {
    name: 'scores the key before the value, whatever their case',
    run: async (store) => {
      await put(store, 'note', 'about ALPHA');
      await put(store, 'Alpha', 'x');
      await put(store, 'the_alpha_two', 'y');
      await put(store, 'list', { items: ['Alphabet'] });
      await put(store, 'other', 1);
      await assertFound(store, { namespace: HOME, text: 'alphA' }, [
        ['Alpha', 1],
        ['the_alpha_two', 0.7],
        ['list', 0.4],
        ['note', 0.4],
      ]);
      await assertKeys(store, { namespace: HOME, text: 'beta' }, []);
    },
  },
  {
    name: 'returns the newer of equal entries first, as many as asked for',
    run: async (store) => {
      for (let index = 0; index < 7; index += 1) await put(store, `item_${index}`, 'x');
      await put(store, 'item_2', 'again');
      await assertKeys(store, { namespace: HOME, text: 'item' }, ['item_2', 'item_6', 'item_5', 'item_4', 'item_3']);
      await assertFound(store, { namespace: HOME, text: '', topK: 2 }, [
        ['item_2', 0.7],
        ['item_6', 0.7],
      ]);
      await assertKeys(store, { namespace: HOME, text: 'item', topK: 0 }, []);
      assert.equal((await store.recall({ namespace: HOME, text: 'item', topK: Infinity })).length, 7);
    },
  },
  {
    name: 'folds the case of letters beyond ASCII, and composes them',
    run: async (store) => {
      await put(store, 'ÜBERSICHT', 'Ελλάδα');
      await assertFound(store, { namespace: HOME, text: 'u\u0308bersicht' }, [['ÜBERSICHT', 1]]);
      await assertFound(store, { namespace: HOME, text: 'ΛΛΆΔ' }, [['ÜBERSICHT', 0.4]]);
    },
  },
  {
    name: 'finds entries by the words of a question, those with more of its rare words first, below 0.4',
    run: async (store) => {
      await put(store, 'food', 'Ada is the guest who prefers vegetarian meals');
      await put(store, 'seat', 'Ada is the passenger who likes the window');
      await put(store, 'phone', 'she calls from Berlin');
      const found = await store.recall({ namespace: HOME, text: 'Which MEALS does Ada like best: vegetarian, or with meat?' });
      assert.deepEqual(
        found.map(({ key }) => key),
        ['food', 'seat'],
      );
      for (const { score } of found) assert.ok(score > 0 && score < 0.4, `the score of words is ${score}, not between 0 and 0.4`);
      await assertKeys(store, { namespace: HOME, text: 'where is the nearest vegetarian passenger?', topK: 1 }, ['seat']);
    },
  },
  {
    name: 'takes hostile texts as words',
    run: async (store) => {
      await put(store, 'one', 'alpha');
      await put(store, 'two', 'beta');
      for (const text of [...HOSTILE, 'zeta "alpha '.repeat(9_000)]) {
        const keys = (await store.recall({ namespace: HOME, text })).map(({ key }) => key);
        const expected = /^[^a-z]*$|AND/i.test(text)
          ? []
          : /beta/.test(text)
            ? ['two', 'one']
            : /alpha|key|value/.test(text)
              ? ['one']
              : [];
        assert.deepEqual(keys, expected, `for the text ${JSON.stringify(text.slice(0, 40))}`);
      }
      for (const [index, text] of HOSTILE.entries()) await put(store, `h${index}`, text);
      for (const [index, text] of HOSTILE.entries()) {
        const keys = (await store.recall({ namespace: HOME, text, topK: 100 })).map(({ key }) => key);
        assert.ok(keys.includes(`h${index}`), `the text ${JSON.stringify(text)} is not found by itself`);
      }
    },
  },
  {
    name: 'ranks by meaning what does not contain the text, and by words too',
    run: async (store) => {
      const remember = async (key: string, value: string, vector: number[]): Promise<unknown> =>
        store.remember({ namespace: HOME, key, value, vector });
      await remember('far', 'one', [-1, 0, 0]);
      await remember('near', 'two', [0.9, 0.1, 0]);
      await remember('nearest', 'three', [1, 0, 0]);
      await remember('worded', 'the question', [0.9, 0.1, 0]);
      await remember('short', 'four', [1, 0]);
      await put(store, 'without', 'five');
      const found = await store.recall({ namespace: HOME, text: 'my question', vector: [2, 0, 0] });
      assert.deepEqual(
        found.map(({ key }) => key),
        ['nearest', 'worded', 'near'],
      );
      for (const { score } of found) assert.ok(score > 0 && score < 0.4, `the score of a meaning is ${score}, not between 0 and 0.4`);
      await assertFound(store, { namespace: HOME, text: 'Far', vector: [1, 0, 0], topK: 1 }, [['far', 1]]);
      await assertKeys(store, { namespace: HOME, text: 'zzz', vector: [1, 0, 0, 0] }, []);
    },
  },
  {
    name: 'takes a vector without a length for none, of an entry and of a query',
    run: async (store) => {
      await store.remember({ namespace: HOME, key: 'worded', value: 'the question', vector: [0, 0, 0] });
      await store.remember({ namespace: HOME, key: 'near', value: 'two', vector: [1, 0, 0] });
      await assertKeys(store, { namespace: HOME, text: 'my question', vector: [1, 0, 0] }, ['near', 'worded']);
      await assertKeys(store, { namespace: HOME, text: 'my question', vector: [0, 0, 0] }, ['worded']);
      await assertKeys(store, { namespace: HOME, text: 'two', vector: [0, -0, 0] }, ['near']);
    },
  },
  {
    name: 'compares vectors of very large and very small numbers',
    run: async (store) => {
      const vectors = [
        [3e38, 3e38],
        [1e-30, 1e-30],
        [1e-44, 1e-44],
        [5e-324, 5e-324],
      ];
      for (const [index, vector] of vectors.entries()) await store.remember({ namespace: HOME, key: `k${index}`, value: 'x', vector });
      await store.remember({ namespace: HOME, key: 'other', value: 'x', vector: [-3e38, 1e-44] });
      for (const vector of vectors) await assertKeys(store, { namespace: HOME, text: 'zzz', vector }, ['k3', 'k2', 'k1', 'k0']);
    },
  },
  {
    name: 'refuses vectors that are no finite numbers of 32 bits',
    run: async (store) => {
      for (const vector of [[], [1, NaN], [Infinity], [1, 4e38], [-1e300]]) {
        await assertRefused(() => store.remember({ namespace: HOME, key: 'k', value: 1, vector }), 'not a list of finite');
        await assertRefused(() => store.recall({ namespace: HOME, text: 'k', vector }), 'not a list of finite');
      }
      assert.deepEqual(await store.list({ namespace: HOME }), { entries: [] });
    },
  },
];

/** Cases of `forget` and `list`. */
const FORGETTING_CASES: readonly ConformanceCase[] = [
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
        store.remember({ namespace: HOME, key: 'k', value: 1, ...defined({ source }) });
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
    name: 'lists and forgets all namespaces that begin with a text, letter for letter, and no other',
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
      assert.deepEqual(await store.listNamespaces({ prefix }), mine.toSorted());
      assert.deepEqual([await store.forgetNamespaces({ prefix }), await store.forgetNamespaces({ prefix })], [4, 0]);
      assert.deepEqual(await store.listNamespaces({ prefix }), []);
      for (const namespace of mine) assert.deepEqual(await store.list({ namespace }), { entries: [] });
      for (const namespace of others) await assertKeys(store, { namespace, text: '' }, ['k']);
      await put(store, 'k', 1, '%_"a');
      assert.deepEqual([await store.forgetNamespaces({ prefix: '%' }), await store.forgetNamespaces({ prefix: '_' })], [1, 0]);
      await assertRefused(() => store.forgetNamespaces({ prefix: '' }), 'is empty');
      await assertRefused(() => store.listNamespaces({ prefix: '' }), 'is empty');
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

/**
 * The behaviors that every store of memory has. Each case needs an empty store, and works with any test runner:
 * `for (const { name, run } of memoryStoreConformance) test(name, () => run(myStore()))`.
 */
export const memoryStoreConformance: readonly ConformanceCase[] = [...STORING_CASES, ...RECALLING_CASES, ...FORGETTING_CASES];

async function restOf(store: MemoryStore, { next }: MemoryPage, limit = 2): Promise<MemoryPage[]> {
  if (next === undefined) return [];
  const page = await store.list({ namespace: HOME, cursor: next, limit });
  return [page, ...(await restOf(store, page, limit))];
}

/** Texts that a search must take as words, never as a query of its own language. */
const HOSTILE = [
  '"',
  '""" OR 1',
  "' OR '1'='1",
  'alpha" OR key:*',
  'alpha NEAR(beta, 2)',
  'AND OR NOT NEAR',
  '* alpha*',
  '^alpha',
  '{key} : alpha',
  'value:alpha + - & | ! ( ) <->',
  '-alpha',
  '%_\\',
  '\u0000alpha\u0000',
  '\ud800',
  '😀 ﷽ \u202e ａ ٣ 字',
  ':*',
  '$1 ?1 @a',
  '(((((((((((((((((((((',
];

/** One behavior that every store of memory has. */
export interface ConformanceCase {
  /** The behavior in a sentence without a subject: "returns a value that it was given". */
  name: string;
  /** Rejects with an AssertionError if the store, which must be empty, behaves differently. */
  run(store: MemoryStore): Promise<void>;
}

/** The namespace of cases that need one alone. */
const HOME = '["acme","ada",null,"notes"]';

/** Stores a value in the namespace of the cases, or in another. */
async function put(store: MemoryStore, key: string, value: JsonValue, namespace: string = HOME): Promise<void> {
  await store.remember({ namespace, key, value });
}

/** Asserts the keys and scores that a query finds. */
async function assertFound(store: MemoryStore, query: RecallQuery, expected: readonly (readonly [string, number])[]): Promise<void> {
  const found = await store.recall(query);
  assert.deepEqual(
    found.map(({ key, score }) => [key, score]),
    expected,
  );
}

/** Asserts the keys that a query finds. */
async function assertKeys(store: MemoryStore, query: RecallQuery, expected: readonly string[]): Promise<void> {
  const found = await store.recall(query);
  assert.deepEqual(
    found.map(({ key }) => key),
    expected,
  );
}

/** Asserts that a use of the store is refused with a message that contains a text. */
async function assertRefused(use: () => Promise<unknown>, says: string): Promise<void> {
  await assert.rejects(use, (error: unknown) => {
    const message = error instanceof Error ? error.message : String(error);
    assert.ok(message.includes(says), `The store refused it with "${message}", which does not say "${says}"`);
    return true;
  });
}
