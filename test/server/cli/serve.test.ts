import { EventSource } from 'eventsource';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, inject, test } from 'vitest';
import { freePorts } from '../../../src/dev-server/start-flags.ts';
import { callCli } from '../../cli/call-cli.ts';
import { type CliProcess, startCli, untilSaid } from '../../cli/cli-process.ts';
import { REDIS_MISSING, RedisServer } from '../../streams/redis-server.ts';
import { Testbed, until } from '../testbed/testbed.ts';

function fixture(name: string): string {
  return fileURLToPath(new URL(`../../cli/fixtures/${name}.ts`, import.meta.url));
}

/** Starts `serve`, and returns the process with its address once it says that it listens. */
async function serving(args: string[], taskQueue: string, env: Record<string, string> = {}): Promise<CliProcess & { url: string }> {
  const where = ['--address', inject('temporalAddress'), '--namespace', inject('temporalNamespace'), '--task-queue', taskQueue];
  const [port] = await freePorts([undefined]);
  const cli = startCli(['serve', '--port', String(port), '--json', ...args, ...where], env);
  await untilSaid(cli, () => cli.stdout().includes('\n'), 'the line that says that it listens');
  return { ...cli, url: (JSON.parse(cli.stdout()) as { url: string }).url };
}

async function started(url: string, body: object): Promise<string> {
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(`${url}/v1/runs`, { method: 'POST', headers, body: JSON.stringify(body) });
  expect(response.status).toBe(201);
  return `${url}${response.headers.get('location')}`;
}

async function statusOf(url: string): Promise<number | string> {
  return fetch(url).then(
    (response) => response.status,
    (error: unknown) => ((error as Error).cause as { code?: string } | undefined)?.code ?? String(error),
  );
}

test('serve answers requests with a worker inside; SIGTERM: not ready, then requests end, the worker drains, exit code 0', async () => {
  await using testbed = await Testbed.open();
  const service = await serving(['--agents', fixture('scripted-agents'), '--drain', '2'], testbed.taskQueue);
  try {
    expect(await statusOf(`${service.url}/readyz`)).toBe(200);
    const run = await started(service.url, { agent: 'clerk', input: 'Where is order 42?' });
    const result = await fetch(`${run}/result?wait=30s`);
    expect([result.status, await result.json()]).toMatchObject([200, { output: 'It is shipped.' }]);

    const paused = await started(service.url, { agent: 'clerk', input: 'Where is order 43?' });
    await fetch(`${paused}/pause`, { method: 'POST' });
    const waiting = statusOf(`${paused}/result?wait=60s`);
    const reader = new EventSource(`${paused}/stream`);
    let cuts = 0;
    reader.addEventListener('error', () => (cuts += 1));
    await new Promise((resolve) => reader.addEventListener('status', resolve, { once: true }));
    service.child.kill('SIGTERM');
    await until(async () => (await statusOf(`${service.url}/readyz`)) === 503, 'the service says that it is not ready');
    // It still takes requests for a moment, and its streams continue. Then a wait ends early.
    expect(await statusOf(`${service.url}/livez`)).toBe(200);
    const late = new EventSource(`${paused}/stream`);
    await new Promise((resolve) => late.addEventListener('status', resolve, { once: true }));
    expect(cuts).toBe(0);
    late.close();
    expect([200, 202]).toContain(await waiting);
    await until(() => cuts > 0, 'the stream is cut');
    reader.close();
    expect(await service.ended).toBe(0);
    expect(await statusOf(`${service.url}/livez`)).toBe('ECONNREFUSED');
    expect(service.stderr()).toContain('Drained.');
    expect(service.stderr()).not.toContain('    at ');
  } finally {
    service.child.kill('SIGKILL');
  }
});

test('serve without agents starts agents of other workers, and ends with Ctrl-C', async () => {
  await using testbed = await Testbed.open();
  const service = await serving(['--prefix', '/api'], testbed.taskQueue);
  try {
    expect(service.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/api$/);
    expect(await statusOf(`${service.url}/readyz`)).toBe(200);
    expect(await statusOf(service.url.replace('/api', '/readyz'))).toBe(404);
    service.child.kill('SIGINT');
    expect(await service.ended).toBe(0);
  } finally {
    service.child.kill('SIGKILL');
  }
});

test('serve refuses an address that other machines reach, and a port that is taken', async () => {
  const open = await callCli(['serve', '--host', '0.0.0.0']);
  expect([open.exitCode, open.stderr]).toEqual([
    2,
    expect.stringContaining('without authentication would let everyone who reaches it start, read and approve runs') as string,
  ]);
  await using testbed = await Testbed.open();
  const service = await serving([], testbed.taskQueue);
  try {
    const where = ['--address', inject('temporalAddress'), '--namespace', inject('temporalNamespace')];
    const taken = await callCli(['serve', '--port', new URL(service.url).port, ...where]);
    expect([taken.exitCode, taken.stderr]).toEqual([2, expect.stringContaining('Choose another --port') as string]);
  } finally {
    service.child.kill('SIGKILL');
  }
});

test.skipIf(REDIS_MISSING !== '')(
  `serve without a worker has the agents and the sink of the module, and shows what other workers stream${REDIS_MISSING}`,
  async () => {
    const redis = await RedisServer.start();
    await using testbed = await Testbed.open();
    const env = { TEST_REDIS_URL: redis.url };
    const agents = ['--agents', fixture('shared-sink')];
    const service = await serving([...agents, '--no-worker', '--allow-origin', 'https://app.example'], testbed.taskQueue, env);
    const where = ['--address', testbed.address, '--namespace', inject('temporalNamespace'), '--task-queue', testbed.taskQueue];
    try {
      expect(JSON.parse(service.stdout())).toMatchObject({ agents: ['poet'], callers: [] });
      expect(service.stdout()).not.toContain('taskQueue');
      const listed = await fetch(`${service.url}/v1/agents`, { headers: { origin: 'https://app.example' } });
      expect([listed.headers.get('access-control-allow-origin'), await listed.json()]).toMatchObject([
        'https://app.example',
        { agents: [{ name: 'poet' }] },
      ]);
      expect(await (await fetch(`${service.url}/readyz`)).json()).toMatchObject({ checks: { streams: 'ok' } });
      const run = await started(service.url, { agent: 'poet', input: 'A line' });
      const stream = await fetch(`${run}/stream`);
      const worker = startCli(['worker', ...agents, ...where], env);
      try {
        const items = await stream.text();
        expect(items).toContain('event: delta');
        expect(items).toContain('event: end');
      } finally {
        worker.child.kill('SIGKILL');
      }
      service.child.kill('SIGINT');
      expect(await service.ended).toBe(0);
    } finally {
      service.child.kill('SIGKILL');
      await redis.stop();
    }
  },
);

test('serve says whose requests it answers', async () => {
  await using testbed = await Testbed.open();
  const folder = await mkdtemp(join(tmpdir(), 'longhaul-keys-'));
  const keys = join(folder, 'keys.json');
  await callCli(['keys', 'create', '--file', keys, '--name', 'shop', '--scope', 'runs:read', '--principal', 'all']);
  const args = ['--keys', keys, '--jwt-issuer', 'https://id.example', '--jwt-audience', 'longhaul'];
  const service = await serving(args, testbed.taskQueue);
  try {
    expect(JSON.parse(service.stdout())).toMatchObject({ callers: [`API keys in ${keys}`, 'tokens of https://id.example'] });
    expect(await statusOf(`${service.url}/v1/agents`)).toBe(401);
  } finally {
    service.child.kill('SIGKILL');
    await rm(folder, { recursive: true });
  }
});
