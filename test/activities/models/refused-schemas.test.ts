import { afterEach, beforeEach, expect, test } from 'vitest';
import { openai } from '../../../activities/models/openai/openai.ts';
import type { ContentItem } from '../../../src/core/domain/content.ts';
import type { ModelRequest, ModelResponse } from '../../../src/core/domain/model.ts';
import { says } from '../../fakes/openai-answers.ts';
import { type FakeOpenAI, startFakeOpenAI } from '../../fakes/openai-server.ts';
import { failureOf, modelRequest, SEARCH } from './fake-provider.ts';
import { error, said, type Sent, user } from './lessons.ts';

let server: FakeOpenAI;
beforeEach(async () => {
  server = await startFakeOpenAI();
});
afterEach(() => server.close());

function ask(request: Partial<ModelRequest>, api: 'chat' | 'responses' = 'chat'): Promise<ModelResponse> {
  const client = openai({ apiKey: 'sk-test-0123456789', baseURL: server.url, api });
  return client.call(modelRequest(request), { signal: new AbortController().signal });
}

const conversation = (items: ContentItem[]): ModelRequest['conversation'] => items.map((item) => ({ author: 'bot', content: [item] }));
const last = (): Sent => server.requests.at(-1)?.body as Sent;

const LISTS = {
  type: 'object',
  properties: {
    a: { type: ['string', 'null'], description: 'A', enum: ['x', null] },
    type: { type: ['integer', 'string'] },
    list: { type: 'array', items: { type: ['number', 'null'] } },
  },
  required: ['a', 'type', 'list'],
};

test.each(['chat', 'responses'] as const)('types in a list are sent one by one to a server that refuses the list: %s', async (api) => {
  const message = `Invalid JSON payload received. Unknown name "type" at 'tools[0].function_declarations[0].parameters.properties[0].value': Proto field is not repeating, cannot start list.`;
  server.script((reply) => reply.json(400, [{ error: { code: 400, message, status: 'INVALID_ARGUMENT' } }]), says('Hi.'));
  await ask({ tools: [{ ...SEARCH, parameters: LISTS, strict: false }] }, api).catch(() => undefined);
  const [tool] = last()['tools'] as { parameters?: object; function?: { parameters: object } }[];
  expect(tool?.parameters ?? tool?.function?.parameters).toEqual({
    type: 'object',
    properties: {
      a: { type: 'string', nullable: true, description: 'A', enum: ['x'] },
      type: { anyOf: [{ type: 'integer' }, { type: 'string' }] },
      list: { type: 'array', items: { type: 'number', nullable: true } },
    },
    required: ['a', 'type', 'list'],
  });
});

test('an unexplained refusal is reported unchanged, and not as one of the guesses', async () => {
  let requests = 0;
  server.script((reply) => reply.json(400, error((requests += 1) === 1 ? 'This is odd.' : `guess ${requests} is worse`)));
  const failure = await failureOf(ask({ conversation: conversation([said('Hello.'), user('a'), user('b')]) }));
  expect(requests).toBeGreaterThan(1);
  expect(failure.message).toContain('This is odd.');
});
