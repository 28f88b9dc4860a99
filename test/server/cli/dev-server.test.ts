import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { Connection } from '@temporalio/client';
import { expect, inject, onTestFinished, test, vi } from 'vitest';
import { startDevServer, type DevServer, type DevServerOptions } from '../../../src/dev-server/dev-server.ts';
import { isReachable } from '../../../src/dev-server/start-flags.ts';
import { sandbox } from '../../dev-server/fake-programs.ts';

const DEV_SERVER = fileURLToPath(new URL('../../../src/dev-server/dev-server.ts', import.meta.url));
const cliPath = inject('temporalCliPath');
const realCli = { PATH: process.env['PATH'], HOME: process.env['HOME'], TEMPORAL_CLI_PATH: cliPath };

async function start(options: DevServerOptions = {}): Promise<DevServer> {
  const server = await startDevServer({ env: realCli, ...options });
  onTestFinished(server.stop);
  return server;
}

async function searchAttributes(address: string): Promise<Record<string, number>> {
  const connection = await Connection.connect({ address });
  onTestFinished(() => connection.close());
  const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace: 'default' });
  return { ...customAttributes };
}

test.skipIf(cliPath === undefined)(
  'a started server answers, has the UI and the requested search attributes, and is gone after stop',
  async () => {
    const server = await start({ ui: true, searchAttributes: { LonghaulAgent: 'Keyword' } });
    expect(server).toMatchObject({ namespace: 'default', source: 'TEMPORAL_CLI_PATH', cliPath, provisionMs: 0 });
    expect(await searchAttributes(server.address)).toHaveProperty('LonghaulAgent');
    const ui = await vi.waitFor(() => fetch(server.uiUrl ?? ''), { timeout: 10_000 });
    expect(ui.status).toBe(200);

    await Promise.all([server.stop(), server.stop()]);
    await server.stop();
    expect(await isReachable(server.address, 1_000)).toBe(false);
  },
);

test.skipIf(cliPath === undefined)('a server in memory starts without UI and without search attributes', async () => {
  const server = await start();
  expect(server).not.toHaveProperty('uiUrl');
  expect(await searchAttributes(server.address)).not.toHaveProperty('LonghaulAgent');
});

test.skipIf(cliPath === undefined)('a database file is written to the requested path', async () => {
  const { directory } = await sandbox();
  const dbFile = join(directory, 'runs.sqlite');
  const server = await start({ dbFile });
  expect(existsSync(dbFile)).toBe(true);
  await server.stop();
});

const DEATHS = [
  { how: 'process.exit', code: 'process.exit(7)' },
  { how: 'SIGKILL', code: `process.kill(process.pid, 'SIGKILL')` },
];

test.skipIf(cliPath === undefined).each(DEATHS)('a process that ends by $how ends its server too', async ({ code }) => {
  const script = `import { startDevServer } from ${JSON.stringify(DEV_SERVER)};
    const server = await startDevServer();
    process.stdout.write(server.address, () => { ${code} });`;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', script], { env: realCli, stdio: ['ignore', 'pipe', 'inherit'] });
  const address = await text(child.stdout);
  expect(address).toMatch(/^127\.0\.0\.1:\d+$/);
  await vi.waitFor(async () => expect(await isReachable(address, 1_000)).toBe(false), { timeout: 10_000, interval: 50 });
});
