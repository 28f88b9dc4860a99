import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { fileURLToPath } from 'node:url';
import { test } from 'vitest';
import { startCli } from './cli-process.ts';

/** No server listens at this address. */
const NOWHERE = '127.0.0.1:1';

test.concurrent('a server that does not answer is one line on stderr and exit code 7', async ({ expect }) => {
  const cli = startCli(['show', 'some-run', '--address', NOWHERE]);
  expect(await cli.ended).toBe(7);
  expect(cli.stdout()).toBe('');
  expect(cli.stderr()).toMatch(/^longhaul: No Temporal server answers at "127\.0\.0\.1:1" .*: start one with "npx longhaul dev".*\n$/);
});

test.concurrent("a worker reports the same, before it has loaded the SDK's worker", async ({ expect }) => {
  const cli = startCli(['worker', '--agents', 'test/cli/fixtures/scripted-agents.ts', '--address', NOWHERE]);
  expect(await cli.ended).toBe(7);
  expect(cli.stderr().trim().split('\n')).toHaveLength(1);
});

test.concurrent('if the reader of stdout goes away, the command ends without an error', async ({ expect }) => {
  const cli = startCli(['--help']);
  cli.child.stdout?.destroy();
  expect(await cli.ended).toBe(0);
  expect(cli.stderr()).toBe('');
});

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  return port;
}

/** Starts a command below a shell, as npm does, and ends the shell once the command says that it is ready. */
async function orphaned(script: string): Promise<{ pid: number; closed: Promise<unknown> }> {
  const command = `"$NODE" "$MAIN" codec-server --port ${await freePort()} & echo "pid $!"; wait`;
  const env = { ...process.env, NODE: process.execPath, MAIN: fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url)) };
  const shell = spawn('sh', ['-c', command], { env: { ...env, npm_lifecycle_script: script }, stdio: ['ignore', 'pipe', 'ignore'] });
  // The pipe closes once the command has ended, which holds it as well.
  const closed = once(shell, 'close');
  let said = '';
  shell.stdout.on('data', (chunk: Buffer) => (said += chunk.toString()));
  while (!said.includes('Ctrl-C ends it')) await once(shell.stdout, 'data');
  shell.kill('SIGKILL');
  return { pid: Number(/pid (\d+)/.exec(said)?.[1]), closed };
}

test.concurrent('a command of npx ends as by SIGTERM if npx ends, which does not pass the signal on', async ({ expect }) => {
  for (const script of ["'longhaul'", 'longhaul codec-server --port 8234']) {
    const { closed } = await orphaned(script);
    expect(await closed).toBeDefined();
  }
});

test.concurrent('a command that an npm script leaves behind on purpose keeps running', async ({ expect }) => {
  const { pid, closed } = await orphaned('longhaul codec-server &');
  const isOver = await Promise.race([closed.then(() => true), new Promise((resolve) => setTimeout(resolve, 1_500, false))]);
  process.kill(pid, 'SIGTERM');
  expect([isOver, (await closed) !== undefined]).toEqual([false, true]);
});
