import { execFile, spawnSync } from 'node:child_process';
import { createHmac, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Chat } from '@ai-sdk/react';
import proto from '@temporalio/proto';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { LonghaulClient, memoryStreams } from 'longhaul/client';
import { createApiKey, fileApiKeys, type Handler, nodeListener } from 'longhaul/server';
import { expect, onTestFinished, test, vi } from 'vitest';
import { z } from 'zod';
import { diagnose } from '../../../examples/cookbook/a-stuck-run.ts';
import { clerk as budgeted, OverBudget, spentBy, startFor } from '../../../examples/cookbook/budget-per-tenant.ts';
import { rater, serviceFor } from '../../../examples/cookbook/called-from-python.ts';
import { sorter, sortTonight, workerOptions } from '../../../examples/cookbook/half-price.ts';
import { codecOf, doctor, encryptedClient, encryptedWorker } from '../../../examples/cookbook/encryption.ts';
import { onGithub, triage } from '../../../examples/cookbook/github-issue-triage.ts';
import { concierge, fillIn, formOf } from '../../../examples/cookbook/human-form.ts';
import { canary, clientAnywhere, smokeTest, workerAnywhere } from '../../../examples/cookbook/moving-to-the-cloud.ts';
import { announce, reporter, scheduleReport } from '../../../examples/cookbook/nightly-report.ts';
import { pay, refundDesk, refuse, waitingRefunds } from '../../../examples/cookbook/refund-with-approval.ts';
import { s3Store } from '../../../examples/cookbook/results-to-s3.ts';
import { again, analyst, retryFailed } from '../../../examples/cookbook/retry-from-step.ts';
import { helper, onSlack } from '../../../examples/cookbook/slack-thread.ts';
import { chatService, chatWith } from '../../../examples/cookbook/streaming-to-react.ts';
import { invoice, reader, readInvoice } from '../../../examples/cookbook/structured-answer.ts';
import { costsBy } from '../../../examples/cookbook/what-it-cost.ts';
import { isDrained, makeCurrent } from '../../../examples/cookbook/versioned-deploy.ts';
import { monitor } from '../../../examples/options/agents.ts';
import { openai } from '../../../worker/index.ts';
import { callCli } from '../../cli/call-cli.ts';
import { completion, startBatchApi } from '../../fakes/batch-api.ts';
import { defineAgent, defineTool } from '../../../src/index.ts';
import { callTool, failWith, hang, say, scriptedModel, structured } from '../../../src/testing/index.ts';
import { historyOf, sharedBundle, Testbed, until } from '../testbed/testbed.ts';

/** A client whose runs begin on the task queue of the testbed. */
const clientOf = (testbed: Testbed): LonghaulClient => new LonghaulClient(testbed.client.temporal, { taskQueue: testbed.taskQueue });

async function listening(server: Server): Promise<string> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test('refunds that wait are listed with what led to them, and are paid in part or refused', async () => {
  await using testbed = await Testbed.open();
  const call = callTool('refund', { order: 42, amount: 150 });
  await testbed.work({ agents: [refundDesk], providers: { openai: scriptedModel([call, call, say('Done.'), say('Sorry.')]) } });
  const client = clientOf(testbed);
  const runs = [
    await client.start(refundDesk, { input: 'It came back', principal: { tenant: testbed.taskQueue } }),
    await client.start(refundDesk, { input: 'It came back', principal: { tenant: testbed.taskQueue } }),
  ];
  const own = async () => (await waitingRefunds(client)).filter(({ about }) => about.tenant === testbed.taskQueue);
  await until(async () => (await own()).length === 2, 'both wait');
  const [first, second] = await own();
  if (first === undefined || second === undefined) throw new Error('Two refunds were listed');
  expect(first.about.question).toBe('It came back');
  await pay(client, first, 'ann', 120);
  await refuse(client, second, 'ann', 'too late');
  const results = await Promise.all(runs.map((run) => run.result({ steps: true })));
  const texts = results.map(({ steps }) => steps[0]?.toolCalls[0]?.result);
  expect(texts).toContain('User denied the tool execution. Reason: too late');
  expect(texts).toContainEqual(expect.stringMatching(/^paid \$120 for order 42/));
});

test('the schedule starts the report, whose end is announced once', async () => {
  await using testbed = await Testbed.open();
  const posted: [string, string][] = [];
  await testbed.work({
    agents: [reporter],
    providers: { openai: scriptedModel([callTool('orders_of', { daysAgo: 1 }), say('1203 orders.')]) },
    notifyEnded: announce(async (id, text) => void posted.push([id, text])) as never,
  });
  await scheduleReport(clientOf(testbed), testbed.taskQueue, testbed.taskQueue);
  const schedule = testbed.client.temporal.schedule.getHandle(testbed.taskQueue);
  const { info, spec } = await schedule.describe();
  expect(info.nextActionTimes.length).toBeGreaterThan(0);
  expect(spec.timezone).toBe('Europe/Zurich');
  await schedule.trigger();
  await until(() => posted.length === 1, 'the report');
  expect(posted[0]?.[1]).toBe('1203 orders.');
  await schedule.delete();
});

test('an issue of GitHub is triaged once, however often it is delivered, and an unsigned delivery never', async () => {
  await using testbed = await Testbed.open();
  const scripted = scriptedModel([say('Nothing to label.')]);
  await testbed.work({ agents: [triage], providers: { openai: scripted } });
  const client = clientOf(testbed);
  const issue = { number: 7, title: 'It crashes', body: 'Always' };
  const id = Date.now() + Math.floor(Math.random() * 1000);
  const body = JSON.stringify({ action: 'opened', repository: { id, full_name: 'acme/shop' }, issue });
  const deliver = (signature: string, event = 'issues') =>
    onGithub(
      client,
      'the-secret',
      new Request('http://localhost/github', {
        method: 'POST',
        body,
        headers: { 'x-github-event': event, 'x-hub-signature-256': `sha256=${signature}` },
      }),
    );
  const signature = createHmac('sha256', 'the-secret').update(body).digest('hex');
  expect((await deliver('0'.repeat(64))).status).toBe(401);
  expect((await deliver(signature, 'push')).status).toBe(204);
  const [first, second] = [await deliver(signature), await deliver(signature)];
  expect([first.status, second.status]).toEqual([202, 202]);
  const { runId } = (await first.json()) as { runId: string };
  expect(await second.json()).toEqual({ runId });
  const result = await client.handle(runId).result({ deps: true });
  expect(result).toMatchObject({ success: true, deps: { repository: 'acme/shop', issue: 7 } });
  expect(scripted.requests).toHaveLength(1);
});

test('a thread of Slack is one session: each event is answered once, in the thread', async () => {
  await using testbed = await Testbed.open();
  const posted: string[][] = [];
  const slack = { post: async (...message: string[]) => void posted.push(message) };
  const scripted = scriptedModel([callTool('reply', { text: 'Hello' }), say('done'), callTool('reply', { text: 'Again' }), say('done')]);
  await testbed.work({ agents: [helper], providers: { openai: scripted }, resources: { slack } });
  const client = clientOf(testbed);
  const channel = `C${randomUUID()}`;
  const deliver = (payload: object, { secret = 'signing', time = Math.floor(Date.now() / 1000) } = {}): Promise<Response> => {
    const body = JSON.stringify(payload);
    const signature = `v0=${createHmac('sha256', secret).update(`v0:${time}:${body}`).digest('hex')}`;
    const headers = { 'x-slack-request-timestamp': String(time), 'x-slack-signature': signature };
    return onSlack(client, 'signing', new Request('http://localhost/slack', { method: 'POST', body, headers }));
  };
  expect(await (await deliver({ type: 'url_verification', challenge: 'c7' })).text()).toBe('c7');
  const first = { event_id: 'E1', event: { channel, ts: '1.1', user: 'ada', text: 'Hi' } };
  expect((await deliver(first, { secret: 'another' })).status).toBe(401);
  expect((await deliver(first, { time: 1_000_000_000 })).status).toBe(401);
  expect((await deliver(first)).status).toBe(200);
  expect((await deliver(first)).status).toBe(200);
  const session = client.handle(`slack-${channel}-1.1`);
  await until(async () => (await session.status()).status === 'idle', 'the first answer');
  await deliver({ event_id: 'E2', event: { channel, ts: '1.2', thread_ts: '1.1', user: 'eve', text: 'And me?' } });
  await deliver({ event_id: 'E3', event: { channel, ts: '1.3', thread_ts: '1.1', bot_id: 'B1', text: 'Again' } });
  await until(() => posted.length === 2, 'the second answer');
  expect(posted).toEqual([
    [channel, '1.1', 'Hello'],
    [channel, '1.1', 'Again'],
  ]);
  expect(JSON.stringify(scripted.requests.at(-1)?.conversation)).toContain('ada: Hi');
  await session.cancel('the test is over');
});

test('a run that has failed continues from the failed step, and a run that went wrong from a chosen step, with a hint', async () => {
  await using testbed = await Testbed.open();
  const since = new Date(Date.now() - 1_000);
  const scripted = scriptedModel([
    callTool('crunch', { year: 2025 }),
    failWith('model_unauthorized'),
    say('2025 was better.'),
    hang(),
    say('2026 was better.'),
  ]);
  await testbed.work({ agents: [analyst], providers: { openai: scripted } });
  const client = clientOf(testbed);
  const run = await client.start(analyst, { input: 'Compare' });
  expect(await run.result()).toMatchObject({ status: 'error' });
  await until(async () => (await retryFailed(client, since)).includes(run.runId), 'the run is listed as failed');
  const second = await run.result({ steps: true });
  expect(second.output).toBe('2025 was better.');
  expect(second.steps.map(({ toolCalls }) => toolCalls.length)).toEqual([1, 0]);

  expect(await again(client, run.runId, 2, 'Look at 2026, too')).toMatchObject({ fromStep: 2 });
  expect(await run.result()).toMatchObject({ output: '2026 was better.' });
  expect(JSON.stringify(scripted.requests.at(-1)?.conversation)).toContain('Look at 2026, too');
});

test('a tenant starts runs until its budget is used up, and each run has the rest as its limit', async () => {
  await using testbed = await Testbed.open();
  const scripted = scriptedModel([say('Yes.')]);
  await testbed.work({
    agents: [budgeted],
    providers: { openai: scripted },
    prices: { 'openai/gpt-5-mini': { input: 3_000, output: 3_000 } },
  });
  const client = clientOf(testbed);
  const before = await spentBy(client, 'globex');
  const run = await startFor(client, { tenant: 'globex', user: 'ada' }, 'Is it open?');
  expect((await run.result()).success).toBe(true);
  expect((await run.status()).limits).toMatchObject({ costUsd: 1 });
  await until(async () => (await spentBy(client, 'globex')) > before, 'the cost is listed');
  const within = { startedAfter: new Date(Date.now() - 60_000).toISOString(), startedBefore: new Date(Date.now() + 60_000).toISOString() };
  const users = await costsBy(client.as({ tenant: 'globex', user: 'ada' }), 'user', within);
  expect(users).toMatchObject([{ value: 'ada', dollars: expect.any(Number) as number, unpriced: 0 }]);
  expect(users[0]?.dollars).toBeGreaterThan(0);
  expect(await costsBy(client, 'tenant', { ...within, startedAfter: within.startedBefore })).toEqual([]);
  await expect(startFor(client, { tenant: 'nobody', user: 'ada' }, 'Is it open?')).rejects.toThrow(OverBudget);
});

test('a form is drawn from the schema of the question, and takes only an answer that fits', async () => {
  await using testbed = await Testbed.open();
  await testbed.work({
    agents: [concierge],
    providers: { openai: scriptedModel([callTool('ask_for_delivery', { question: 'Where to?' }), say('Thursday it is.')]) },
  });
  const client = clientOf(testbed);
  const { runId } = await client.start(concierge, { input: 'Deliver my order' });
  await until(async () => (await formOf(client, runId)) !== undefined, 'the question');
  const form = await formOf(client, runId);
  expect(form?.fields).toEqual([
    { name: 'street', label: 'Street and number', type: 'string' },
    { name: 'day', label: 'Day of delivery', type: 'string', choices: ['monday', 'thursday'] },
    { name: 'gift', label: 'Wrap it as a gift', type: 'boolean' },
  ]);
  const callId = form?.callId ?? '';
  await expect(fillIn(client, runId, callId, { street: 'Long Lane 1', day: 'friday', gift: true })).rejects.toThrow(/day/);
  await fillIn(client, runId, callId, { street: 'Long Lane 1', day: 'thursday', gift: true });
  const result = await client.handle(runId).result({ steps: true });
  expect(result.steps[0]?.toolCalls[0]?.result).toContain('thursday');
  expect(await formOf(client, runId)).toBeUndefined();
});

test('the server has nothing in clear text of an encrypted run, and a client without the keys reads nothing', async () => {
  await using testbed = await Testbed.open();
  const keys = new Map([['k1', Buffer.alloc(32, 7)]]);
  const codec = codecOf({ read: async (keyId) => keys.get(keyId) }, 'k1');
  const { address, taskQueue } = testbed;
  const { namespace } = testbed.client.temporal.options;
  const providers = { openai: scriptedModel([say('All is well.')]) };
  const bundled = { workflowBundle: sharedBundle(codec), debugMode: true };
  const worker = await encryptedWorker(codec, { address, namespace, taskQueue, providers, worker: bundled });
  const running = worker.run();
  const client = await encryptedClient(codec, { address, namespace, taskQueue });
  const { runId, output } = await client.run(doctor, { input: 'A finding of Ada' });
  expect(output).toBe('All is well.');
  const { HistoryEvent } = proto.temporal.api.history.v1;
  const history = Buffer.concat((await historyOf(testbed, runId)).map((event) => HistoryEvent.encode(event).finish())).toString('latin1');
  // Names stay readable: a search finds them.
  expect(history).toContain('doctor');
  for (const text of ['A finding of Ada', 'All is well', 'plain words']) expect(history).not.toContain(text);
  await expect(testbed.client.handle(runId).result()).rejects.toThrow('encryption key "k1" is missing');
  worker.shutdown();
  await running;
  await client.close();
});

test('the profile of the CLI says where worker and client connect, and a run goes through both', async () => {
  await using testbed = await Testbed.open();
  const folder = await mkdtemp(join(tmpdir(), 'longhaul-profile-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const { namespace } = testbed.client.temporal.options;
  const file = join(folder, 'temporal.toml');
  await writeFile(file, `[profile.cloud]\naddress = "${testbed.address}"\nnamespace = "${namespace}"\n`);
  for (const name of ['TEMPORAL_ADDRESS', 'TEMPORAL_NAMESPACE', 'TEMPORAL_API_KEY']) vi.stubEnv(name, undefined);
  vi.stubEnv('TEMPORAL_CONFIG_FILE', file);
  vi.stubEnv('TEMPORAL_PROFILE', 'cloud');
  const { taskQueue } = testbed;
  const providers = { openai: scriptedModel([say('ready')]) };
  const bundled = { workflowBundle: sharedBundle(undefined), debugMode: true };
  const worker = await workerAnywhere({ agents: [canary], providers, taskQueue, worker: bundled });
  const running = worker.run();
  const client = await clientAnywhere();
  expect(client.temporal.options.namespace).toBe(namespace);
  const problems = await smokeTest(client, taskQueue);
  expect(problems.filter((problem) => !problem.startsWith('The run is in no list'))).toEqual([]);
  worker.shutdown();
  await running;
  await client.close();
});

test('a run that makes no progress shows what it waits for', async () => {
  await using testbed = await Testbed.open();
  const client = clientOf(testbed);
  const { runId } = await client.start(refundDesk, { input: 'It came back' });
  const { taskQueue } = testbed;
  await until(async () => (await diagnose(client, runId)).waitsFor === `a worker: none polls task queue "${taskQueue}"`, 'nobody takes it');
  const { stdout } = await callCli(['show', runId, '--address', testbed.address]);
  expect(stdout).toMatch(new RegExp(`Waits +for a worker since .*: no worker polls task queue "${taskQueue}"`));

  const failing = defineTool({
    name: 'call_bank',
    description: 'Calls',
    parameters: z.object({}),
    execute: () => Promise.reject(new Error('the line is busy')),
    backoff: { initial: '1m' },
  });
  const caller = defineAgent({ name: 'caller', model: 'openai/m', tools: [failing] });
  const scripted = scriptedModel([callTool('refund', { order: 42, amount: 150 }), callTool('call_bank'), hang()]);
  const refused = defineAgent({ name: 'refused', model: 'down/m', limits: { deadline: '1h' } });
  const down = scriptedModel([failWith('model_rate_limited', 'slow down', { retryAfter: '5m' }), hang()]);
  await testbed.work({ agents: [refundDesk, caller, refused], providers: { openai: scripted, down } });
  await until(async () => (await diagnose(client, runId)).waitsFor === 'a decision on refund', 'the refund waits');
  const call = await client.start(caller, { input: 'Call' });
  await until(
    async () => /attempt \d+ of call_bank, after: .*line is busy/.test((await diagnose(client, call.runId)).waitsFor),
    'it failed',
  );
  const unknown = await client.start('clrek', { input: 'Hi' });
  await until(async () => (await diagnose(client, unknown.runId)).waitsFor === 'a worker with agent "clrek"', 'nobody has it');
  const waiting = await client.start(refused, { input: 'Hi' });
  await until(
    async () => (await diagnose(client, waiting.runId)).waitsFor.startsWith('the provider, which has refused callModel'),
    'it is down',
  );
  for (const id of [runId, call.runId, unknown.runId, waiting.runId]) await client.handle(id).cancel('the test is over');
  await client.handle(runId).result();
  expect(await diagnose(client, runId)).toMatchObject({ waitsFor: 'nothing: it has ended (cancelled)' });
});

test('new runs begin on the build that was made current, and a build without runs is drained', async () => {
  await using testbed = await Testbed.open();
  const deploymentName = `deployment-${randomUUID()}`;
  const hold = (text: string) => ({
    agents: [defineAgent({ name: 'holding', model: 'scripted/m' })],
    providers: { scripted: scriptedModel([hang(text), say(text)]) },
    versioning: { deploymentName, buildId: text, behavior: 'PINNED' as const },
  });
  const client = clientOf(testbed);
  const isCurrent = (buildId: string) =>
    makeCurrent(client, deploymentName, buildId).then(
      () => true,
      () => false,
    );
  await testbed.work(hold('one'));
  await until(() => isCurrent('one'), 'build one polls');
  const first = await client.start('holding', { input: 'Wait' });
  await until(async () => ((await first.status()).running ?? []).length > 0, 'the first run');
  await until(async () => !(await isDrained(client, deploymentName, 'one')), 'the run is listed');
  await testbed.work(hold('two'));
  await until(() => isCurrent('two'), 'build two polls');
  await first.send('Now', { mode: 'interrupt' });
  expect((await first.result()).output).toBe('one');
  await until(() => isDrained(client, deploymentName, 'one'), 'build one is drained');
  const second = await client.start('holding', { input: 'Wait' });
  await until(async () => ((await second.status()).running ?? []).length > 0, 'the second run');
  await second.send('Now', { mode: 'interrupt' });
  expect((await second.result()).output).toBe('two');
});

/** A bucket in memory with the requests that the store sends: PUT, GET, DELETE and a list by prefix, two keys a page. */
function bucket(): { objects: Map<string, Uint8Array>; handler: Handler } {
  const objects = new Map<string, Uint8Array>();
  return {
    objects,
    handler: async (request) => {
      const url = new URL(request.url);
      const key = decodeURIComponent(url.pathname.slice(1));
      if (request.method === 'PUT') objects.set(key, new Uint8Array(await request.arrayBuffer()));
      else if (request.method === 'DELETE') objects.delete(key);
      else if (url.searchParams.get('list-type') === '2') {
        const keys = [...objects.keys()].filter((one) => one.startsWith(url.searchParams.get('prefix') ?? '')).slice(0, 2);
        return new Response(`<ListBucketResult>${keys.map((one) => `<Contents><Key>${one}</Key></Contents>`).join('')}</ListBucketResult>`);
      } else return objects.has(key) ? new Response(objects.get(key) as never) : new Response('NoSuchKey', { status: 404 });
      return new Response(null, { status: 200 });
    },
  };
}

test('large results are in the bucket, are read whole, and are deleted with their run', async () => {
  await using testbed = await Testbed.open();
  const { objects, handler } = bucket();
  const url = await listening(createServer(nodeListener(handler)));
  const payloadStore = s3Store((path, init) => fetch(`${url}${path}`, init));
  const hours = [2_000, 2_001, 2_002];
  const scripted = scriptedModel([...hours.map((hour) => callTool('read_log', { hour })), say('All is well.')]);
  await testbed.work({ agents: [monitor], providers: { openai: scripted }, payloadStore });
  const client = new LonghaulClient(testbed.client.temporal, { taskQueue: testbed.taskQueue, payloadStore });
  const { runId } = await client.run(monitor, { input: 'Look' });
  expect(objects.size).toBe(3);
  const [{ toolCalls } = { toolCalls: [] }] = await client.handle(runId).steps();
  const spilled = toolCalls[0]?.spilled;
  if (spilled === undefined) throw new Error('The first result was not spilled');
  const whole = JSON.stringify(await client.readSpilled(spilled));
  expect(whole.includes('no errors in hour 2000; '.repeat(2_000))).toBe(true);
  await client.handle(runId).delete();
  expect(objects.size).toBe(0);
});

test('an invoice is read with its type, and an unreadable one is refused', async () => {
  await using testbed = await Testbed.open();
  const good = { number: 'A7', due: '2027-01-31', total: 70, lines: [{ what: 'pump', amount: 70 }] };
  const bad = structured({ ...good, due: 'soon' });
  await testbed.work({ agents: [reader], providers: { openai: scriptedModel([bad, structured(good), bad, bad, bad, bad]) } });
  const client = clientOf(testbed);
  vi.spyOn(console, 'warn').mockReturnValue();
  expect(await readInvoice(client, 'https://files.example/a7.pdf')).toEqual(invoice.parse(good));
  expect(await readInvoice(client, 'https://files.example/a8.pdf')).toBeUndefined();
  vi.restoreAllMocks();
});

test('a page with a token of its user shows the answer as it is written', async () => {
  await using testbed = await Testbed.open();
  const streams = memoryStreams();
  const clerk = defineAgent({ name: 'clerk', model: 'openai/m' });
  const scripted = scriptedModel([say('It is on its way.', { chunks: 6, every: '30ms' })]);
  await testbed.work({ agents: [clerk], providers: { openai: scripted }, streams });
  const client = new LonghaulClient(testbed.client.temporal, { taskQueue: testbed.taskQueue, streams });

  const { publicKey, privateKey } = await generateKeyPair('ES256');
  let issuer = '';
  const keys = { keys: [{ ...(await exportJWK(publicKey)), kid: 'k1', alg: 'ES256' }] };
  const identity: Handler = async (request) =>
    Response.json(new URL(request.url).pathname === '/keys' ? keys : { issuer, jwks_uri: `${issuer}/keys` });
  issuer = await listening(createServer(nodeListener(identity)));
  const token = await new SignJWT({ scope: 'runs:read runs:write' })
    .setProtectedHeader({ alg: 'ES256', kid: 'k1' })
    .setIssuer(issuer)
    .setAudience('chat')
    .setSubject('ada')
    .setExpirationTime('5m')
    .sign(privateKey);
  const origin = await listening(createServer(nodeListener(chatService(client, issuer))));
  const chat = new Chat(chatWith('clerk', randomUUID(), async () => token, origin));
  await chat.sendMessage({ text: 'Where is order 42?' });
  const answer = chat.messages.at(-1);
  expect(answer?.parts.filter(({ type }) => type === 'text')).toMatchObject([{ text: 'It is on its way.' }]);
  expect((await client.handle(answer?.metadata?.runId ?? '').status()).about).toMatchObject({ user: 'ada' });
});

const hasPython = spawnSync('python3', ['--version']).status === 0;

test.skipIf(!hasPython)('another team calls the agent from Python, and the same order is the same run', async () => {
  await using testbed = await Testbed.open();
  const scripted = scriptedModel([structured({ risk: 'high', reason: 'A new address.' })]);
  await testbed.work({ agents: [rater], providers: { openai: scripted } });
  const folder = await mkdtemp(join(tmpdir(), 'longhaul-keys-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const keys = fileApiKeys({ file: join(folder, 'keys.json') });
  const { text: key } = await createApiKey(keys, { name: 'risk', scopes: ['runs:read', 'runs:write'], principal: { tenant: 'risk' } });
  const url = await listening(serviceFor(clientOf(testbed), keys));
  const program = fileURLToPath(new URL('../../../examples/cookbook/called-from-python.py', import.meta.url));
  const rate = async (): Promise<unknown> =>
    JSON.parse((await promisify(execFile)('python3', [program, url, key, testbed.taskQueue, 'Order 42: 900 pumps'])).stdout);
  expect(await rate()).toEqual(['completed', { risk: 'high', reason: 'A new address.' }]);
  expect(await rate()).toEqual(['completed', { risk: 'high', reason: 'A new address.' }]);
  expect(scripted.requests).toHaveLength(1);
});

test('letters wait for one batch, and a letter that is sent again is the same run', async () => {
  await using testbed = await Testbed.open();
  const api = await startBatchApi({ answer: () => completion('complaint') });
  await testbed.work({
    agents: [sorter],
    providers: { openai: openai({ baseURL: api.url, apiKey: 'key', api: 'chat' }) },
    batch: { openai: { ...workerOptions.batch.openai, window: 400 } },
  });
  const client = clientOf(testbed);
  const id = randomUUID();
  const letters = new Map([
    [`${id}-1`, 'The pump leaks'],
    [`${id}-2`, 'It leaks again'],
  ]);
  const runIds = await sortTonight(client, letters);
  expect(await sortTonight(client, letters)).toEqual(runIds);
  const results = await Promise.all(runIds.map((runId) => client.handle(runId).result()));
  expect(results.map(({ output }) => output)).toEqual(['complaint', 'complaint']);
  await api.close();
});
