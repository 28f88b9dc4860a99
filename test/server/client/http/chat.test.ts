import type { Chat } from '@ai-sdk/react';
import type { UIMessage } from 'ai';
import { randomUUID } from 'node:crypto';
import { expect, test, vi } from 'vitest';
import { LonghaulClient } from '../../../../src/client/index.ts';
import { type Caller, type ChatMetadata, createHandler, type Handler } from '../../../../src/server/index.ts';
import { memoryStreams } from '../../../../src/streams/memory/memory-streams.ts';
import { callTool, hang, say, scriptedModel, type ScriptEntry } from '../../../../src/testing/index.ts';
import { approvalIn, fetchFrom, pageOf, textOf } from '../../../server-http/ai-sdk/chat-page.ts';
import { clerk } from '../../approvals/decision-agents.ts';
import { Testbed } from '../../testbed/testbed.ts';

const WAIT = { timeout: 20_000, interval: 20 };

/** A service whose worker streams, and a chat with its clerk. */
async function chatWith(testbed: Testbed, entries: ScriptEntry[], caller: Partial<Caller> = {}): Promise<{ handler: Handler; id: string }> {
  const streams = memoryStreams();
  await testbed.work({ agents: [clerk], providers: { scripted: scriptedModel(entries) }, streams });
  const client = new LonghaulClient(testbed.client.temporal, { taskQueue: testbed.taskQueue, streams });
  const whole: Caller = { id: 'ada', scopes: ['runs:read', 'runs:write', 'approvals:decide'], ...caller };
  return { handler: createHandler(client, { agents: [clerk], authenticate: () => whole }), id: `chat-${randomUUID()}` };
}

/** Slow enough to act in the middle. */
const slowly = (text: string): ScriptEntry => say(text, { chunks: text.length, every: 60 });

const parts = ({ messages }: Chat<UIMessage>): object[] => messages.at(-1)?.parts ?? [];

test('a chat streams, asks for an approval, goes on in the same message, and has a next turn', async () => {
  await using testbed = await Testbed.open();
  const script = [callTool('refund', { amount: 5 }), say('Paid.'), say('You are welcome.')];
  const { handler, id } = await chatWith(testbed, script, { principal: { tenant: 'acme', user: 'ada' } });
  const page = pageOf(handler, { id });
  await page.sendMessage({ text: 'Refund me' });
  expect(parts(page).at(-1)).toMatchObject({ type: 'tool-refund', state: 'approval-requested', input: { amount: 5 } });
  await page.addToolApprovalResponse({ id: approvalIn(page.messages.at(-1)), approved: true });
  await vi.waitFor(() => expect(page.events).toEqual(['finished: tool-calls', 'finished: stop']), WAIT);
  expect(parts(page)).toMatchObject([
    { type: 'step-start' },
    { type: 'tool-refund', state: 'output-available', output: 'paid 5', approval: { approved: true } },
    { type: 'step-start' },
    { type: 'text', text: 'Paid.' },
  ]);
  const first = page.messages.at(-1);
  const runId = (first?.metadata as ChatMetadata | undefined)?.runId ?? '';
  const events = [];
  for await (const event of testbed.client.handle(runId).events()) events.push(event);
  expect(events.find(({ decision }) => decision !== undefined)?.decision).toMatchObject({ by: 'ada', type: 'approve' });
  await page.sendMessage({ text: 'Thanks' });
  expect(textOf(page)).toBe('You are welcome.');
  expect(page.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'user', 'assistant']);
  expect(page.messages.at(-1)).toMatchObject({ metadata: { runId, turn: 2, stopReason: 'final_answer', usage: { llmCalls: 1 } } });
});

test('a page that was loaded again in the middle of an answer resumes it, also right after the message', async () => {
  await using testbed = await Testbed.open();
  const { handler, id } = await chatWith(testbed, [slowly('A slow answer, letter by letter')]);
  const page = pageOf(handler, { id });
  const sending = page.sendMessage({ text: 'Tell me' });
  await vi.waitFor(() => expect(textOf(page)).toContain('A slow'), WAIT);
  const reloaded = pageOf(handler, { id, messages: structuredClone(page.messages) });
  const resuming = reloaded.resumeStream();
  await vi.waitFor(() => expect(textOf(reloaded)).toContain('A slow answer'), WAIT);
  expect(reloaded.status).toBe('streaming');
  await Promise.all([sending, resuming]);
  expect(textOf(reloaded)).toBe('A slow answer, letter by letter');
  expect(reloaded.messages.map(({ id: own, parts: all }) => [own, all])).toEqual(
    page.messages.map(({ id: own, parts: all }) => [own, all]),
  );
  expect(reloaded.messages).toHaveLength(2);
  const idle = await fetchFrom(handler)(`/v1/agents/clerk/chat/${id}/stream`);
  expect(idle.status).toBe(204);
});

test('the stream is found at once behind a message, before anything lists the run', async () => {
  await using testbed = await Testbed.open();
  const { handler, id } = await chatWith(testbed, [hang('Thinking')]);
  const post = fetchFrom(handler);
  const body = JSON.stringify({ id, messages: [{ id: 'm1', role: 'user', parts: [{ type: 'text', text: 'Hi' }] }] });
  const sent = await post('/v1/agents/clerk/chat', { method: 'POST', body, headers: { 'content-type': 'application/json' } });
  const found = await post(`/v1/agents/clerk/chat/${id}/stream`);
  expect([sent.status, found.status]).toEqual([200, 200]);
  await Promise.all([sent.body?.cancel(), found.body?.cancel()]);
});

test('a chat is stopped in the middle of an answer, keeps the part that it has, and takes the next message', async () => {
  await using testbed = await Testbed.open();
  const { handler, id } = await chatWith(testbed, [hang('Once upon a time'), say('Gladly.')]);
  const page = pageOf(handler, { id });
  const sending = page.sendMessage({ text: 'A story, please' });
  await vi.waitFor(() => expect(textOf(page)).toBe('Once upon a time'), WAIT);
  const stopped = await fetchFrom(handler)(`/v1/agents/clerk/chat/${id}/stop`, { method: 'POST' });
  expect(await stopped.json()).toMatchObject({ interrupted: true, turn: 1 });
  await sending;
  expect(page).toMatchObject({ status: 'ready', events: ['finished: interrupted'] });
  expect(textOf(page)).toBe('Once upon a time');
  await page.sendMessage({ text: 'Another one' });
  expect(textOf(page)).toBe('Gladly.');
});

test('a message in the middle of a turn belongs to that turn, and is accepted once', async () => {
  await using testbed = await Testbed.open();
  const script = [callTool('refund', { amount: 5 }), say('Paid, and more.'), say('Too many')];
  const { handler, id } = await chatWith(testbed, script);
  const page = pageOf(handler, { id });
  await page.sendMessage({ text: 'Refund me' });
  await page.sendMessage({ text: 'And then?' });
  expect(page.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'user']);
  await page.addToolApprovalResponse({ id: approvalIn(page.messages[1]), approved: true });
  await page.sendMessage();
  expect(page.messages[1]?.parts.at(-1)).toMatchObject({ type: 'text', text: 'Paid, and more.' });
  await page.regenerate({ messageId: page.messages[2]?.id ?? '' });
  expect(page.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'user']);
  expect(JSON.stringify(page.messages)).not.toContain('Too many');
  expect((await testbed.client.session('clerk', { id }).status()).session?.turns).toBe(1);
});

test('a page that goes away leaves the run alone', async () => {
  await using testbed = await Testbed.open();
  const { handler, id } = await chatWith(testbed, [slowly('A slow answer')]);
  const page = pageOf(handler, { id });
  const sending = page.sendMessage({ text: 'Tell me' });
  await vi.waitFor(() => expect(textOf(page)).toContain('A'), WAIT);
  await page.stop();
  await sending;
  const result = await testbed.client.session('clerk', { id }).turn(1);
  expect(result).toMatchObject({ status: 'completed', output: 'A slow answer' });
});
