import { randomUUID } from 'node:crypto';
import { expect, test, vi } from 'vitest';
import { chatRoutes } from '../../../examples/cookbook/chat-in-your-app.ts';
import { LonghaulClient, memoryStreams } from 'longhaul/client';
import { toUIMessageStreamResponse } from 'longhaul/ai-sdk';
import type { ChatMetadata, Handler } from '../../../src/server/index.ts';
import { callTool, failWith, hang, say, scriptedModel, type ScriptEntry } from '../../../src/testing/index.ts';
import { approvalIn, fetchFrom, pageOf, textOf } from '../../server-http/ai-sdk/fake-chat.ts';
import { clerk } from '../approvals/decision-agents.ts';
import { Testbed } from '../testbed/testbed.ts';

const WAIT = { timeout: 20_000, interval: 20 };

/** A worker with this model, and a client that share a sink if answers are to arrive live. */
async function clientFor(testbed: Testbed, entries: ScriptEntry[], { live = true } = {}): Promise<LonghaulClient> {
  const shared = live ? { streams: memoryStreams() } : {};
  await testbed.work({ agents: [clerk], providers: { scripted: scriptedModel(entries) }, ...shared });
  return new LonghaulClient(testbed.client.temporal, { taskQueue: testbed.taskQueue, ...shared });
}

/** The application of the example, whose user is the header `x-user`. */
function applicationOf(client: LonghaulClient, user = 'ada'): Handler {
  const app = chatRoutes(client, async ({ headers }) => headers.get('x-user') ?? undefined);
  return async (request) => {
    const url = request.url.replace('/v1/agents/clerk/chat', '/api/chat');
    const headers = new Headers(request.headers);
    headers.set('x-user', user);
    const body = request.method === 'POST' ? { body: await request.text() } : {};
    return app.fetch(new Request(url, { method: request.method, headers, signal: request.signal, ...body }));
  };
}

const slowly = (text: string): ScriptEntry => say(text, { chunks: text.length, every: 60 });

test('a chat in an application streams, asks for an approval, continues in the same message, and is read by another page', async () => {
  await using testbed = await Testbed.open();
  const client = await clientFor(testbed, [callTool('refund', { amount: 5 }), say('Paid.'), say('You are welcome.')]);
  const app = applicationOf(client);
  const page = pageOf(app, { id: randomUUID() });
  await page.sendMessage({ text: 'Refund me' });
  await page.addToolApprovalResponse({ id: approvalIn(page.messages.at(-1)), approved: true });
  await vi.waitFor(() => expect(page.events).toEqual(['finished: tool-calls', 'finished: stop']), WAIT);
  expect(page.messages.at(-1)?.parts).toMatchObject([
    { type: 'step-start' },
    { type: 'tool-refund', state: 'output-available', output: 'paid 5', approval: { approved: true } },
    { type: 'step-start' },
    { type: 'text', text: 'Paid.' },
  ]);
  const runId = (page.messages.at(-1)?.metadata as ChatMetadata | undefined)?.runId ?? '';
  const events = await Array.fromAsync(client.handle(runId).events());
  expect(events.find(({ decision }) => decision !== undefined)?.decision).toMatchObject({ by: 'ada', type: 'approve' });
  await page.sendMessage({ text: 'Thanks' });
  expect(page.messages.at(-1)).toMatchObject({ metadata: { runId, turn: 2, stopReason: 'final_answer' } });

  const path = `/v1/agents/clerk/chat/${page.id}`;
  const read = (await (await fetchFrom(app)(path)).json()) as { messages: { role: string; id: string }[] };
  expect(read.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'user', 'assistant']);
  expect(read.messages.at(-1)?.id).toBe(page.messages.at(-1)?.id);
  expect((await fetchFrom(app)(`${path}/stream`)).status).toBe(204);
  // Another user with the same chat id has a chat of their own, which is empty.
  const other = await fetchFrom(applicationOf(client, 'bob'))(path);
  expect(await other.json()).toEqual({ messages: [] });
});

test('a page of an application that goes, comes back and stops the answer', async () => {
  await using testbed = await Testbed.open();
  const client = await clientFor(testbed, [slowly('A slow answer'), hang('Once upon a time')]);
  const app = applicationOf(client);
  const page = pageOf(app, { id: randomUUID() });
  const sending = page.sendMessage({ text: 'Tell me' });
  await vi.waitFor(() => expect(textOf(page)).toContain('A'), WAIT);
  await page.stop();
  await sending;
  await page.resumeStream();
  await vi.waitFor(() => expect([page.status, textOf(page)]).toEqual(['ready', 'A slow answer']), WAIT);
  const second = page.sendMessage({ text: 'A story' });
  await vi.waitFor(() => expect(textOf(page)).toBe('Once upon a time'), WAIT);
  await fetchFrom(app)(`/v1/agents/clerk/chat/${page.id}/stop`, { method: 'POST' });
  await second;
  expect([page.status, page.events.at(-1), textOf(page)]).toEqual(['ready', 'finished: interrupted', 'Once upon a time']);
});

test('a second decision on a call changes nothing: its page shows the first one, whatever it is', async () => {
  await using testbed = await Testbed.open();
  const client = await clientFor(testbed, [callTool('refund', { amount: 5 }), say('Paid.')]);
  const app = applicationOf(client);
  const page = pageOf(app, { id: randomUUID() });
  await page.sendMessage({ text: 'Refund me' });
  const stale = structuredClone(page.messages);
  await page.addToolApprovalResponse({ id: approvalIn(page.messages.at(-1)), approved: true });
  await vi.waitFor(() => expect(page.events).toEqual(['finished: tool-calls', 'finished: stop']), WAIT);
  for (const approved of [false, true]) {
    const other = pageOf(app, { id: page.id, messages: structuredClone(stale) });
    await other.addToolApprovalResponse({ id: approvalIn(stale.at(-1)), approved });
    await vi.waitFor(() => expect(other.events).toEqual(['finished: stop']), WAIT);
    expect(other.messages.at(-1)?.parts).toMatchObject([
      { type: 'step-start' },
      { type: 'tool-refund', state: 'output-available', output: 'paid 5', approval: { approved: true } },
      { type: 'step-start' },
      { type: 'text', text: 'Paid.' },
    ]);
  }
});

test('the other routes of a chat answer with a problem for what they refuse, and change nothing', async () => {
  await using testbed = await Testbed.open();
  const client = await clientFor(testbed, [say('Hello.'), say('Again.')]);
  const app = applicationOf(client);
  const page = pageOf(app, { id: randomUUID() });
  const path = `/v1/agents/clerk/chat/${page.id}`;
  const stop = async (): Promise<Response> => fetchFrom(app)(`${path}/stop`, { method: 'POST' });
  expect((await stop()).status).toBe(404);
  await page.sendMessage({ text: 'Hi' });
  expect(await (await stop()).json()).toMatchObject({ interrupted: false });
  for (const query of ['limit=0', 'limit=ten', 'before=0']) {
    const refused = await fetchFrom(app)(`${path}?${query}`);
    expect([query, refused.status, await refused.json()]).toMatchObject([query, 422, { code: 'invalid_request' }]);
  }
  await page.sendMessage({ text: 'And again' });
  const read = async (query: string): Promise<object> => (await (await fetchFrom(app)(`${path}?${query}`)).json()) as object;
  expect(await read('limit=1')).toMatchObject({ messages: [{ role: 'user' }, { id: page.messages.at(-1)?.id }], before: 2 });
  expect(await read('limit=1&before=2')).toMatchObject({ messages: [{ role: 'user' }, { id: page.messages[1]?.id }] });
});

test('a page hears that the provider refuses the model call, and when it is made again, and then gets the answer', async () => {
  await using testbed = await Testbed.open();
  const refusal = failWith('model_rate_limited', 'Too many requests to 10.0.0.7', { retryAfter: '6s' });
  const app = applicationOf(await clientFor(testbed, [refusal, say('Hello.')]));
  const heard: unknown[] = [];
  const page = pageOf(app, { id: randomUUID(), onData: (part) => void heard.push(part) });
  await page.sendMessage({ text: 'Hi' });
  expect(textOf(page)).toBe('Hello.');
  expect(heard).toMatchObject([{ type: 'data-longhaul-wait', data: { waitsFor: 'model', code: 'model_rate_limited' } }]);
  expect(Object.keys((heard[0] as { data: object }).data)).toEqual(['waitsFor', 'attempt', 'code', 'nextAttemptAt', 'givesUpAt']);
});

test('a run that an application starts for a page is one message, without a sink, with the decision of the page', async () => {
  await using testbed = await Testbed.open();
  const client = await clientFor(testbed, [callTool('refund', { amount: 5 }), say('Paid.')], { live: false });
  const runId = randomUUID();
  const page = pageOf(async (request) => {
    const run = await client.start(clerk, { runId, input: 'Refund me', ifExists: 'return' });
    return toUIMessageStreamResponse(run, { posted: await request.json(), decideAs: 'ada' });
  });
  await page.sendMessage({ text: 'Refund me' });
  await page.addToolApprovalResponse({ id: approvalIn(page.messages.at(-1)), approved: true });
  await vi.waitFor(() => expect(page.events).toEqual(['finished: tool-calls', 'finished: stop']), WAIT);
  expect(page.messages).toMatchObject([
    { role: 'user' },
    { id: `${runId}-turn-1`, metadata: { runId, turn: 1, stopReason: 'final_answer', usage: { llmCalls: 2 } } },
  ]);
  expect(textOf(page)).toBe('Paid.');
});
