import { defaultPayloadConverter, type Payload, type PayloadCodec } from '@temporalio/common';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { errorCode, UsageError } from '../../src/core/domain/errors.ts';
import { fileStore, type PayloadStore, readSpilled, spill, type SpillConverter } from '../../src/stores/payload-store.ts';

const plain: SpillConverter = { payloadConverter: defaultPayloadConverter, payloadCodecs: [] };
const run = { namespace: 'default', runId: 'order/17: "é"' };
let directory: string;
let store: PayloadStore;

beforeEach(async () => {
  directory = await mkdtemp(path.join(tmpdir(), 'longhaul-store-'));
  store = fileStore({ directory: path.join(directory, 'made', 'later') });
});
afterEach(() => rm(directory, { recursive: true }));

/** All files below the store, as paths from its root. */
async function files(): Promise<string[]> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => path.join(entry.parentPath, entry.name));
}

async function codeOf(work: Promise<unknown>): Promise<string | undefined> {
  return work.then(
    () => 'nothing was thrown',
    (error: unknown) => errorCode(error),
  );
}

describe('a spilled result can be read back', () => {
  test('unchanged', async () => {
    const content = ['é😀\n', { list: [1, null, { deep: true }] }, 'x'.repeat(3_000_000)];
    const spilled = await spill(store, plain, run, content);
    expect(spilled).toEqual({
      store: 'files',
      claim: expect.anything(),
      bytes: Buffer.byteLength(JSON.stringify(content)),
      sha256: expect.any(String),
    });
    expect(JSON.stringify(spilled).length).toBeLessThan(400);
    expect(await readSpilled(store, plain, JSON.parse(JSON.stringify(spilled)) as typeof spilled)).toEqual(content);
  });

  test('through the codecs, so that the file has no clear text', async () => {
    const flip = (payloads: Payload[]): Payload[] =>
      payloads.map((payload) => ({ ...payload, data: (payload.data ?? new Uint8Array()).map((byte) => byte ^ 0xff) }));
    const xor: PayloadCodec = { encode: async (payloads) => flip(payloads), decode: async (payloads) => flip(payloads) };
    const coded = { ...plain, payloadCodecs: [xor] };
    const spilled = await spill(store, coded, run, ['a secret']);
    const [file = ''] = await files();
    expect(await readFile(file, 'utf8')).not.toContain('a secret');
    expect(await readSpilled(store, coded, spilled)).toEqual(['a secret']);
    expect(await codeOf(readSpilled(store, plain, spilled))).not.toBe('nothing was thrown');
  });

  test('equal content of one run is one file, and no other file is left behind', async () => {
    const [one, two] = await Promise.all([spill(store, plain, run, ['same']), spill(store, plain, run, ['same'])]);
    expect(one).toEqual(two);
    expect(await files()).toHaveLength(1);
  });

  test('runs whose ids give similar file names do not share a folder', async () => {
    const ids = ['a/b', 'a_b', `${'x'.repeat(900)}1`, `${'x'.repeat(900)}2`, '..'];
    const spilled = await Promise.all(ids.map((runId) => spill(store, plain, { ...run, runId }, [runId])));
    expect(await files()).toHaveLength(5);
    for (const [index, one] of spilled.entries()) expect(await readSpilled(store, plain, one)).toEqual([ids[index]]);
  });
});

describe('a store deletes only the files of the run', () => {
  test('and keeps the files of another run', async () => {
    const mine = await spill(store, plain, run, ['mine']);
    const other = await spill(store, plain, { ...run, namespace: 'other' }, ['other']);
    await store.deleteRun(run);
    expect(await codeOf(readSpilled(store, plain, mine))).toBe('spilled_unavailable');
    expect(await readSpilled(store, plain, other)).toEqual(['other']);
  });

  test('a run without files can be deleted', async () => {
    await expect(store.deleteRun({ ...run, runId: 'never stored' })).resolves.toBeUndefined();
  });
});

describe('unreadable content is an error, and never guessed', () => {
  test.each([
    ['a claim that leads out of the store', { claim: { namespace: 'default', run: 'r', sha256: '../../../etc/passwd' } }],
    ['a claim of another kind', { claim: { key: 'v0/ns/default' } }],
    ['a content that was never stored', { claim: { namespace: 'default', run: 'r', sha256: '0'.repeat(64) } }],
    ['a store of another name', { store: 'elsewhere' }],
    ['another digest', { sha256: '0'.repeat(64) }],
  ])('%s', async (_, change) => {
    const spilled = await spill(store, plain, run, ['content']);
    expect(await codeOf(readSpilled(store, plain, { ...spilled, ...change }))).toBe('spilled_unavailable');
  });

  test('a damaged file', async () => {
    const spilled = await spill(store, plain, run, ['content']);
    const [file = ''] = await files();
    await writeFile(file, 'damaged');
    expect(await codeOf(readSpilled(store, plain, spilled))).toBe('spilled_unavailable');
  });

  test('a store without a directory is a usage error', () => {
    expect(() => fileStore({ directory: '' })).toThrow(UsageError);
  });
});
