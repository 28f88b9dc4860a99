import { spawn } from 'node:child_process';
import { readdir } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { expect, test, vi } from 'vitest';
import { findServer } from '../../src/dev-server/find-server.ts';
import { startDevServer } from '../../src/dev-server/dev-server.ts';
import { fakeCli, isRunning, notedPids, notePids, sandbox, silentServer, type Sandbox } from './fake-programs.ts';

const FIND_SERVER = fileURLToPath(new URL('../../src/dev-server/find-server.ts', import.meta.url));

/** A `go` that is interrupted after it has written half a file and started a compiler. */
function slowGo(place: Sandbox): string {
  return `
echo half > "$GOBIN/temporal"
/bin/sleep 600 &
${notePids(place, '$$ $!')}
wait`;
}

async function running(pids: readonly number[]): Promise<boolean[]> {
  return await Promise.all(pids.map(isRunning));
}

test('an abort during the build ends all of its processes and leaves nothing in the cache', async () => {
  const place = await sandbox();
  await place.program('go', slowGo(place));
  const interrupt = new AbortController();
  const search = findServer({ env: place.env, signal: interrupt.signal });
  const pids = await notedPids(place);
  expect(await running(pids)).toEqual([true, true]);

  interrupt.abort(new Error('Ctrl-C'));
  await expect(search).rejects.toThrow('Ctrl-C');
  expect(await running(pids)).toEqual([false, false]);
  expect(await readdir(place.cache)).toEqual([]);
});

test.each(['SIGKILL', 'SIGINT'] as const)(
  'a process that dies by %s during the build leaves neither processes nor files',
  async (signal) => {
    const place = await sandbox();
    await place.program('go', slowGo(place));
    const script = `import { findServer } from ${JSON.stringify(FIND_SERVER)}; await findServer();`;
    const child = spawn(process.execPath, ['--input-type=module', '--eval', script], { env: place.env, stdio: 'ignore' });
    const pids = await notedPids(place);
    child.kill(signal);
    await vi.waitFor(
      async () => {
        expect(await running(pids)).toEqual([false, false]);
        expect(await readdir(place.cache)).toEqual([]);
      },
      { timeout: 20_000, interval: 50 },
    );
  },
);

test('an abort while the download host is silent ends the download and leaves nothing in the cache', async () => {
  const place = await sandbox();
  const proxy = await silentServer();
  const interrupt = new AbortController();
  proxy.server.once('connection', () => interrupt.abort(new Error('Ctrl-C')));
  await expect(findServer({ env: { ...place.env, HTTPS_PROXY: `http://${proxy.address}` }, signal: interrupt.signal })).rejects.toThrow(
    'Ctrl-C',
  );
  expect(await readdir(place.cache)).toEqual([]);
});

test('an abort while a CLI is asked for its version ends that CLI', async () => {
  const place = await sandbox();
  await place.program('temporal', `${notePids(place)}; /bin/sleep 600`);
  const interrupt = new AbortController();
  const search = findServer({ env: place.env, signal: interrupt.signal });
  const pids = await notedPids(place);
  interrupt.abort(new Error('Ctrl-C'));
  await expect(search).rejects.toThrow('Ctrl-C');
  expect(await running(pids)).toEqual([false]);
});

test('an abort while the server is coming up ends the server', async () => {
  const place = await sandbox();
  await place.program('temporal', fakeCli({ start: `${notePids(place)}; exec /bin/sleep 600` }));
  const interrupt = new AbortController();
  const starting = startDevServer({ env: place.env, signal: interrupt.signal });
  const pids = await notedPids(place);
  interrupt.abort(new Error('Ctrl-C'));
  await expect(starting).rejects.toThrow('Ctrl-C');
  expect(await running(pids)).toEqual([false]);
});

test('no server is searched for once the signal is aborted', async () => {
  const place = await sandbox();
  await place.program('temporal', fakeCli());
  await expect(findServer({ env: place.env, signal: AbortSignal.abort(new Error('too late')) })).rejects.toThrow('too late');
});
