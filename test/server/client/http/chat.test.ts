import type { Chat } from '@ai-sdk/react';
import type { UIMessage } from 'ai';
import { randomUUID } from 'node:crypto';
import { expect, test, vi } from 'vitest';
import { agentTool, type AnyAgent, contentFilter, defineAgent } from '../../../../src/index.ts';
import { LonghaulClient } from '../../../../src/client/index.ts';
import { type Caller, type ChatMetadata, createHandler, type Handler } from '../../../../src/server/index.ts';
import { memoryStreams } from '../../../../src/streams/memory-streams.ts';
import { callTool, hang, say, scriptedModel, type ScriptEntry } from '../../../../src/testing/index.ts';
import { approvalIn, fetchFrom, pageOf, textOf } from '../../../server-http/ai-sdk/fake-chat.ts';
import { clerk, refund } from '../../approvals/decision-agents.ts';
import { Testbed } from '../../testbed/testbed.ts';

const WAIT = { timeout: 20_000, interval: 20 };

/** A service whose worker streams, and a chat with its clerk. */
async function chatWith(
  testbed: Testbed,
  entries: ScriptEntry[],
  { agent = clerk, ...caller }: Partial<Caller> & { agent?: AnyAgent } = {},
): Promise<{ handler: Handler; id: string }> {
  const streams = memoryStreams();
  await testbed.work({ agents: [agent], providers: { scripted: scriptedModel(entries) }, streams });
  const client = new LonghaulClient(testbed.client.temporal, { taskQueue: testbed.taskQueue, streams });
  const whole: Caller = { id: 'ada', principal: 'all', scopes: ['runs:read', 'runs:write', 'approvals:decide'], ...caller };
  return { handler: createHandler(client, { agents: [agent], authenticate: () => whole }), id: `chat-${randomUUID()}` };
}

/** Slow enough to act in the middle. */
const slowly = (text: string): ScriptEntry => say(text, { chunks: text.length, every: 60 });

const parts = ({ messages }: Chat<UIMessage>): object[] => messages.at(-1)?.parts ?? [];

test('a chat streams, asks for an approval, continues in the same message, and has a next turn', async () => {
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

test('the stream is found at once after a message, before anything lists the run', async () => {
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

test('an approval of a turn that was stopped is shown as an error, and the chat takes the next message', async () => {
  await using testbed = await Testbed.open();
  const { handler, id } = await chatWith(testbed, [callTool('refund', { amount: 5 }), say('Gladly.')]);
  const page = pageOf(handler, { id });
  await page.sendMessage({ text: 'Refund me' });
  const stale = structuredClone(page.messages);
  await fetchFrom(handler)(`/v1/agents/clerk/chat/${id}/stop`, { method: 'POST' });
  await page.addToolApprovalResponse({ id: approvalIn(page.messages.at(-1)), approved: true });
  await vi.waitFor(() => expect(page.events).toEqual(['finished: tool-calls', 'finished: interrupted']), WAIT);
  expect(parts(page).at(-1)).toMatchObject({ type: 'tool-refund', state: 'output-error' });
  // Another page has not sent its answer before its next message.
  const other = pageOf(handler, { id, messages: stale, sendAutomaticallyWhen: () => false });
  await other.addToolApprovalResponse({ id: approvalIn(stale.at(-1)), approved: true });
  await other.sendMessage({ text: 'Something else' });
  expect([other.status, textOf(other)]).toEqual(['ready', 'Gladly.']);
});

test("a descendant's call that a colleague has rejected is shown as denied to the user who approves it later", async () => {
  await using testbed = await Testbed.open();
  const helper = defineAgent({ name: 'helper', model: 'scripted/model', tools: [refund] });
  const agent = defineAgent({ name: 'clerk', model: 'scripted/model', tools: [agentTool(helper, { description: 'Helps.' })] });
  const script = [callTool('helper', { request: 'Pay' }), callTool('refund', { amount: 5 }), say('Not paid.'), say('It was refused.')];
  const { handler, id } = await chatWith(testbed, script, { agent });
  const page = pageOf(handler, { id });
  await page.sendMessage({ text: 'Refund me' });
  const run = testbed.client.session('clerk', { id }).run;
  const [waiting] = (await run.approvals()).pending;
  if (waiting === undefined) throw new Error('No call waits');
  await run.reject(waiting, { by: 'colleague', reason: 'too much' });
  await page.addToolApprovalResponse({ id: approvalIn(page.messages.at(-1)), approved: true });
  await page.sendMessage();
  expect(parts(page).find((part) => 'toolCallId' in part && part.toolCallId === `${waiting.runId}:${waiting.callId}`)).toMatchObject({
    state: 'output-denied',
    approval: { approved: false, reason: 'too much' },
  });
  expect(textOf(page)).toBe('It was refused.');
});

test('an answer that a guardrail blocks is not shown, live and in a page that is loaded later', async () => {
  await using testbed = await Testbed.open();
  const guardrails = [contentFilter({ type: 'output', keywords: ['secret'] })];
  const agent = defineAgent({ name: 'clerk', model: 'scripted/model', guardrails });
  const { handler, id } = await chatWith(testbed, [slowly('The secret is 42'), say('Hello.')], { agent });
  const page = pageOf(handler, { id });
  await page.sendMessage({ text: 'Tell me' });
  expect(textOf(page)).toMatch(/^Response blocked: /);
  await page.sendMessage({ text: 'Hi' });
  expect(textOf(page)).toBe('Hello.');
  const loaded = await (await fetchFrom(handler)(`/v1/agents/clerk/chat/${id}`)).text();
  expect(loaded).toContain('Response blocked: ');
  expect(loaded).not.toContain('The secret');
});

test('an unsent message is sent by `sendMessage()`, and a sent one is not changed', async () => {
  await using testbed = await Testbed.open();
  const { handler, id } = await chatWith(testbed, [say('One.'), say('Two.'), say('Three.')]);
  const page = pageOf(handler, { id, messages: [{ id: 'm1', role: 'user', parts: [{ type: 'text', text: 'Hi' }] }] });
  await page.sendMessage();
  expect(textOf(page)).toBe('One.');
  await page.sendMessage({ text: 'And then?' });
  const again = pageOf(handler, { id, messages: page.messages.slice(0, 1) });
  await again.sendMessage();
  expect([again.status, textOf(again)]).toEqual(['ready', 'One.']);
  await page.sendMessage({ text: 'Hello', messageId: 'm1' });
  expect([page.status, page.error?.message]).toEqual(['error', expect.stringContaining('cannot be changed')]);
});
