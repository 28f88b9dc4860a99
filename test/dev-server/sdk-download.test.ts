import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { downloadWithSdk } from '../../src/dev-server/find-server.ts';
import { isRunning, notedPids, notePids, sandbox } from './fake-programs.ts';

test('the executable is used as soon as it is complete, and the processes that the SDK starts with it are ended', async () => {
  const place = await sandbox();
  await mkdir(place.cache);
  const downloader = await place.program(
    'downloader',
    `echo whole > "$1/temporal-sdk.downloading"; ${notePids(place)}
     /bin/mv "$1/temporal-sdk.downloading" "$1/temporal-sdk"; exec /bin/sleep 600`,
  );
  const executable = await downloadWithSdk(place.cache, { env: place.env, say: () => undefined }, [downloader]);
  expect(executable).toBe(join(place.cache, 'temporal-sdk'));
  expect(await readFile(executable, 'utf8')).toBe('whole\n');
  expect(await Promise.all((await notedPids(place)).map(isRunning))).toEqual([false]);
});

test('a download that ends without a file gives the innermost reason', async () => {
  const place = await sandbox();
  await mkdir(place.cache);
  const download = downloadWithSdk(place.cache, { env: place.env, say: () => undefined });
  await expect(download).rejects.toThrow(/^tunnel error: .*Connection refused/);
});
