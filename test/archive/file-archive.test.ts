import fs, { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type ArchiveBatch, type ArchiveSink, fileArchive } from '../../src/stores/file-archive.ts';
import { UsageError } from '../../src/core/domain/errors.ts';
import { newEvent, type RunRecord } from '../../src/core/domain/record.ts';
import { newStep } from '../../src/core/domain/tool-calls.ts';
import type { StoredRun } from '../../src/stores/payload-store.ts';

const run: StoredRun = { namespace: 'default', runId: 'clerk-1' };

let directory: string;
let archive: ArchiveSink;
beforeEach(async () => {
  directory = await mkdtemp(path.join(tmpdir(), 'longhaul-archive-'));
  archive = fileArchive({ directory });
});
afterEach(() => rm(directory, { recursive: true }));

/** This many events, with a step after every second one. */
function records(from: number, through: number, said = 'x'): RunRecord[] {
  return Array.from({ length: through - from }, (_, place) => from + place).flatMap((offset): RunRecord[] => {
    const event: RunRecord = { type: 'event', offset, ...newEvent({ id: `${said}${offset}`, now: 0 }, run.runId, said) };
    return offset % 2 === 0 ? [event] : [event, { type: 'step', index: (offset - 1) / 2, ...newStep((offset + 1) / 2) }];
  });
}

async function append(from: number, through: number, of: StoredRun = run, principal?: ArchiveBatch['principal']): Promise<void> {
  await archive.append({ run: of, ...(principal && { principal }), from, through, records: records(from, through) });
}

async function files(): Promise<string[]> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile() && entry.name !== 'principal.json')
    .map((entry) => path.join(entry.parentPath, entry.name));
}

test('appended events are read in order, from a file of JSON Lines for each batch', async () => {
  await append(0, 4);
  await append(4, 1_200);
  expect(await Array.fromAsync(archive.read(run))).toEqual(records(0, 1_200));
  const text = (await Promise.all((await files()).toSorted().map((file) => readFile(file, 'utf8')))).join('');
  expect(
    text
      .trimEnd()
      .split('\n')
      .map((line): unknown => JSON.parse(line)),
  ).toEqual(records(0, 1_200));
});

test('a repeated batch replaces itself, and a partial file after a crash is ignored', async () => {
  await append(0, 4);
  const [file = ''] = await files();
  await writeFile(`${file}.0d4c.draft`, '{"type":"ev');
  await append(0, 4);
  await append(4, 6);
  expect(await Array.fromAsync(archive.read(run))).toEqual(records(0, 6));
});

test('texts with any separators of lines, in records longer than what is read at once, are read as they were written', async () => {
  const texts = ['one\u2028two\u2029three\u0085four\r\nfive\rsix', `${'ä😀'.repeat(100_000)}\u2028`];
  const said = texts.flatMap((text, offset) => records(offset, offset + 1, text).filter(({ type }) => type === 'event'));
  await archive.append({ run, from: 0, through: 2, records: said });
  expect(await Array.fromAsync(archive.read(run))).toEqual(said);
});

test('a batch that begins in an earlier one replaces what was stored from its first event on', async () => {
  await append(0, 6);
  const later = records(4, 10, 'y');
  await archive.append({ run, from: 4, through: 10, records: later });
  expect(await Array.fromAsync(archive.read(run))).toEqual([...records(0, 4), ...later]);
});

test.each([
  ['started again under its id', 0],
  ['reset to an earlier execution', 4],
])('a run that was %s keeps no event of its earlier record after its own', async (_, from) => {
  for (const begun of [0, 4, 8]) await append(begun, begun + 4);
  const now = records(from, from + 2, 'now');
  await archive.append({ run, from, through: from + 2, records: now });
  expect(await Array.fromAsync(archive.read(run))).toEqual([...records(0, from), ...now]);
});

test('a batch that is repeated late, after the next one was stored, removes nothing of it and of a longer one', async () => {
  await append(0, 4);
  await append(4, 6);
  await append(0, 4);
  await append(0, 2);
  expect(await Array.fromAsync(archive.read(run))).toEqual(records(0, 6));
});

test('runs with any id are stored separately, and one is deleted without the others', async () => {
  const ids = ['a/../b', 'a b', '..', 'ä'.repeat(300), 'a_b', ''];
  for (const runId of ids) await append(0, 2, { ...run, runId });
  await append(0, 3, { namespace: 'other', runId: 'a b' });
  await archive.deleteRun({ ...run, runId: 'a b' });
  await archive.deleteRun({ ...run, runId: 'a b' });
  expect(await Array.fromAsync(archive.read({ ...run, runId: 'a b' }))).toEqual([]);
  expect(await Array.fromAsync(archive.read({ ...run, runId: 'a_b' }))).toEqual(records(0, 2));
  expect(await Array.fromAsync(archive.read({ namespace: 'other', runId: 'a b' }))).toEqual(records(0, 3));
  for (const file of await files()) expect(path.relative(directory, file)).not.toMatch(/^\.\./);
});

test('the runs of a principal, which is one tenant and one user, are listed until they are deleted', async () => {
  const ada = { tenant: 'acme', user: 'ada' };
  await append(0, 2, { ...run, runId: 'one/two.3' }, ada);
  await append(2, 4, { ...run, runId: 'one/two.3' }, ada);
  await append(0, 2, { ...run, runId: 'ä'.repeat(300) }, ada);
  await append(0, 2, { namespace: 'other', runId: 'elsewhere' }, ada);
  await append(0, 2, { ...run, runId: 'eve' }, { tenant: 'acme', user: 'eve' });
  await append(0, 2, { ...run, runId: 'no tenant' }, { user: 'ada' });
  await append(0, 2, { ...run, runId: 'nobody' });
  const runsOf = async (who: object): Promise<string[]> => [...(await archive.runsOf({ namespace: 'default', ...who }))].toSorted();
  expect(await runsOf(ada)).toEqual(['one/two.3', 'ä'.repeat(300)]);
  expect([await runsOf({ user: 'ada' }), await runsOf({ tenant: 'acme' }), await runsOf({})]).toEqual([['no tenant'], [], ['nobody']]);
  expect(await archive.runsOf({ namespace: 'never', ...ada })).toEqual([]);
  await archive.deleteRun({ ...run, runId: 'one/two.3' });
  expect(await runsOf(ada)).toEqual(['ä'.repeat(300)]);
});

test('a run that has the id of an earlier one of another user takes nothing over from its record', async () => {
  await append(0, 4, run, { user: 'ada' });
  await append(4, 8, run, { user: 'ada' });
  await append(0, 2, run, { user: 'eve' });
  expect(await Array.fromAsync(archive.read(run))).toEqual(records(0, 2));
  expect(await archive.runsOf({ namespace: 'default', user: 'ada' })).toEqual([]);
  expect(await archive.runsOf({ namespace: 'default', user: 'eve' })).toEqual([run.runId]);
});

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

describe('an archive whose process is killed, or is slow,', () => {
  beforeAll(() => replaceInNode({ open: openLate, rm: removeOneByOne as typeof fs.rm }));
  afterEach(() => (removals.left = Infinity));
  afterAll(() => replaceInNode(own));

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
});

test('an archive without a directory is refused', () => {
  expect(() => fileArchive({ directory: '' })).toThrow(UsageError);
});
