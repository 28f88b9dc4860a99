import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { expect, inject, test } from 'vitest';
import { freePorts, isReachable } from '../../../src/dev-server/start-flags.ts';
import { callCli } from '../../cli/call-cli.ts';
import { type CliProcess, startCli, untilSaid } from '../../cli/cli-process.ts';
import { Testbed, until } from '../testbed/testbed.ts';

/** The path of a module of agents. */
function fixture(name: string): string {
  return fileURLToPath(new URL(`../../cli/fixtures/${name}.ts`, import.meta.url));
}

/** The line that `dev` and `worker` print with `--json` when they are ready. */
async function ready(cli: CliProcess): Promise<{ address: string; uiUrl?: string; taskQueue: string; agents: string[] }> {
  await untilSaid(cli, () => cli.stdout().includes('\n'), 'the line that says that all is ready');
  return JSON.parse(cli.stdout()) as { address: string; uiUrl?: string; taskQueue: string; agents: string[] };
}

test('dev starts a server with its UI and a worker; Ctrl-C ends all of them', async () => {
  const cliPath = inject('temporalCliPath') ?? '';
  const [port, uiPort] = await freePorts([undefined, undefined]);
  const args = ['dev', '--agents', fixture('scripted-agents'), '--port', String(port), '--ui-port', String(uiPort), '--memory', '--json'];
  const dev = startCli(args, { TEMPORAL_CLI_PATH: cliPath, TEMPORAL_ADDRESS: '' });
  try {
    const { address, uiUrl, taskQueue, agents } = await ready(dev);
    expect({ address, uiUrl, taskQueue, agents }).toEqual({
      address: `127.0.0.1:${port}`,
      uiUrl: `http://127.0.0.1:${uiPort}`,
      taskQueue: 'longhaul',
      agents: ['clerk'],
    });
    expect((await fetch(`${uiUrl}/api/v1/settings`)).status).toBe(200);
    expect(await callCli(['start', 'clerk', 'Where is order 42?', '--wait', '--address', address])).toMatchObject({
      exitCode: 0,
      stdout: 'It is shipped.\n',
    });
    expect(lines(await callCli(['list', '--agent', 'clerk', '--json', '--address', address]))).toHaveLength(1);

    dev.child.kill('SIGINT');
    expect(await dev.ended).toBe(0);
    expect(await isReachable(address, 1_000)).toBe(false);
    expect(dev.stderr()).toContain('Draining');
    expect(dev.stderr()).not.toContain('    at ');
  } finally {
    dev.child.kill('SIGKILL');
  }
});

test('dev without agents starts the server alone', async () => {
  const [port, uiPort] = await freePorts([undefined, undefined]);
  const where = { TEMPORAL_CLI_PATH: inject('temporalCliPath') ?? '', TEMPORAL_ADDRESS: '' };
  const dev = startCli(['dev', '--port', String(port), '--ui-port', String(uiPort), '--memory'], where);
  try {
    await untilSaid(dev, () => dev.stdout().includes('Ctrl-C ends it.'), 'the line that says that all is ready');
    expect(dev.stdout()).toContain(`127.0.0.1:${port}`);
    expect(dev.stdout()).toContain('longhaul worker --agents <module>');
    expect(dev.stdout()).toMatch(/^Runs +in memory: gone when this ends$/m);
    expect(dev.stderr()).toBe('Starting a Temporal server, with its runs in memory …\n');
    dev.child.kill('SIGTERM');
    expect(await dev.ended).toBe(0);
  } finally {
    dev.child.kill('SIGKILL');
  }
});

test('SIGTERM drains a worker: the call in flight finishes, and the worker ends with 0', async () => {
  await using testbed = await Testbed.open();
  const asked: ServerResponse[] = [];
  const tool = createServer((_request, response) => asked.push(response));
  await new Promise<void>((resolve) => tool.listen(0, '127.0.0.1', resolve));
  const env = { TEST_TOOL_URL: `http://127.0.0.1:${(tool.address() as AddressInfo).port}` };
  const args = ['worker', '--agents', fixture('slow-agents'), '--address', testbed.address, '--task-queue', testbed.taskQueue];
  const worker = startCli([...args, '--grace', '20', '--json'], env);
  try {
    expect(await ready(worker)).toMatchObject({ taskQueue: testbed.taskQueue, agents: ['slow'] });
    const handle = await testbed.client.start('slow', { input: 'Q', taskQueue: testbed.taskQueue });
    await until(() => asked.length > 0, 'the tool');
    worker.child.kill('SIGTERM');
    await untilSaid(worker, () => worker.stderr().includes('Draining'), 'the draining');
    asked[0]?.end('done');
    expect(await worker.ended).toBe(0);
    expect(worker.stderr()).toContain('Drained.');

    const next = startCli(args, env);
    try {
      expect(await handle.result({ steps: true })).toMatchObject({
        status: 'completed',
        output: 'waited',
        steps: [{ toolCalls: [{ result: 'done', isError: false }] }, {}],
      });
      expect(asked).toHaveLength(1);
    } finally {
      next.child.kill('SIGTERM');
      await next.ended;
    }
  } finally {
    worker.child.kill('SIGKILL');
    tool.closeAllConnections();
    tool.close();
  }
});

/** Workers by what takes time while they start. */
const STARTS: Record<string, { args?: string[]; env?: Record<string, string> }> = {
  plain: {},
  encrypting: { env: { LONGHAUL_ENCRYPTION_KEYS: `k1:${Buffer.alloc(32, 7).toString('base64')}` } },
  versioned: { args: ['--deployment', 'd-ending', '--build-id', '1', '--versioning', 'pinned'] },
};

test.each([0, 400, 1_200, 2_500])('a worker that gets SIGTERM %i ms after its agents are loaded ends', async (afterMs) => {
  await using testbed = await Testbed.open();
  const common = ['worker', '--agents', fixture('ending-agents'), '--address', testbed.address, '--task-queue', testbed.taskQueue];
  await Promise.all(
    Object.entries(STARTS).map(async ([kind, { args = [], env = {} }]) => {
      const worker = startCli([...common, ...args, '--grace', '1'], { ...env, TEST_END_AFTER_MS: String(afterMs) });
      const late = setTimeout(() => worker.child.kill('SIGKILL'), 30_000);
      // 143: a check of the server was interrupted.
      const exit = await worker.ended;
      expect([0, 143], `${kind}: ${worker.stderr()}`).toContain(exit);
      clearTimeout(late);
    }),
  );
});

test('Ctrl-C in start --wait ends the wait with 130, and the run continues', async () => {
  await using testbed = await Testbed.open();
  const where = ['--address', testbed.address, '--task-queue', testbed.taskQueue];
  const waiting = startCli(['start', 'clerk', 'Q', '--wait', ...where]);
  await untilSaid(waiting, () => waiting.stderr().startsWith('Run '), 'the id of the run');
  waiting.child.kill('SIGINT');
  expect(await waiting.ended).toBe(130);
  expect(waiting.stdout()).toBe('');
  const runId = /^Run (\S+)/.exec(waiting.stderr())?.[1] ?? '';
  expect(waiting.stderr()).toContain(`longhaul result ${runId}`);
  expect(await testbed.client.handle(runId).status()).toMatchObject({ status: 'running' });
});

function lines({ stdout }: { stdout: string }): string[] {
  return stdout.split('\n').filter((line) => line !== '');
}
