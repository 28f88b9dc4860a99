import { describe, expect, it } from 'vitest';
import { inMemory } from '../../src/memory/file-memory.ts';
import { type Embed, withEmbedding } from '../../src/memory/search.ts';

/** Three meanings: food, travel, and anything else. */
const meaning: Embed = async (texts) =>
  texts.map((text) => [Number(/meal|soup|eat/i.test(text)), Number(/train|flight|travel/i.test(text)), 0.01]);

const N = 'n';

describe('a memory with embedding', () => {
  it('finds what means the same in other words', async () => {
    const memory = withEmbedding(inMemory(), meaning);
    await memory.remember({ namespace: N, key: 'food', value: 'soup' });
    await memory.remember({ namespace: N, key: 'trip', value: 'a train' });
    const [first] = await memory.recall({ namespace: N, text: 'how does she travel?' });
    expect(first).toMatchObject({ key: 'trip' });
    expect(first?.score).toBeLessThan(0.4);
  });

  it.each<[string, Embed, string]>([
    ['fails', () => Promise.reject(new Error('no quota')), 'no quota'],
    [
      'throws',
      () => {
        throw new Error('broken');
      },
      'broken',
    ],
    ['hangs', () => new Promise(() => {}), 'it has not answered in 20 ms'],
    ['returns nothing', async () => [], 'it returned no list of vectors'],
    ['returns no numbers', async () => [[NaN]], 'not a list of finite'],
  ])('works without vectors if the embedding %s, and says so', async (_, embed, says) => {
    const lines: string[] = [];
    const memory = withEmbedding(inMemory(), embed, { timeoutMs: 20, log: (line) => lines.push(line) });
    await memory.remember({ namespace: N, key: 'k', value: 'the secret soup' });
    expect(await memory.recall({ namespace: N, text: 'soup' })).toMatchObject([{ key: 'k', score: 0.4 }]);
    expect(lines).toEqual([
      expect.stringMatching(/^The memory: "embed" failed, so a value is stored without a vector: /),
      expect.stringMatching(/^The memory: "embed" failed, so a query only compares texts: /),
    ]);
    for (const line of lines) {
      expect(line).toContain(says);
      expect(line).not.toContain('secret');
    }
  });

  it('ignores the vectors of another model, and finds their texts', async () => {
    const store = inMemory();
    await withEmbedding(store, async () => [[1, 0]]).remember({ namespace: N, key: 'k', value: 'soup' });
    const memory = withEmbedding(store, meaning);
    expect(await memory.recall({ namespace: N, text: 'what to eat' })).toEqual([]);
    expect(await memory.recall({ namespace: N, text: 'soup' })).toHaveLength(1);
  });

  it('keeps the vectors that it is given', async () => {
    const memory = withEmbedding(inMemory(), () => Promise.reject(new Error('not asked')));
    await memory.remember({ namespace: N, key: 'k', value: 'soup', vector: [1, 0] });
    expect(await memory.recall({ namespace: N, text: 'meal', vector: [1, 0] })).toHaveLength(1);
  });

  it('forgets and lists as the store does', async () => {
    const memory = withEmbedding(inMemory(), meaning);
    await memory.remember({ namespace: N, key: 'k', value: 'soup' });
    expect((await memory.list({ namespace: N })).entries).toHaveLength(1);
    expect(await memory.forget({ namespace: N })).toBe(1);
  });
});
