import { randomUUID } from 'node:crypto';
import { expect, test, vi } from 'vitest';
import type { FeedItem } from '../../../../src/client/feed-item.ts';
import { LonghaulClient } from '../../../../src/client/index.ts';
import { runFeed } from '../../../../src/client/run-news.ts';
import { RunFeeds } from '../../../../src/client/stream/run-feeds.ts';
import { memoryStreams } from '../../../../src/streams/memory-streams.ts';
import { callTool, say, scriptedModel } from '../../../../src/testing/index.ts';
import { checkedHandler } from '../../../server-http/checked-handler.ts';
import { answer } from '../../../server-http/requests.ts';
import { clerk } from '../../approvals/decision-agents.ts';
import { Testbed, until } from '../../testbed/testbed.ts';
import { type Json, service, started } from './http-testbed.ts';

interface Message {
  id: string;
  event: string;
  data: { run?: { runId: string; waitingFor: string[]; status?: string } };
}

/** Reads the messages of a stream until one is the last that is wanted. */
async function messagesUntil(response: Response, isLast: (message: Message) => boolean): Promise<Message[]> {
  const messages: Message[] = [];
  let text = '';
  for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    text += chunk;
    const frames = text.split('\n\n');
    text = frames.pop() ?? '';
    for (const frame of frames) {
      const fields = new Map(
        frame.split('\n').map((line): [string, string] => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)]),
      );
      const [id, event, data] = [fields.get('id'), fields.get('event'), fields.get('data')];
      if (id === undefined || event === undefined || data === undefined) continue;
      messages.push({ id, event, data: JSON.parse(data) as Message['data'] });
      if (isLast(messages.at(-1) as Message)) return messages;
    }
  }
  return messages;
}

test('a stream over all runs of the caller reports starts, waits, decisions and ends, and continues after its cursor', async () => {
  await using testbed = await Testbed.open();
  const caller = { id: 'ops', principal: { tenant: `acme-${randomUUID()}` } };
  const handler = await service(testbed, [callTool('refund', { amount: 5 }, 'c1'), say('Paid'), say('secret')], { caller });
  const follow = (query = '', headers = {}) => handler(new Request(`http://localhost/v1/feed${query}`, { headers }));
  const first = await started(handler, { agent: 'clerk', input: 'Refund me' });
  const runId = decodeURIComponent(first.slice('/v1/runs/'.length));
  const pending = async (): Promise<Json[]> => (await answer<{ pending: Json[] }>(handler, 'GET', `${first}/approvals`)).body.pending;
  await until(async () => (await pending()).length === 1, 'the call waits');
  // Another principal's run does not appear in this feed.
  await testbed.client.start('assistant', { input: 'Q', taskQueue: testbed.taskQueue });
  const isOf = (type: string) => (message: Message) => message.event === type && message.data.run?.runId === runId;
  const begun = await messagesUntil(await follow('?waiting=true'), isOf('waiting'));
  expect(begun.at(-1)?.data.run).toMatchObject({ waitingFor: ['refund'], status: 'pending_confirmation' });
  const cursor = begun.at(-1)?.id ?? '';

  const rest = messagesUntil(await follow('', { 'last-event-id': cursor }), isOf('ended'));
  const [{ digest = '' } = {}] = (await pending()) as { digest?: string }[];
  expect(await answer(handler, 'POST', `${first}/approvals/c1`, { body: { type: 'approve', digest } })).toMatchObject({ status: 200 });
  const news = (await rest).filter(({ data }) => data.run?.runId === runId).map(({ event }) => event);
  expect([news.filter((event) => event === 'decided').length, news.at(-1)]).toEqual([1, 'ended']);
  expect((await rest).every(({ data }) => data.run?.runId === runId)).toBe(true);

  // As of another process, which does not know the cursor.
  const other = new LonghaulClient(await reconnected(testbed), { taskQueue: testbed.taskQueue });
  const elsewhere = await checkedHandler(other, { authenticate: () => ({ scopes: ['runs:read'], ...caller }) });
  const resumed = await elsewhere(new Request(`http://localhost/v1/feed?cursor=${cursor}`));
  expect((await messagesUntil(resumed, () => true)).map(({ event }) => event)).toEqual(['gap']);
  await other.close();
  expect(await answer(handler, 'GET', '/v1/feed?cursor=nonsense')).toMatchObject({ status: 400, body: { code: 'invalid_cursor' } });
}, 60_000);

async function reconnected(testbed: Testbed): Promise<LonghaulClient['temporal']> {
  const { connect } = await import('../../../../src/client/index.ts');
  return (await connect({ address: testbed.address, namespace: testbed.client.temporal.options.namespace })).temporal;
}

test('many readers of the same principal query the server no more than a single one', async () => {
  await using testbed = await Testbed.open();
  const { workflowService } = testbed.client.temporal.connection as unknown as { workflowService: { listWorkflowExecutions: unknown } };
  const asked = vi.spyOn(workflowService as { listWorkflowExecutions: () => unknown }, 'listWorkflowExecutions');
  const own = testbed.client.as({ tenant: `acme-${randomUUID()}` });
  await testbed.work({ agents: [], providers: {} });
  const stop = new AbortController();
  const listening = Array.from({ length: 50 }, async () => {
    for await (const item of own.feed({ signal: stop.signal })) return item;
    return undefined;
  });
  // A run that had started before the first answer would not be news.
  await until(async () => asked.mock.settledResults.some(({ type }) => type === 'fulfilled'), 'the first answer');
  await own.start('nobody', { input: 'Q', taskQueue: testbed.taskQueue });
  const items = await Promise.all(listening);
  expect(items.every((item) => item?.type === 'started')).toBe(true);
  const questions = asked.mock.calls.length;
  expect(questions).toBeLessThan(25);
  stop.abort();
});

/** Reads a feed until the run waits. */
async function waitOf(feed: AsyncGenerator<FeedItem>, runId: string): Promise<FeedItem> {
  for (;;) {
    const { value: item } = (await feed.next()) as IteratorYieldResult<FeedItem>;
    if (item.type === 'waiting' && item.run.runId === runId) return item;
  }
}

test('a wait that a sink announces is looked up at once, and a wait that it does not announce within seconds', async () => {
  await using testbed = await Testbed.open();
  const streams = memoryStreams();
  const client = new LonghaulClient(await reconnected(testbed), { taskQueue: testbed.taskQueue });
  const sink = new RunFeeds(client.temporal, { sink: streams });
  const model = scriptedModel([callTool('refund', { amount: 5 }, 'c1'), callTool('refund', { amount: 6 }, 'c2')]);
  await testbed.work({ agents: [clerk], providers: { scripted: model }, streams });
  const { workflowService } = client.temporal.connection as unknown as { workflowService: { listWorkflowExecutions: unknown } };
  const asked = vi.spyOn(workflowService as { listWorkflowExecutions: () => unknown }, 'listWorkflowExecutions');
  const stop = new AbortController();
  const { signal } = stop;
  const ids = [`first-${randomUUID()}`, `second-${randomUUID()}`] as const;
  // Without an announcement, it asks once in the time of this test.
  const feed = runFeed(client.temporal, { waits: sink.waits(), askMs: 600_000 }, { signal });
  const announced = waitOf(feed, ids[0]);
  await until(async () => asked.mock.calls.length > 0, 'the first question');
  const first = await client.start('clerk', { input: 'Refund me', runId: ids[0] });
  expect(await announced).toMatchObject({ run: { waitingFor: ['refund'] } });
  expect(asked.mock.calls.length).toBeLessThan(6);
  stop.abort();
  // Runs of other tests may have news before that.
  const ended = async (): Promise<never> => {
    for (;;) await feed.next();
  };
  await expect(ended()).rejects.toThrow('aborted');
  await sink.close();

  // Its reader has no sink.
  const own = client.as({ tenant: `acme-${randomUUID()}` });
  const questions = asked.mock.calls.length;
  const unannounced = waitOf(own.feed(), ids[1]);
  await until(async () => asked.mock.calls.length > questions, 'the first question');
  const second = await own.start('clerk', { input: 'Refund me', runId: ids[1] });
  expect(await unannounced).toMatchObject({ run: { waitingFor: ['refund'] } });
  await Promise.all([first.cancel('seen'), second.cancel('seen')]);
  await client.close();
});
