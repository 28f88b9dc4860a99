import { expect, test } from 'vitest';
import type { AiSdkModel, StreamPart } from '../../activities/models/ai-sdk/language-model.ts';
import { ModelCallError } from '../../src/core/domain/errors.ts';
import type { ModelRequest } from '../../src/core/domain/model.ts';
import { aiSdk } from '../../worker/index.ts';
import { context, fakeModel, FINISH, request, textParts } from './fake-model.ts';

const TEXT = textParts('Hi').slice(0, 3);
const ends = (unified: unknown, raw: unknown): StreamPart => ({ ...FINISH, finishReason: { unified, raw } });
const withUrl: Partial<ModelRequest> = {
  conversation: [
    { author: 'user', content: [{ type: 'message', role: 'user', content: [{ type: 'image', url: 'https://a.test/b.png' }] }] },
  ],
};

async function outcome(model: AiSdkModel, asked: Partial<ModelRequest> = {}): Promise<string> {
  const answered = aiSdk(() => model, { idleTimeout: '3s' }).call(request(asked), context());
  return answered.then(
    ({ content }) => content,
    (error: unknown) => (error instanceof ModelCallError ? error.code : String(error)),
  );
}

test.each<[unified: unknown, raw: unknown]>([
  ['other', undefined],
  ['other', ''],
  ['other', null],
  ['other', 7],
  ['unknown', undefined],
  ['interrupted', 'end_turn'],
  ['interrupted', undefined],
  [undefined, undefined],
  ['stop', undefined],
  ['stop', ''],
  ['length', null],
  ['tool-calls', undefined],
  ['content-filter', undefined],
])('a finish %j with the word %j of the provider is the end of a connection, and no answer', async (unified, raw) => {
  expect(await outcome(fakeModel([[...TEXT, ends(unified, raw)]]))).toBe('model_unreachable');
});

test.each(['openai.responses', 'azure.responses', 'xai.responses', 'my-responses', 'gateway', 'gateway.language'])(
  '%s has no word for an ordinary end, but none for a cut one either',
  async (provider) => {
    const outcomes = ['stop', 'tool-calls', 'other', 'interrupted'].map((unified) =>
      outcome(fakeModel([[...TEXT, ends(unified, undefined)]], { provider })),
    );
    expect(await Promise.all(outcomes)).toEqual(['Hi', 'Hi', 'model_unreachable', 'model_unreachable']);
  },
);

test.each(['my-gateway.chat', 'gateways', 'openai.gateway', 'responses.chat', 'myresponses'])(
  '%s needs a word for an end, unless it has the id of a response of OpenAI',
  async (provider) => {
    const ended = (providerMetadata: unknown): Promise<string> =>
      outcome(fakeModel([[...TEXT, { ...ends('stop', undefined), providerMetadata }]], { provider }));
    const others = [undefined, { openai: {} }, { openai: { responseId: null } }, { mine: { responseId: 'resp_1' } }];
    expect(await Promise.all(others.map(ended))).toEqual(others.map(() => 'model_unreachable'));
    const known = [{ openai: { responseId: 'resp_1' } }, { azure: { responseId: 'resp_1' } }];
    expect(await Promise.all(known.map(ended))).toEqual(['Hi', 'Hi']);
  },
);

test.each([undefined, null, 7, [], { 'image/*': ['https'] }, { 'image/*': 'https' }, { '*': [null, 7, {}] }])(
  'a package that says %j of the URLs that it takes takes none',
  async (supportedUrls) => {
    const model = fakeModel([[...TEXT, FINISH]], { supportedUrls: supportedUrls as never });
    expect(await outcome(model, withUrl)).toBe('model_bad_request');
    expect(model.calls).toHaveLength(0);
    expect(await outcome(model)).toBe('Hi');
  },
);

/** A stream that is not a ReadableStream of the platform. */
const streamOf = (cancel: () => unknown): AiSdkModel => {
  const parts = [...TEXT, FINISH];
  const read = async (): Promise<object> => (parts.length === 0 ? { done: true } : { done: false, value: parts.shift() });
  return { ...fakeModel([]), doStream: async () => ({ stream: { getReader: () => ({ read, cancel }) } as never }) };
};

test.each<[what: string, cancel: () => unknown]>([
  [
    'throws',
    () => {
      throw new Error('not now');
    },
  ],
  ['rejects', () => Promise.reject(new Error('not now'))],
  ['never ends', () => new Promise(() => undefined)],
  ['returns nothing', () => undefined],
])('a whole answer counts, although discarding the rest %s', async (_, cancel) => {
  expect(await outcome(streamOf(cancel))).toBe('Hi');
});

test.each<[what: string, model: () => AiSdkModel]>([
  ['no stream', () => ({ ...fakeModel([]), doStream: async () => ({ stream: null }) as never })],
  ['nothing', () => ({ ...fakeModel([]), doStream: async () => undefined as never })],
  [
    'an error without a promise',
    () => ({
      ...fakeModel([]),
      doStream: () => {
        throw new TypeError('sync');
      },
    }),
  ],
  ['invalid parts', () => fakeModel([[null, 7, 'x'] as never])],
  ['an error part without an error', () => fakeModel([[{ type: 'error' }]])],
  ['an error part with null', () => fakeModel([[{ type: 'error', error: null }]])],
  ['a URL list that rejects', () => fakeModel([[...TEXT, FINISH]], { supportedUrls: Promise.reject(new Error('x')) })],
])('a package that yields %s fails the call as a model', async (_, model) => {
  expect(await outcome(model())).toMatch(/^model_/);
});

test.each<[what: string, input: () => unknown]>([
  [
    'refers to itself',
    () => {
      const input: Record<string, unknown> = {};
      input['self'] = input;
      return input;
    },
  ],
  ['is not a JSON value', () => ({ count: 1n })],
])('a call of the provider whose input %s is a bad answer', async (_, input) => {
  const made = { type: 'tool-call', toolCallId: 'h1', toolName: 'web_search', input: input(), providerExecuted: true };
  expect(await outcome(fakeModel([[...TEXT, made, FINISH]]))).toBe('model_bad_response');
});
