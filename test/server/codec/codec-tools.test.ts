import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, inject, onTestFinished, test } from 'vitest';
import { connect } from '../../../src/client/index.ts';
import { startCodecServer } from '../../../src/cli/serve/codec-server.ts';
import { freePorts } from '../../../src/dev-server/start-flags.ts';
import { failWith, scriptedModel } from '../../../src/testing/index.ts';
import { startCli, untilSaid } from '../../cli/cli-process.ts';
import { codecWith, DISCREET_SCRIPT, keeper, keysVariable, SECRETS } from './codec-agents.ts';
import { Testbed } from '../testbed/testbed.ts';

const cliPath = inject('temporalCliPath') ?? '';
const codec = codecWith('k1', 1);
const TOKEN = 'open-sesame';

/** A completed run and a failed run on the server that all tests share. */
let completed: string;
let failed: string;
let endpoint: string;

beforeAll(async () => {
  await using testbed = await Testbed.open();
  const scripted = scriptedModel([...DISCREET_SCRIPT, failWith('model_bad_request', SECRETS.runFailure)]);
  await testbed.work({ agents: [keeper], providers: { scripted }, codec });
  const client = await connect({ address: testbed.address, taskQueue: testbed.taskQueue, codec });
  const input = { input: SECRETS.prompt, deps: { customer: SECRETS.deps } };
  completed = (await client.run(keeper, input)).runId;
  failed = (await client.run(keeper, input)).runId;
  await client.close();
  const server = await startCodecServer({ codec, token: TOKEN });
  endpoint = server.url;
  return () => server.stop();
});

interface Outcome {
  code: number;
  text: string;
}

/** Calls the Temporal CLI. */
async function temporal(args: readonly string[], address = inject('temporalAddress')): Promise<Outcome> {
  const env = { PATH: process.env['PATH'], HOME: process.env['HOME'] };
  return new Promise((resolve) => {
    execFile(cliPath, [...args, '--address', address], { env, maxBuffer: 64 * 1024 * 1024 }, (error, stdout, stderr) =>
      resolve({ code: typeof error?.code === 'number' ? error.code : 0, text: stdout + stderr }),
    );
  });
}

function withCodecServer(url = endpoint, token = TOKEN): string[] {
  return ['--codec-endpoint', url, '--codec-auth', `Bearer ${token}`];
}

function shown(text: string): string[] {
  return Object.values(SECRETS).filter((secret) => text.includes(secret));
}

describe.skipIf(cliPath === '')('the Temporal CLI', () => {
  test('shows the history of a run in clear text through the codec server, and nothing without it', async () => {
    const show = ['workflow', 'show', '--workflow-id', completed, '--output', 'json'];
    const without = await temporal(show);
    expect({ code: without.code, shown: shown(decodedBase64(without.text)) }).toEqual({ code: 0, shown: [] });
    const { code, text } = await temporal([...show, ...withCodecServer()]);
    expect(code).toBe(0);
    const { prompt, deps, instructions, toolDescription, toolArguments, toolResult, toolFailure, state, thought, answer } = SECRETS;
    const all = [prompt, deps, instructions, toolDescription, toolArguments, toolResult, toolFailure, state, thought, answer];
    expect(shown(decodedBase64(text))).toEqual(expect.arrayContaining(all));
  });

  test('describes a run with its result in clear text through the codec server, and not without it', async () => {
    const describeRun = ['workflow', 'describe', '--workflow-id', completed];
    expect(shown((await temporal(describeRun)).text)).toEqual([]);
    expect(shown((await temporal([...describeRun, ...withCodecServer()])).text)).toContain(SECRETS.answer);
  });

  test('shows the failure of a run through the codec server, and only its type without', async () => {
    const show = ['workflow', 'show', '--workflow-id', failed, '--output', 'json'];
    const without = decodedBase64((await temporal(show)).text);
    expect(without).toContain('model_bad_request');
    expect(without).toContain('Encoded failure');
    expect(shown(without)).toEqual([]);
    expect(shown(decodedBase64((await temporal([...show, ...withCodecServer()])).text))).toContain(SECRETS.runFailure);
  });

  test('starts a run with input that the codec server encrypts', async () => {
    await using testbed = await Testbed.open();
    const workflowId = `codec-${testbed.taskQueue}`;
    const input = JSON.stringify({ agent: 'keeper', input: SECRETS.prompt });
    const start = [
      'workflow',
      'start',
      '--type',
      'agentRun',
      '--task-queue',
      testbed.taskQueue,
      '--workflow-id',
      workflowId,
      '--input',
      input,
    ];
    expect((await temporal([...start, ...withCodecServer()])).code).toBe(0);
    const show = ['workflow', 'show', '--workflow-id', workflowId, '--output', 'json'];
    const { text } = await temporal(show);
    expect(decodedBase64(text)).toContain('binary/aes-256-gcm');
    expect(shown(decodedBase64(text))).toEqual([]);
    expect(shown(decodedBase64((await temporal([...show, ...withCodecServer()])).text))).toContain(SECRETS.prompt);
  });

  test('fails if the token is wrong or the key is missing, and the codec server says why', async () => {
    const show = ['workflow', 'show', '--workflow-id', completed, '--command-timeout', '2s'];
    const said: string[] = [];
    const other = await startCodecServer({ codec: codecWith('k2', 2), token: TOKEN, onRefusal: (line) => said.push(line) });
    onTestFinished(() => other.stop());
    expect(await temporal([...show, ...withCodecServer(other.url, 'wrong')])).toMatchObject({ code: 1 });
    expect(new Set(said)).toEqual(new Set(['401: Send the header "Authorization: Bearer <token>"']));
    said.length = 0;
    expect(await temporal([...show, ...withCodecServer(other.url)])).toMatchObject({ code: 1 });
    expect(said[0]).toContain('400: The encryption key "k1" is missing');
  });
});

describe('longhaul codec-server', () => {
  test('decodes with the keys of its environment, only for callers with the token, until it is ended', async () => {
    const [port] = await freePorts([undefined]);
    const env = { LONGHAUL_ENCRYPTION_KEYS: keysVariable('k1', 1), LONGHAUL_CODEC_TOKEN: TOKEN };
    const args = [
      'codec-server',
      '--port',
      String(port),
      '--allow-origin',
      'https://a.example',
      '--allow-origin',
      'https://b.example',
      '--json',
    ];
    const server = startCli(args, env);
    onTestFinished(() => void server.child.kill('SIGKILL'));
    await untilSaid(server, () => server.stdout().includes('\n'), 'the line that says that all is ready');
    const url = `http://127.0.0.1:${port}`;
    expect(JSON.parse(server.stdout())).toEqual({ url, allowOrigins: ['https://a.example', 'https://b.example'], token: true });
    const body = JSON.stringify({ payloads: [] });
    expect((await fetch(`${url}/decode`, { method: 'POST', body })).status).toBe(401);
    expect(await (await fetch(`${url}/decode`, { method: 'POST', body, headers: { authorization: `Bearer ${TOKEN}` } })).text()).toBe(body);
    const page = await fetch(`${url}/decode`, { method: 'OPTIONS', headers: { origin: 'https://b.example' } });
    expect(page.headers.get('access-control-allow-origin')).toBe('https://b.example');
    server.child.kill('SIGTERM');
    expect(await server.ended).toBe(0);
    expect(server.stderr()).toBe('The codec server has refused a request (401: Send the header "Authorization: Bearer <token>")\n');
  });

  test('refuses an address that other machines can reach if it has no token', async () => {
    const server = startCli(['codec-server', '--host', '0.0.0.0', '--port', '8234'], { LONGHAUL_CODEC_TOKEN: '' });
    expect(await server.ended).toBe(2);
    expect(server.stderr()).toContain('would show clear text');
  });
});

test.skipIf(cliPath === '')('longhaul dev with keys starts a codec server, and its Temporal UI knows the address', async () => {
  const [port, uiPort] = await freePorts([undefined, undefined]);
  const agents = fileURLToPath(new URL('../../cli/fixtures/scripted-agents.ts', import.meta.url));
  const args = ['dev', '--agents', agents, '--port', String(port), '--ui-port', String(uiPort), '--memory', '--json'];
  const env = { LONGHAUL_ENCRYPTION_KEYS: keysVariable('k1', 1) };
  const dev = startCli(args, { ...env, TEMPORAL_CLI_PATH: cliPath, TEMPORAL_ADDRESS: '' });
  onTestFinished(() => void dev.child.kill('SIGKILL'));
  await untilSaid(dev, () => dev.stdout().includes('\n'), 'the line that says that all is ready');
  const { address, uiUrl, codecEndpoint } = JSON.parse(dev.stdout()) as { address: string; uiUrl: string; codecEndpoint: string };
  const settings = (await (await fetch(`${uiUrl}/api/v1/settings`)).json()) as { Codec?: { Endpoint?: string } };
  expect(settings.Codec?.Endpoint).toBe(codecEndpoint);

  const start = startCli(['start', 'clerk', SECRETS.prompt, '--wait', '--run-id', 'codec-dev', '--address', address], env);
  expect(await start.ended).toBe(0);
  const show = ['workflow', 'show', '--workflow-id', 'codec-dev', '--output', 'json'];
  expect(shown(decodedBase64((await temporal(show, address)).text))).toEqual([]);
  expect(shown(decodedBase64((await temporal([...show, '--codec-endpoint', codecEndpoint], address)).text))).toEqual([SECRETS.prompt]);

  for (const origin of [uiUrl, uiUrl.replace('127.0.0.1', 'localhost')]) {
    const headers = { origin, 'access-control-request-method': 'POST', 'access-control-request-headers': 'content-type,x-namespace' };
    const preflight = await fetch(`${codecEndpoint}/decode`, { method: 'OPTIONS', headers });
    expect({ status: preflight.status, origin: preflight.headers.get('access-control-allow-origin') }).toEqual({ status: 204, origin });
  }
  dev.child.kill('SIGINT');
  expect(await dev.ended).toBe(0);
  await expect(fetch(`${codecEndpoint}/decode`)).rejects.toThrow('fetch failed');
});

/** Appends the decoded base64 of a text: the CLI prints payloads as base64. */
function decodedBase64(text: string): string {
  const encoded = text.match(/"[A-Za-z0-9+/]{8,}={0,2}"/g) ?? [];
  return [text, ...encoded.map((one) => Buffer.from(one.slice(1, -1), 'base64').toString('latin1'))].join('\n');
}
