import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { UsageError } from '../../src/index.ts';
import { environmentSecrets, fileSecrets } from '../../worker/index.ts';

describe('secrets in the environment', () => {
  afterEach(() => vi.unstubAllEnvs());

  test('are in variables with their name in capitals, after the prefix', async () => {
    vi.stubEnv('TEAM_CRM_TOKEN', 'one value');
    vi.stubEnv('MY_SECRET_TEAM_CRM_TOKEN', 'another value');
    expect(environmentSecrets().read('team/crm-token')).toBe('one value');
    const prefixed = environmentSecrets({ prefix: 'MY_SECRET_' });
    expect(prefixed.read('team/crm-token')).toBe('another value');
    expect(prefixed.where('team/crm-token')).toBe('the environment variable MY_SECRET_TEAM_CRM_TOKEN');
    expect(prefixed.read('path')).toBeUndefined();
  });

  test('a prefix that no variable has is refused', () => {
    expect(() => environmentSecrets({ prefix: 'MY-' })).toThrow(
      new UsageError('environmentSecrets: "prefix" is "MY-": use letters, digits and "_"'),
    );
  });
});

describe('secrets in files', () => {
  let folder: string;
  let directory: string;
  beforeEach(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'longhaul-secrets-'));
    directory = path.join(folder, 'mounted');
    await mkdir(path.join(directory, 'team'), { recursive: true });
  });
  afterEach(() => rm(folder, { recursive: true }));

  test('are whole files except for one line break at their end', async () => {
    const source = fileSecrets({ directory });
    const contents = { plain: 'v a l', unix: 'value\n', windows: 'value\r\n', two: 'value\n\n', 'team/nested': 'deep' };
    for (const [name, content] of Object.entries(contents)) await writeFile(path.join(directory, name), content);
    const read = await Promise.all(Object.keys(contents).map(async (name) => source.read(name)));
    expect(read).toEqual(['v a l', 'value', 'value', 'value\n', 'deep']);
    expect(source.where('team/nested')).toBe(`the file ${path.join(directory, 'team/nested')}`);
  });

  test('are read through the links of a mounted volume', async () => {
    await mkdir(path.join(directory, '..2026_01_01'));
    await writeFile(path.join(directory, '..2026_01_01', 'crm-token'), 'value');
    await symlink('..2026_01_01', path.join(directory, '..data'));
    await symlink('..data/crm-token', path.join(directory, 'crm-token'));
    expect(await fileSecrets({ directory }).read('crm-token')).toBe('value');
  });

  test('are missing if the file is missing, or is a folder', async () => {
    await writeFile(path.join(directory, 'file'), 'value');
    const source = fileSecrets({ directory });
    for (const name of ['absent', 'team', 'file/inside']) expect(await source.read(name)).toBeUndefined();
  });

  test('no name leads outside of the directory', async () => {
    await writeFile(path.join(folder, 'outside'), 'value');
    await writeFile(path.join(folder, 'mounted-too'), 'value');
    const source = fileSecrets({ directory });
    for (const name of ['../outside', 'team/../../outside', '../mounted-too', path.join(folder, 'outside'), '.', '']) {
      expect(await source.read(name)).toBeUndefined();
    }
  });

  test('a file that cannot be read is a failure, and not a missing secret', async () => {
    await symlink('loop', path.join(directory, 'loop'));
    await expect(fileSecrets({ directory }).read('loop')).rejects.toMatchObject({ code: 'ELOOP' });
  });

  test('a directory is required', () => {
    expect(() => fileSecrets({} as never)).toThrow(UsageError);
  });
});
