import { mkdir, rename, symlink } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { Environment, troubles } from './environment.ts';

/** Returns the status of a check in a report. */
async function statusOf(check: string, environment: Environment): Promise<string | undefined> {
  const { checks } = await environment.examine();
  return checks.find(({ name }) => name === check)?.status;
}

test('packages in the layout of pnpm are installed once', async () => {
  await using environment = await Environment.open();
  await environment.install();
  const modules = join(environment.folder, 'node_modules');
  const kept = join(modules, '.pnpm');
  for (const name of ['protobufjs', '@temporalio/proto']) {
    const real = join(kept, `${name.replace('/', '+')}@1`, 'node_modules', name);
    await mkdir(join(real, '..'), { recursive: true });
    await rename(join(modules, name), real);
    await symlink(real, join(modules, name));
  }
  const ofProto = join(kept, '@temporalio+proto@1', 'node_modules', 'protobufjs');
  await symlink(join(kept, 'protobufjs@1', 'node_modules', 'protobufjs'), ofProto);
  expect(troubles(await environment.examine())).toEqual({});
  expect(await statusOf('protobufjs', environment)).toBe('ok');
});

test('a proxy variable in capital letters does not apply to calls to a server on this machine', async () => {
  await using environment = await Environment.open();
  Object.assign(environment.machine.env, { HTTPS_PROXY: 'http://proxy.example:3128', NODE_USE_ENV_PROXY: '1' });
  expect(await statusOf('proxy', environment)).toBe('ok');
});

test('a codec server may let pages of any origin call it', async () => {
  await using environment = await Environment.open();
  environment.machine.env['LONGHAUL_ENCRYPTION_KEYS'] = `2026:${Buffer.alloc(32, 7).toString('base64')}`;
  const server = createServer((request, response) => {
    response.setHeader('access-control-allow-origin', '*');
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ payloads: [{ data: Buffer.from('"longhaul doctor"').toString('base64') }] }));
    request.resume();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  environment.defer(() => server.close());
  environment.flags.codecEndpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  expect(await statusOf('codec-server', environment)).toBe('ok');
});

test('a right is not ok if the server has not answered the call that needs it', async () => {
  await using environment = await Environment.open({ away: ['CountWorkflowExecutions'] });
  const { checks } = await environment.examine();
  expect(checks.find(({ name }) => name === 'rights')).toMatchObject({
    status: 'skipped',
    summary: 'The server does not say if the credentials may list runs: it gives no answer.',
  });
});

test('with repairs, a person is asked once before a model is called, and no secret is in the report', async () => {
  await using environment = await Environment.open({ attributes: {} });
  let asked = 0;
  environment.machine.ask = async () => {
    asked += 1;
    return true;
  };
  environment.flags.live = true;
  await environment.agents(
    `export const secrets = (name) => (name === 'vault' ? 'from-the-vault-1234' : undefined);
     const call = async (request, { secret }) => { throw new Error('refused the key ' + (await secret('vault'))); };
     export const providers = { echo: { capabilities: { structuredOutput: true }, call } };
     export const agents = [defineAgent({ name: 'clerk', model: 'echo/m' })];`,
  );
  const report = await environment.examine({ fix: true });
  expect({ asked, fixed: report.fixed.length }).toEqual({ asked: 1, fixed: 1 });
  expect(report.checks.find(({ name }) => name === 'providers')).toMatchObject({
    status: 'fail',
    summary: 'echo/m does not answer: refused the key [secret "vault"].',
  });
});

/** An agents module whose provider keeps its requests, up to a limit of tokens. */
const PROMPT = 'You know that the margin is forty percent.';
const KEEPING = `export const agents = [defineAgent({ name: 'clerk', model: 'echo/m', instructions: ${JSON.stringify(PROMPT)},
  tools: [defineTool({ name: 't', description: 'Reads the secret margin', parameters: z.object({}), execute: () => 1 })] })];
globalThis.asked = [];
const call = async ({ settings, instructions }) => { globalThis.asked.push({ settings, instructions }); return { content: 'ok', toolCalls: [], finishReason: 'stop' }; };
export const providers = { echo: { capabilities: { structuredOutput: true }, call } };`;
const calls = (): unknown => (globalThis as { asked?: unknown }).asked;

test('a model is called once, for at most 10 tokens, without any part of an agent, if a person agrees', async () => {
  await using environment = await Environment.open();
  environment.flags.live = true;
  environment.machine.ask = async (question) => {
    expect(question).toBe('Call echo/m, once each, for at most 10 tokens? [y/N] ');
    return true;
  };
  await environment.agents(KEEPING);
  expect(await statusOf('providers', environment)).toBe('ok');
  expect(calls()).toEqual([{ settings: { maxOutputTokens: 10 }, instructions: [] }]);
});

test.each([
  ['a person says no', async () => false],
  ['nobody can be asked', undefined],
])('no model is called if %s', async (_, ask) => {
  await using environment = await Environment.open();
  environment.flags.live = true;
  environment.machine.ask = ask;
  await environment.agents(KEEPING);
  expect(await statusOf('providers', environment)).toBe('skipped');
  expect(calls()).toEqual([]);
});

test('a report has no instructions of an agent and no description of a tool', async () => {
  await using environment = await Environment.open();
  await environment.agents(KEEPING);
  const text = JSON.stringify(await environment.examine());
  expect(text).toContain('1 agent');
  expect(text).not.toMatch(/margin/);
});

test('commands of a report name the agents module and the server that were examined', async () => {
  await using environment = await Environment.open({ pollers: [], openAgents: ['ghost'] });
  await environment.agents(KEEPING);
  environment.flags.namespace = 'default';
  const { checks } = await environment.examine();
  const commandOf = (name: string): string | undefined => checks.find((check) => check.name === name)?.command;
  expect(commandOf('pollers')).toMatch(`longhaul worker --agents ${environment.flags.agents} --address `);
  expect(commandOf('known-agents')).toBe(`longhaul list --status running --address ${environment.flags.address} --namespace default`);
});

test('the keys that open runs need are named with their runs, and those that none needs', async () => {
  await using environment = await Environment.open({ openRuns: { 'clerk-1': ['2026'], 'clerk-2': ['2026'], 'clerk-3': [] } });
  const key = Buffer.alloc(32).toString('base64');
  environment.machine.env['LONGHAUL_ENCRYPTION_KEYS'] = `2026:${key},2025:${key}`;
  const { checks } = await environment.examine();
  expect(checks.find(({ name }) => name === 'codec-keys')).toMatchObject({
    status: 'ok',
    summary:
      'Open runs need the keys "2026" (2 runs), and this process has them. The history of no open run needs "2025"; content that runs have in a payload store may.',
  });
});

test.each([
  [
    { openCollectors: { 'batches of openai': ['2025'] } },
    'Open runs need the keys "2025" (1 run), "2026" (1 run), and this process has them.',
  ],
  [{ openOthers: 3 }, 'Open runs need the keys "2026" (1 run) (of 4 open workflows, 1 were read), and this process has them.'],
])('no key is called unneeded that a collector of batches, or a workflow of the user, may need: %j', async (open, summary) => {
  await using environment = await Environment.open({ openRuns: { 'clerk-1': ['2026'] }, ...open });
  const key = Buffer.alloc(32).toString('base64');
  environment.machine.env['LONGHAUL_ENCRYPTION_KEYS'] = `2026:${key},2025:${key}`;
  const { checks } = await environment.examine();
  expect(checks.find(({ name }) => name === 'codec-keys')).toMatchObject({ status: 'ok', summary });
});

test('tasks that wait because no build is current need that build, and not more workers', async () => {
  const deploymentOptions = { deploymentName: 'shop', buildId: 'b7' };
  await using environment = await Environment.open({
    backlog: { count: 30, ageSeconds: 240 },
    pollers: [{ identity: '1@host', deploymentOptions }],
  });
  const { checks } = await environment.examine();
  const [builds, backlog] = ['builds', 'backlog'].map((name) => checks.find((one) => one.name === name));
  expect(backlog).toMatchObject({ status: 'warn', summary: expect.stringMatching(/240 s: .*none is current/), command: builds?.command });
});
