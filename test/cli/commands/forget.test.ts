import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { callCli } from '../call-cli.ts';

let folder: string;
beforeEach(async () => (folder = await mkdtemp(join(tmpdir(), 'longhaul-forget-'))));
afterEach(() => rm(folder, { recursive: true }));

/** An address without a server: a command that calls one fails with another exit code. */
const NOWHERE = '127.0.0.1:1';

function forget(...args: string[]): ReturnType<typeof callCli> {
  return callCli(['forget', '--user', 'ada', '--address', NOWHERE, ...args]);
}

describe('"longhaul forget", before it asks a server', () => {
  it('refuses to remove runs while a store is neither named nor said to be missing', async () => {
    const refused = await forget('--archive', folder, '--without', 'memory,streams', '--yes');
    expect(refused).toMatchObject({ exitCode: 2, stdout: '' });
    expect(refused.stderr).toContain('not named: payload-store');
    expect(refused.stderr).toContain('"--without payload-store"');
    expect(refused.stderr).toContain('Nothing was removed');
    const bare = await forget('--yes');
    expect(bare.stderr).toContain('"--without payload-store,archive,memory,streams"');
    expect(await readdir(folder)).toEqual([]);
  });

  it('refuses unknown stores, stores that are both named and declared missing, and folders that do not exist', async () => {
    expect((await forget('--without', 'disk', '--yes')).stderr).toContain('"disk": it takes payload-store, archive, memory, streams');
    expect((await forget('--without', 'archive', '--archive', folder, '--yes')).stderr).toContain('--without and --archive');
    expect((await forget('--archive', join(folder, 'none'), '--yes')).stderr).toContain('does not exist');
  });
});
