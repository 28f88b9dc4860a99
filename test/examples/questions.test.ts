import type { AddressInfo } from 'node:net';
import type { LonghaulClient } from 'longhaul/client';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createService } from '../../examples/service/service.ts';
import { runApprovals, waiting } from '../cli/pending-approvals.ts';

const started: unknown[] = [];
const client = {
  start: (agent: string, { runId }: { runId: string }) => {
    started.push([agent, runId]);
    return Promise.resolve({ runId });
  },
  handle: (runId: string) => ({
    status: () => Promise.resolve({ status: runId.slice('question-'.length), currentStep: 2, usage: { totalTokens: 15 } }),
    approvals: () => Promise.resolve(runApprovals([waiting()])),
    cancel: () => Promise.resolve('requested'),
  }),
} as unknown as LonghaulClient;

const service = createService(client);
let url = '';

beforeAll(async () => {
  await new Promise<void>((resolve) => service.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(service.address() as AddressInfo).port}`;
});

afterAll(() => service.close());

async function ask(method: string, path: string, body?: string): Promise<[number, unknown]> {
  const response = await fetch(`${url}${path}`, { method, ...(body === undefined ? {} : { body }) });
  return [response.status, await response.json()];
}

test.each([
  ['{"question": "Where?"}', '"requestId" is missing: choose an id for this question'],
  ['{"question": "Where?", "requestId": ""}', '"requestId" is missing: choose an id for this question'],
  ['{"requestId": "r1"}', '"question" is missing: a text'],
  ['{"question": ', 'The body is not a JSON object'],
  ['', 'The body is not a JSON object'],
  ['null', 'The body is not a JSON object'],
])('the body %s is answered with 400 and starts nothing', async (body, error) => {
  expect(await ask('POST', '/questions', body)).toEqual([400, { error }]);
  expect(started).toEqual([]);
});

test.each([
  ['GET', '/'],
  ['GET', '/questions'],
  ['POST', '/questions/q1/more'],
  ['GET', '/other/q1'],
  ['GET', '/questions/other-run'],
  ['DELETE', '/questions/other-run'],
])('%s %s is answered with 404', async (method, path) => {
  expect((await ask(method, path))[0]).toBe(404);
});

test('a waiting run is shown as waiting, with its pending call', async () => {
  expect(await ask('GET', '/questions/question-pending_confirmation')).toEqual([
    200,
    { status: 'pending_confirmation', waitsFor: [{ toolName: 'refund', arguments: { amount: 5 } }] },
  ]);
  expect(await ask('GET', '/questions/question-paused?verbose=1')).toEqual([200, { status: 'paused', step: 2, tokens: 15 }]);
  expect((await ask('GET', '/questions/%E0%A4%A'))[0]).toBe(400);
  expect((await ask('PUT', '/questions/question-q1'))[0]).toBe(405);
});

test('a question starts a run under the id of its request', async () => {
  expect(await ask('POST', '/questions', '{"question": "Where?", "requestId": "r1"}')).toEqual([202, { id: 'question-r1' }]);
  expect(started).toEqual([['clerk', 'question-r1']]);
});
