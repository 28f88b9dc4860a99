import fs, { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { newEvent, type RunRecord } from '../../src/core/domain/record.ts';
import { type ArchiveBatch, type ArchiveSink, fileArchive } from '../../src/stores/file-archive.ts';
import type { StoredRun } from '../../src/stores/payload-store.ts';

/** The number of files and folders that are removed before the process is killed. */
const removals = { left: Infinity };

/** Called before a file is written, which waits for it. */
const writes = { before: (): Promise<void> => Promise.resolve() };

/** Node's own functions, which these tests replace and give back. */
const own = { open: fs.open, rm: fs.rm };

/** Removes a folder file by file, in the least convenient order: the order of the real one is unknown. */
async function removeOneByOne(target: string): Promise<void> {
  const names = (await stat(target).catch(() => undefined))?.isDirectory() ? await readdir(target) : [];
  for (const name of names.toSorted().toReversed()) await removeOneByOne(path.join(target, name));
  if (removals.left === 0) throw new Error('killed');
  removals.left -= 1;
  await own.rm(target, { recursive: true, force: true });
}

async function openLate(...args: Parameters<typeof fs.open>): ReturnType<typeof fs.open> {
  await writes.before();
  return own.open(...args);
}

/** Replaces functions for everything in this process that imports them. A mocked module does not reach what other files have loaded. */
function replaceInNode(functions: Partial<typeof fs>): void {
  Object.assign(fs, functions);
  syncBuiltinESMExports();
}

beforeAll(() => replaceInNode({ open: openLate, rm: removeOneByOne as typeof fs.rm }));
afterAll(() => replaceInNode(own));

const run: StoredRun = { namespace: 'default', runId: 'clerk-1' };

let directory: string;
let archive: ArchiveSink;
beforeEach(async () => {
  directory = await mkdtemp(path.join(tmpdir(), 'longhaul-archive-'));
  archive = fileArchive({ directory });
});
afterEach(async () => {
  removals.left = Infinity;
  await rm(directory, { recursive: true });
});

function records(from: number, through: number): RunRecord[] {
  return Array.from({ length: through - from }, (_, place): RunRecord => {
    const offset = from + place;
    return { type: 'event', offset, ...newEvent({ id: `e${offset}`, now: 0 }, run.runId, 'x') };
  });
}

function append(from: number, through: number, of: StoredRun = run, principal?: ArchiveBatch['principal']): Promise<void> {
  return archive.append({ run: of, ...(principal && { principal }), from, through, records: records(from, through) });
}

test('a batch that is still being written when the next one is stored does not remove it', async () => {
  await append(0, 2);
  const [begun, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  writes.before = async () => {
    writes.before = () => Promise.resolve();
    begun.resolve();
    await released.promise;
  };
  const late = append(0, 4);
  await begun.promise;
  await append(4, 6);
  released.resolve();
  await late;
  expect(await Array.fromAsync(archive.read(run))).toEqual(records(0, 6));
});

test.each([0, 1, 2])(
  'a removal that is killed after %i files is finished by whoever repeats it: the principal still leads to the run',
  async (left) => {
    const ada = { namespace: 'default', user: 'ada' };
    await append(0, 4, run, { user: 'ada' });
    await append(4, 8, run, { user: 'ada' });
    removals.left = left;
    await expect(archive.deleteRun(run)).rejects.toThrow('killed');
    removals.left = Infinity;
    expect(await archive.runsOf(ada)).toEqual([run.runId]);
    for (const runId of await archive.runsOf(ada)) await archive.deleteRun({ ...run, runId });
    expect([await archive.runsOf(ada), await Array.fromAsync(archive.read(run))]).toEqual([[], []]);
  },
);

test.each([0, 1, 2])(
  'nothing of an earlier principal is taken over if the change of the principal is killed after %i files',
  async (left) => {
    await append(0, 4, run, { user: 'ada' });
    await append(4, 8, run, { user: 'ada' });
    removals.left = left;
    await append(0, 2, run, { user: 'eve' }).catch(() => undefined);
    removals.left = Infinity;
    await append(0, 2, run, { user: 'eve' });
    expect(await Array.fromAsync(archive.read(run))).toEqual(records(0, 2));
  },
);
