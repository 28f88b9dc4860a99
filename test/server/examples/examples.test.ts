import { randomUUID } from 'node:crypto';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { connect, LonghaulClient, memoryStreams } from 'longhaul/client';
import { expect, test, vi } from 'vitest';
import { decideRefunds, desk } from '../../../examples/approvals/refunds.ts';
import { agents } from '../../../examples/first-agent/agents.ts';
import { clerk, type Shop } from '../../../examples/tools/shop.ts';
import { triage } from '../../../examples/options/agents.ts';
import { createService } from '../../../examples/service/service.ts';
import { watch } from '../../../examples/streaming/watch.ts';
import { shopkeeper, talk } from '../../../examples/conversations/conversation.ts';
import { narrow } from '../../../examples/steering/steer.ts';
import { productionWorker } from '../../../examples/worker/worker.ts';
import { agents as team } from '../../../examples/workflow/agents.ts';
import { callTool, hang, say, scriptedModel, structured, together } from '../../../src/testing/index.ts';
import { Testbed, until } from '../testbed/testbed.ts';

test('the service of the README starts a run once, reports its status, gives the answer, and cancels it', async () => {
  await using testbed = await Testbed.open();
  const scripted = scriptedModel([callTool('look_up_order', { order: 42 }), say('It is shipped.'), hang()]);
  await testbed.work({ agents, providers: { openai: scripted } });
  const service = createService(new LonghaulClient(testbed.client.temporal, { taskQueue: testbed.taskQueue }));
  await new Promise<void>((resolve) => service.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(service.address() as AddressInfo).port}/questions`;
  const post = async (requestId: string): Promise<string> => {
    const response = await fetch(url, {
      method: 'POST',
      body: JSON.stringify({ question: 'Where is order 42?', customer: 'Ada', requestId }),
    });
    expect(response.status).toBe(202);
    return ((await response.json()) as { id: string }).id;
  };
  const get = async (id: string): Promise<Record<string, unknown>> =>
    (await (await fetch(`${url}/${id}`)).json()) as Record<string, unknown>;

  const id = await post(testbed.taskQueue);
  expect(await post(testbed.taskQueue)).toBe(id);
  await until(async () => (await get(id))['status'] === 'completed', 'the answer');
  expect(await get(id)).toMatchObject({ answer: 'It is shipped.' });
  expect(JSON.stringify(scripted.requests[0]?.instructions)).toContain('Ada');
  expect(JSON.stringify(scripted.requests[1]?.conversation)).toContain('ACME Post');

  const other = await post(`${testbed.taskQueue}-2`);
  await until(() => scripted.requests.length === 3, 'the second question');
  expect(await get(other)).toMatchObject({ status: 'running' });
  expect((await fetch(`${url}/${other}`, { method: 'DELETE' })).status).toBe(202);
  await until(async () => (await get(other))['status'] === 'cancelled', 'the cancellation');
  expect((await fetch(`${url}/question-nobody-asked`)).status).toBe(404);
  service.close();
});

test('the refunds of the README wait for a clerk: one is paid, one is rejected with the reason, and a small one needs no approval', async () => {
  await using testbed = await Testbed.open();
  const refund = (amount: number): ReturnType<typeof callTool> => callTool('refund', { order: 42, amount }, 'c1');
  const amounts = [80, 150, 900];
  const scripted = scriptedModel(amounts.flatMap((amount) => [refund(amount), say(`done with ${amount}`)]));
  await testbed.work({ agents: [desk], providers: { openai: scripted } });
  const results: string[] = [];
  for (const amount of amounts) {
    const run = await testbed.client.start(desk, { input: 'I sent it back', taskQueue: testbed.taskQueue });
    if (amount > 100) {
      await until(async () => (await run.status()).status === 'pending_confirmation', 'the refund waits');
      // The search attributes are written a moment after the status has changed.
      await until(async () => {
        await decideRefunds(new LonghaulClient(testbed.client.temporal), 'ann', 200);
        return (await run.approvals()).pending.length === 0;
      }, 'the clerk has decided');
    }
    const { steps } = await run.result({ steps: true });
    results.push(steps?.[0]?.toolCalls[0]?.result ?? '');
  }
  expect(results).toEqual([
    expect.stringMatching(/^refunded \$80 /) as string,
    expect.stringMatching(/^refunded \$150 /) as string,
    'User denied the tool execution. Reason: ann may pay $200: offer that much',
  ]);
});

test('the shop of the README keeps a cart that its tools share, and takes the money once', async () => {
  await using testbed = await Testbed.open();
  const add = (article: string): ReturnType<typeof callTool> => callTool('add_to_cart', { article });
  const scripted = scriptedModel([add('lamp'), together(add('table'), add('chair')), callTool('pay'), say('Yours.')]);
  const shop: Shop = {
    stock: new Map([
      ['table', 3],
      ['chair', 9],
    ]),
    payments: new Map(),
  };
  const secrets = (name: string): string | undefined => (name === 'payment-key' ? 'k'.repeat(20) : undefined);
  await testbed.work({ agents: [clerk], providers: { openai: scripted }, resources: { shop }, secrets });
  const run = { input: 'A table and a chair', deps: { userId: 'u1', cart: [] }, taskQueue: testbed.taskQueue, steps: true };
  const { runId, steps } = await testbed.client.run(clerk, run);
  expect(steps?.flatMap(({ toolCalls }) => toolCalls.map(({ result }) => result))).toEqual([
    'There is no "lamp". There are: table, chair\nPlease try again.',
    '{"articles":1}',
    '{"articles":2}',
    'receipt for table,chair, signed with 20 characters',
  ]);
  expect((await testbed.client.handle(runId).context()).deps).toEqual({ userId: 'u1', cart: ['table', 'chair'] });
  expect(shop.payments.size).toBe(1);
});

test('the workflow of the README runs two agents, one on the result of the other', async () => {
  await using testbed = await Testbed.open();
  const scripted = scriptedModel([say('It is far away.'), say('A report: it is far away.')]);
  const workflowsPath = fileURLToPath(new URL('../../../examples/workflow/report.ts', import.meta.url));
  await testbed.work({ agents: team, providers: { openai: scripted }, workflowsPath });
  const start = { args: ['the Moon'], taskQueue: testbed.taskQueue, workflowId: testbed.taskQueue };
  expect(await testbed.client.temporal.workflow.execute('report', start)).toBe('A report: it is far away.');
  expect(JSON.stringify(scripted.requests[1]?.conversation)).toContain('Write about: It is far away.');
});

test('the conversation of the README is one run', async () => {
  await using testbed = await Testbed.open();
  const openai = scriptedModel([say('On its way'), say('Delivered')]);
  await testbed.work({ agents: [shopkeeper], providers: { openai } });
  const client = new LonghaulClient(testbed.client.temporal, { taskQueue: testbed.taskQueue });
  const chatId = randomUUID();
  expect(await talk(client, chatId)).toEqual(['On its way', 'Delivered']);
  expect(await client.handle(`chat-${chatId}`).result()).toMatchObject({ status: 'completed', stopReason: 'closed' });
});

test('the run of the README is steered, interrupted, paused and resumed, and reads each message once', async () => {
  await using testbed = await Testbed.open();
  const scripted = scriptedModel([hang(), say('2026 it is.')]);
  await testbed.work({ agents: team, providers: { openai: scripted } });
  const client = new LonghaulClient(testbed.client.temporal, { taskQueue: testbed.taskQueue });
  const run = await client.start('researcher', { input: 'All years', limits: { totalTokens: 50_000 } });
  await until(() => scripted.requests.length === 1, 'the model call');
  expect(await narrow(client, run.runId)).toContain('[completed] researcher');
  const said = JSON.stringify(scripted.requests[1]?.conversation);
  for (const message of ['Only this year, please', 'Skip the appendix', 'Stop: start over with 2026'])
    expect(said.split(message)).toHaveLength(2);
});

test('the worker of the README encrypts its payloads and archives its events', async () => {
  await using testbed = await Testbed.open();
  const directory = await mkdtemp(join(tmpdir(), 'longhaul-example-'));
  vi.stubEnv('LONGHAUL_ENCRYPTION_KEYS', `k1:${Buffer.alloc(32, 1).toString('base64')}`);
  vi.stubEnv('OPENAI_API_KEY', 'unused');
  const { address, taskQueue } = testbed;
  const answer = structured({ urgency: 'low', summary: 'A drop of oil.' });
  const worker = await productionWorker(directory, { address, taskQueue, providers: { openai: scriptedModel([answer]) } });
  const running = worker.run();
  const client = await connect({ address, taskQueue, codec: { encryption: 'environment' } });
  const result = await client.run(triage, { input: 'It leaks' });
  expect(result).toMatchObject({ success: true, output: { urgency: 'low' } });
  await until(async () => (await readdir(directory, { recursive: true })).some((file) => file.startsWith('archive/')), 'the archive');
  worker.shutdown();
  await running;
  await client.close();
  vi.unstubAllEnvs();
  await rm(directory, { recursive: true });
});

test('a page shows an answer as it is written, and another process continues where it was', async () => {
  await using testbed = await Testbed.open();
  const streams = memoryStreams();
  const client = new LonghaulClient(testbed.client.temporal, { taskQueue: testbed.taskQueue, streams });
  // The page is open before the answer is recorded: a recorded answer is not shown in pieces.
  const slow = say('It is on its way.', { chunks: 10, every: 200 });
  await testbed.work({ agents: [shopkeeper], streams, providers: { openai: scriptedModel([slow]) } });
  const { runId } = await client.start(shopkeeper, { input: 'Where is order 42?' });
  const seen = { text: '', cursors: [] as string[] };
  await watch(client, runId, { write: (text) => (seen.text += text), keep: (cursor) => seen.cursors.push(cursor) });
  expect([seen.text, seen.cursors.length]).toEqual(['It is on its way.', 2]);
  const again = { text: '', cursors: 0 };
  const options = { write: (text: string) => (again.text += text), keep: () => (again.cursors += 1) };
  await watch(client, runId, { ...options, ...(seen.cursors[0] === undefined ? {} : { cursor: seen.cursors[0] }) });
  expect(again).toEqual({ text: '', cursors: 1 });
});
