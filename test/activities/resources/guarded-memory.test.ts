import { describe, expect, it } from 'vitest';
import { guardedMemory } from '../../../activities/resources/guarded-stores.ts';
import { inMemory } from '../../../src/memory/file-memory.ts';
import type { MemoryStore, NewEntry } from '../../../src/memory/memory-store.ts';

const namespace = 'n';
const late: NewEntry = { namespace, key: 'size', value: 'late', source: { runId: 'r', offset: 3 } };

/** A memory, with what a run has begun to write, and the undoing of it. */
interface LateWrite {
  memory: MemoryStore;
  undo: (isGone?: boolean) => Promise<unknown>;
}

/** Writes an entry for a run. What happens meanwhile does so before the store has it. */
async function writeLate(memory: MemoryStore, meanwhile: () => Promise<unknown> = async () => undefined): Promise<LateWrite> {
  let undo: (isGone: boolean) => Promise<unknown> = async () => undefined;
  const slow: MemoryStore = {
    ...memory,
    remember: async (entry) => {
      await meanwhile();
      return memory.remember(entry);
    },
  };
  const guarded = guardedMemory(slow, (work) => {
    undo = work.undo;
    return work.write();
  });
  await guarded.remember(late).catch(() => undefined);
  return { memory, undo: (isGone = true) => undo(isGone) };
}

async function valuesIn(memory: MemoryStore): Promise<unknown[]> {
  return (await memory.list({ namespace })).entries.map(({ value }) => value);
}

describe('an entry that was written late, once the run is gone', () => {
  it('is removed if the user was forgotten meanwhile', async () => {
    const memory = inMemory();
    await memory.remember({ namespace, key: 'old', value: 'old' });
    const { undo } = await writeLate(memory, () => memory.forgetNamespaces({ prefix: 'n' }));
    await undo();
    expect(await valuesIn(memory)).toEqual([]);
    const empty = await writeLate(inMemory());
    await empty.undo();
    expect(await valuesIn(empty.memory)).toEqual([]);
  });

  it('stays if only the run was deleted: the memory still has an earlier entry', async () => {
    const memory = inMemory();
    await memory.remember({ namespace, key: 'old', value: 'old' });
    const { undo } = await writeLate(memory);
    await undo();
    expect(await valuesIn(memory)).toEqual(['old', 'late']);
  });

  it('is removed although others were written late with it', async () => {
    const memory = inMemory();
    await memory.remember({ namespace, key: 'old', value: 'old' });
    let release = (): void => undefined;
    const forgotten = new Promise<void>((resolve) => (release = resolve));
    const writes = [writeLate(memory, () => forgotten), writeLate(memory, () => forgotten)];
    await new Promise((resolve) => setTimeout(resolve, 5));
    await memory.forgetNamespaces({ prefix: 'n' });
    release();
    for (const { undo } of await Promise.all(writes)) await undo();
    expect(await valuesIn(memory)).toEqual([]);
  });

  it('is not removed if another run has stored an entry of the same key since', async () => {
    const memory = inMemory();
    const { undo } = await writeLate(memory);
    await memory.remember({ ...late, value: 'of a later run', source: { runId: 'later', offset: 3 } });
    await undo();
    expect(await valuesIn(memory)).toEqual(['of a later run']);
    // A newer run of the same id, at the same place of its record.
    const again = await writeLate(memory);
    await new Promise((resolve) => setTimeout(resolve, 5));
    await memory.remember({ ...late, value: 'of a newer run' });
    await again.undo(false);
    expect(await valuesIn(memory)).toEqual(['of a newer run']);
  });

  it('is removed if the write failed after it had stored the entry, unless a newer run has the id', async () => {
    for (const isGone of [true, false]) {
      const memory = inMemory();
      const broken: MemoryStore = {
        ...memory,
        remember: async (entry) => {
          await memory.remember(entry);
          throw new Error('the answer was lost');
        },
      };
      const { undo } = await writeLate(broken);
      await undo(isGone);
      expect(await valuesIn(memory)).toEqual(isGone ? [] : ['late']);
    }
  });

  it('is written also if the memory cannot be read before', async () => {
    const memory = inMemory();
    const { undo } = await writeLate({ ...memory, list: () => Promise.reject(new Error('no connection')) });
    expect(await valuesIn(memory)).toEqual(['late']);
    await undo();
    expect(await valuesIn(memory)).toEqual([]);
  });
});
