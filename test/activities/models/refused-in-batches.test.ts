import { afterAll, beforeAll, expect, test } from 'vitest';
import { openai } from '../../../activities/models/openai/openai.ts';
import type { BatchResult } from '../../../src/core/domain/model.ts';
import { type BatchApi, completion, startBatchApi } from '../../fakes/batch-api.ts';
import { modelRequest } from './fake-provider.ts';

let api: BatchApi;
beforeAll(async () => void (api = await startBatchApi()));
afterAll(() => api.close());

test('what a server refuses in a batch is learned for the next batch', async () => {
  const message = "Unsupported parameter: 'temperature' is not supported with this model.";
  api.options.answer = ({ body }) => ('temperature' in body ? { status: 400, body: { error: { message } } } : completion('well'));
  const { batches } = openai({ baseURL: api.url, apiKey: 'sk-test' }) as unknown as Required<ReturnType<typeof openai>>;
  const context = { model: modelRequest().model, signal: new AbortController().signal };
  const made = async (seq: number): Promise<BatchResult[]> => {
    const items = ['a', 'b'].map((id) => ({ id, request: modelRequest({ settings: { temperature: 0.2 } }) }));
    const id = await batches.submit({ key: `k${seq}`, since: Date.now(), items: () => Promise.resolve(items) }, context);
    return Array.fromAsync(batches.results(id ?? '', context));
  };
  const first = await made(1);
  expect(first.map((result) => [result.type, 'isAdapted' in result && result.isAdapted])).toEqual([
    ['failed', true],
    ['failed', true],
  ]);
  expect((await made(2)).map(({ type }) => type)).toEqual(['answered', 'answered']);

  api.options.answer = () => ({ status: 400, body: { error: { message: 'no such thing', type: 'invalid_request_error' } } });
  expect(await made(3)).toEqual([expect.not.objectContaining({ isAdapted: true }), expect.not.objectContaining({ isAdapted: true })]);
});
