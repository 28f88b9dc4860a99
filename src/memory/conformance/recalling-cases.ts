import assert from 'node:assert/strict';
import { assertFound, assertKeys, assertRefused, type ConformanceCase, HOME, put } from './conformance-case.ts';

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

/** Cases of `recall`. */
export const RECALLING_CASES: readonly ConformanceCase[] = [
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
        await assertRefused(() => store.remember({ namespace: HOME, key: 'k', value: 1, vector }), 'no list of finite numbers');
        await assertRefused(() => store.recall({ namespace: HOME, text: 'k', vector }), 'no list of finite numbers');
      }
      assert.deepEqual(await store.list({ namespace: HOME }), { entries: [] });
    },
  },
];
