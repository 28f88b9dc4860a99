import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { sayStoresLeft, storesIn, storesLeft } from '../../../src/cli/commands/records.ts';
import { callCli } from '../call-cli.ts';
import { commandIo } from '../command-io.ts';

test.each([
  ['delete', 'r1'],
  ['session', 'delete', 's1'],
  ['session', 'delete', 's1', '--end'],
  ['forget', '--user', 'ada', '--yes'],
])('a folder that does not exist is refused before anything is removed: %s %s %s', async (...args) => {
  const command = args.filter((word) => word !== undefined);
  for (const option of ['--archive', '--payload-store']) {
    // Nothing listens there.
    expect(await callCli([...command, option, './no-such-folder', '--address', '127.0.0.1:1'])).toEqual({
      exitCode: 2,
      stdout: '',
      stderr: expect.stringContaining(`longhaul: ${option} names "./no-such-folder", which does not exist`) as string,
    });
  }
});

test('a file cannot be the folder of a store', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'longhaul-stores-'));
  const file = join(folder, 'a.txt');
  await writeFile(file, '');
  expect(() => storesIn({ archive: file })).toThrow('which is not a folder');
  expect(Object.keys(storesIn({ archive: folder, payloadStore: folder }))).toEqual(['archive', 'payloadStore']);
  await rm(folder, { recursive: true });
});

test('the kinds of stores that were not named are listed, with their options', () => {
  const { io, stderr } = commandIo();
  sayStoresLeft(io.output, storesLeft({ archive: './archive', payloadStore: './spilled' }));
  expect(stderr()).toBe('');
  sayStoresLeft(io.output, storesLeft({ archive: './archive' }));
  expect(stderr()).toBe("Other stores are unchanged: name your workers' stores with --payload-store\n");
});
