import { spawn } from 'node:child_process';
import { readdir } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { expect, test, vi } from 'vitest';
import { findServer, startDevServer } from '../../src/dev-server/index.ts';
import { fakeCli, isRunning, notedPids, notePids, sandbox, silentServer, type Sandbox } from './fake-programs.ts';

const FIND_SERVER = fileURLToPath(new URL('../../src/dev-server/find-server.ts', import.meta.url));

/** A `go` that has written half a file and started a compiler when it is interrupted. */
function slowGo(index: Sandbox): string {
  return `
echo half > "$GOBIN/temporal"
/bin/sleep 600 &
${notePids(index, '$$ $!')}
wait`;
}

async function running(pids: readonly number[]): Promise<boolean[]> {
  return await Promise.all(pids.map(isRunning));
}

test('an abort during the build ends all of its processes and leaves nothing in the cache', async () => {
  const index = await sandbox();
  await index.program('go', slowGo(index));
  const interrupt = new AbortController();
  const search = findServer({ env: index.env, signal: interrupt.signal });
  const pids = await notedPids(index);
  expect(await running(pids)).toEqual([true, true]);

  interrupt.abort(new Error('Ctrl-C'));
  await expect(search).rejects.toThrow('Ctrl-C');
  expect(await running(pids)).toEqual([false, false]);
  expect(await readdir(index.cache)).toEqual([]);
});

test.each(['SIGKILL', 'SIGINT'] as const)(
  'a process that dies by %s during the build leaves neither processes nor files',
  async (signal) => {
    const index = await sandbox();
    await index.program('go', slowGo(index));
    const script = `import { findServer } from ${JSON.stringify(FIND_SERVER)}; await findServer();`;
    const child = spawn(process.execPath, ['--input-type=module', '--eval', script], { env: index.env, stdio: 'ignore' });
    const pids = await notedPids(index);
    child.kill(signal);
    await vi.waitFor(
      async () => {
        expect(await running(pids)).toEqual([false, false]);
        expect(await readdir(index.cache)).toEqual([]);
      },
      { timeout: 20_000, interval: 50 },
    );
  },
);

test('an abort while the download host is silent ends the download and leaves nothing in the cache', async () => {
  const index = await sandbox();
  const proxy = await silentServer();
  const interrupt = new AbortController();
  proxy.server.once('connection', () => interrupt.abort(new Error('Ctrl-C')));
  await expect(findServer({ env: { ...index.env, HTTPS_PROXY: `http://${proxy.address}` }, signal: interrupt.signal })).rejects.toThrow(
    'Ctrl-C',
  );
  expect(await readdir(index.cache)).toEqual([]);
});

test('an abort while a CLI is asked for its version ends that CLI', async () => {
  const index = await sandbox();
  await index.program('temporal', `${notePids(index)}; /bin/sleep 600`);
  const interrupt = new AbortController();
  const search = findServer({ env: index.env, signal: interrupt.signal });
  const pids = await notedPids(index);
  interrupt.abort(new Error('Ctrl-C'));
  await expect(search).rejects.toThrow('Ctrl-C');
  expect(await running(pids)).toEqual([false]);
});

test('an abort while the server is coming up ends the server', async () => {
  const index = await sandbox();
  await index.program('temporal', fakeCli({ start: `${notePids(index)}; exec /bin/sleep 600` }));
  const interrupt = new AbortController();
  const starting = startDevServer({ env: index.env, signal: interrupt.signal });
  const pids = await notedPids(index);
  interrupt.abort(new Error('Ctrl-C'));
  await expect(starting).rejects.toThrow('Ctrl-C');
  expect(await running(pids)).toEqual([false]);
});

test('nothing is looked for once the signal is aborted', async () => {
  const index = await sandbox();
  await index.program('temporal', fakeCli());
  await expect(findServer({ env: index.env, signal: AbortSignal.abort(new Error('too late')) })).rejects.toThrow('too late');
});
