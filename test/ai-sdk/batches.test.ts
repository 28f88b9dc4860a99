import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createAnthropic } from '@ai-sdk/anthropic';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { aiSdkBatch, type AiSdkBatch, anthropicBatch } from '../../activities/models/ai-sdk/ai-sdk-batches.ts';
import type { BatchContext, BatchResult, ModelRequest } from '../../src/core/domain/model.ts';

/** A fake of the Message Batches of Anthropic, by its documentation. */
interface FakeAnthropic {
  requests: { custom_id: string; params: { model: string; messages: { content: unknown }[]; max_tokens: number } }[];
  status: 'in_progress' | 'ended';
  isCancelled: boolean;
  keys: unknown[];
}

let server: Server;
let fake: FakeAnthropic;
let baseURL: string;

beforeEach(async () => {
  fake = { requests: [], status: 'in_progress', isCancelled: false, keys: [] };
  const handle = async (incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> => {
    let text = '';
    for await (const chunk of incoming) text += String(chunk);
    fake.keys.push(incoming.headers['x-api-key']);
    const batch = () => ({
      id: 'msgbatch_1',
      type: 'message_batch',
      processing_status: fake.status,
      request_counts: { processing: 0, succeeded: 1, errored: 1, canceled: 0, expired: 1 },
      created_at: '2026-01-01T00:00:00Z',
      expires_at: '2026-01-02T00:00:00Z',
      ended_at: fake.status === 'ended' ? '2026-01-01T01:00:00Z' : null,
      cancel_initiated_at: null,
      archived_at: null,
      results_url: fake.status === 'ended' ? `${baseURL}/messages/batches/msgbatch_1/results` : null,
    });
    const { pathname } = new URL(incoming.url ?? '', baseURL);
    if (pathname.endsWith('/results')) {
      outgoing.writeHead(200, { 'content-type': 'application/x-jsonl' });
      const [first, second, third] = fake.requests.map(({ custom_id }) => custom_id);
      const message = {
        id: 'msg_1',
        type: 'message',
        role: 'assistant',
        model: 'claude-sonnet-4-5',
        content: [
          { type: 'thinking', thinking: 'hm', signature: 'sig' },
          { type: 'text', text: 'Hello' },
          { type: 'tool_use', id: 'toolu_1', name: 'look', input: { at: 'x' } },
        ],
        stop_reason: 'tool_use',
        stop_sequence: null,
        usage: { input_tokens: 10, output_tokens: 5, cache_read_input_tokens: 3 },
      };
      outgoing.end(
        [
          { custom_id: third, result: { type: 'expired' } },
          {
            custom_id: second,
            result: { type: 'errored', error: { type: 'error', error: { type: 'invalid_request_error', message: 'bad' } } },
          },
          { custom_id: first, result: { type: 'succeeded', message } },
        ]
          .map((line) => `${JSON.stringify(line)}\n`)
          .join(''),
      );
      return;
    }
    if (pathname.endsWith('/cancel')) fake.isCancelled = true;
    else if (incoming.method === 'POST') fake.requests = (JSON.parse(text) as FakeAnthropic).requests;
    outgoing.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(batch()));
  };
  server = createServer((incoming, outgoing) => void handle(incoming, outgoing));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  baseURL = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
});

afterEach(() => {
  server.closeAllConnections();
  server.close();
});

const context: BatchContext = {
  model: 'claude-sonnet-4-5',
  signal: new AbortController().signal,
  secret: () => Promise.resolve('sk-secret'),
};

const request = (text: string): ModelRequest => ({
  model: 'claude-sonnet-4-5',
  instructions: ['Be brief.'],
  conversation: [{ author: 'user', content: [{ type: 'message', role: 'user', content: text }] }],
  tools: [],
  settings: { maxOutputTokens: 100 },
});

test('a batch of Anthropic is submitted, polled and read by its package, and an answer keeps its reasoning and its usage', async () => {
  const batches = anthropicBatch(async ({ secret }) => createAnthropic({ baseURL, apiKey: await secret('key') }).experimental_batch());
  const ids = ['a', 'b', 'c'].map((letter) => letter.repeat(32));
  const items = async () => ids.map((id, index) => ({ id, request: request(`Q${index}`) }));
  const id = await batches.submit({ key: 'k', since: 0, items }, context);
  expect(id).toBe('msgbatch_1');
  expect(fake.requests.map(({ custom_id, params }) => [custom_id, params.model, params.max_tokens])).toEqual(
    ids.map((one) => [one, 'claude-sonnet-4-5', 100]),
  );
  expect(await batches.status('msgbatch_1', context)).toEqual({ hasEnded: false });
  await batches.cancel('msgbatch_1', context);
  expect(fake.isCancelled).toBe(true);
  fake.status = 'ended';
  expect(await batches.status('msgbatch_1', context)).toEqual({ hasEnded: true });
  const results = new Map<string, BatchResult>();
  for await (const result of batches.results('msgbatch_1', context)) results.set(result.id, result);
  expect(results.get(ids[2] ?? '')).toEqual({ id: ids[2], type: 'expired' });
  expect(results.get(ids[1] ?? '')).toMatchObject({ type: 'failed', error: { code: 'model_bad_request' } });
  expect(results.get(ids[0] ?? '')).toMatchObject({
    type: 'answered',
    answer: {
      content: 'Hello',
      finishReason: 'tool_calls',
      toolCalls: [{ id: 'toolu_1', name: 'look' }],
      usage: { promptTokens: 13, completionTokens: 5, cachedTokens: 3 },
    },
  });
  expect(JSON.stringify(results.get(ids[0] ?? ''))).toContain('sig');
  expect(new Set(fake.keys)).toEqual(new Set(['sk-secret']));
});

test('a package that makes no batches is named, and a wrong argument is refused at once', async () => {
  const batches = aiSdkBatch(() => ({ specificationVersion: 'v3' }) as unknown as AiSdkBatch);
  await expect(batches.status('b', context)).rejects.toThrow(/"create" of aiSdkBatch\(\) returned no batches of the AI SDK/);
  expect(() => aiSdkBatch(5 as never)).toThrow(/aiSdkBatch: the first argument is not a function/);
  expect(() => anthropicBatch(() => ({}) as AiSdkBatch, { bytags: true } as never)).toThrow(/unknown option "bytags"/);
});
