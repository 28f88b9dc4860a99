import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { callCli } from '../call-cli.ts';

let folder: string;
beforeEach(async () => (folder = await mkdtemp(join(tmpdir(), 'longhaul-export-'))));
afterEach(() => rm(folder, { recursive: true }));

/** An address without a server: a command that calls one fails with another exit code. */
const NOWHERE = '127.0.0.1:1';

function exported(...args: string[]): ReturnType<typeof callCli> {
  return callCli(['export', '--address', NOWHERE, ...args]);
}

describe('"longhaul export" of a user, before it asks a server', () => {
  it('needs a user, a folder, and a word about each store', async () => {
    expect((await exported()).stderr).toContain('Write the id of a run, or --user');
    expect((await exported('--tenant', 'acme', '--output', folder)).stderr).toContain('Write the id of a run, or --user');
    expect((await exported('--user', 'ada')).stderr).toContain('write --output <folder>');
    const unnamed = await exported('--user', 'ada', '--output', folder, '--without', 'memory');
    expect(unnamed).toMatchObject({ exitCode: 2, stdout: '' });
    expect(unnamed.stderr).toContain('not named: payload-store, archive. The export would lack what is in them');
    expect(unnamed.stderr).toContain('"--without payload-store,archive" if they have none. Nothing was exported');
    expect(await readdir(folder)).toEqual([]);
  });

  it('refuses a file, a folder with something else, and its options for the export of a run', async () => {
    const file = join(folder, 'mine.txt');
    await writeFile(file, 'mine');
    const all = ['--user', 'ada', '--without', 'memory,archive,payload-store'];
    expect((await exported(...all, '--output', file)).stderr).toContain('which is a file');
    expect((await exported(...all, '--output', folder)).stderr).toContain('holds something else');
    expect((await exported('run-1', '--payload-store', folder)).stderr).toContain('--payload-store is for the export of a user');
    expect(await readdir(folder)).toEqual(['mine.txt']);
  });
});
