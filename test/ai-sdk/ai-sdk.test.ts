import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { callModelActivity } from '../../activities/model-calls/call-model.ts';
import { SecretVault } from '../../activities/secret-vault.ts';
import type { AssistantPart, PromptMessage, StreamPart } from '../../activities/models/ai-sdk/language-model.ts';
import type { ErrorCode } from '../../src/core/domain/errors.ts';
import { itemsFor, recordedItems } from '../../src/core/domain/model.ts';
import { forbidRealModels } from '../../src/model/forbid-models.ts';
import { defineAgent, defineTool } from '../../src/index.ts';
import { activityEnvironment } from '../activities/activity-environment.ts';
import { snapshotOf } from '../fakes/snapshot.ts';
import { testAgent } from '../../src/testing/index.ts';
import { aiSdk, type AiSdkModel } from '../../worker/index.ts';
import { answerEvent, context, type FakeModel, fakeModel, FINISH, request, textParts, userEvent, type Yielded } from './fake-model.ts';

describe('create', () => {
  test('is called once for each model and each value of a secret, whatever else a run has', async () => {
    let key = 'a-key-of-tests-1';
    const made: string[] = [];
    const client = aiSdk(async (id, { secret }) => {
      made.push(`${id} ${await secret('acme')}`);
      return fakeModel([textParts('A')]);
    });
    const ask = async (model: string, tags: string[]): Promise<unknown> =>
      client.call(request({ model }), context({ tags, secret: () => Promise.resolve(key) }));
    await Promise.all([ask('one', []), ask('one', []), ask('two', [])]);
    await ask('one', ['eu']);
    expect(made).toEqual(['one a-key-of-tests-1', 'two a-key-of-tests-1']);
    key = 'a-key-of-tests-2';
    await ask('one', []);
    await ask('one', []);
    expect(made.slice(2)).toEqual(['one a-key-of-tests-2']);
  });

  test('may choose by the tags of the run, and each tenant has its own limit', async () => {
    const made: string[] = [];
    const client = aiSdk((id, { tags }) => {
      made.push(`${id} ${tags.join()}`);
      return fakeModel([textParts('A')]);
    });
    for (const tags of [['acme'], ['other'], ['acme']]) await client.call(request(), context({ tags }));
    expect(made).toEqual(['fake-1 acme', 'fake-1 other']);
    expect(client.rateLimitKey?.(request(), { tags: ['acme'] })).not.toBe(client.rateLimitKey?.(request(), { tags: ['other'] }));
  });

  test.each<[what: string, create: () => unknown, code: ErrorCode, says: RegExp]>([
    [
      'a model of specification v2',
      () => fakeModel([], { specificationVersion: 'v2' as 'v3' }),
      'model_bad_request',
      /"v2".*"fake-1".*"v3" or "v4"/,
    ],
    ['a name of a gateway', () => 'openai/gpt-5', 'model_bad_request', /the text "openai\/gpt-5"/],
    ['nothing', () => undefined, 'model_bad_request', /"undefined"/],
    [
      'an error',
      () => {
        throw new TypeError('x is not a function');
      },
      'model_error',
      /"create" of aiSdk\(\) threw for model "fake-1": x is not/,
    ],
    [
      'a missing key',
      () => {
        throw Object.assign(new Error('Anthropic API key is missing'), { name: 'AI_LoadAPIKeyError' });
      },
      'model_unauthorized',
      /key is missing/,
    ],
  ])('that gives %s is an error which says so', async (_, create, code, says) => {
    const asked = aiSdk(create as () => AiSdkModel).call(request(), context());
    await expect(asked).rejects.toMatchObject({ code, message: expect.stringMatching(says) });
  });

  test('has secrets only in a worker, and a secret that cannot be read is the error of the vault', async () => {
    const client = aiSdk(async (_, { secret }) => fakeModel([textParts(await secret('acme'))]));
    await expect(client.call(request(), context())).rejects.toMatchObject({
      code: 'secret_missing',
      message: expect.stringContaining('"acme"'),
    });
    const secret = (): Promise<string> => Promise.reject(Object.assign(new Error('The vault is sealed'), { code: 'secret_unavailable' }));
    await expect(client.call(request(), context({ secret }))).rejects.toMatchObject({
      code: 'secret_unavailable',
      message: 'The vault is sealed',
    });
  });

  test.each<[options: unknown, says: RegExp]>([
    [[fakeModel([])], /the first argument is not a function/],
    [[Object.assign(() => fakeModel([]), { specificationVersion: 'v2' })], /specification "v2"/],
    [[() => fakeModel([]), { cached: true }], /unknown option "cached"/],
    [[() => fakeModel([]), { cache: { ttl: '2h' } }], /"cache" is {"ttl":"2h"}: write "auto"/],
    [[() => fakeModel([]), { structuredOutput: 'yes' }], /"structuredOutput" is "yes"/],
    [[() => fakeModel([]), { contextTokens: 0 }], /"contextTokens" is 0/],
    [[() => fakeModel([]), { idleTimeout: 'soon' }], /"idleTimeout" is "soon"/],
    [[() => fakeModel([]), { describe: 'no' }], /"describe" is "no"/],
  ])('and its options are checked when the worker starts: %#', (given, says) => {
    expect(() => aiSdk(...(given as Parameters<typeof aiSdk>))).toThrow(says);
  });

  test('makes a model that forbidRealModels keeps from being called', async () => {
    const model = fakeModel([textParts('A')]);
    const allow = forbidRealModels();
    try {
      await expect(aiSdk(() => model).call(request(), context())).rejects.toMatchObject({
        code: 'model_forbidden',
        message: expect.stringContaining('fake.chat'),
      });
      expect(model.calls).toEqual([]);
    } finally {
      allow();
    }
  });
});

describe('a stream', () => {
  const interrupted: StreamPart = { type: 'finish', finishReason: { unified: 'interrupted', raw: 'x' }, usage: {} };
  const coded = (name: string, message: string, more: object = {}): Error => Object.assign(new Error(message), { name, ...more });
  test.each<[what: string, yielded: Yielded, code: ErrorCode]>([
    ['ends without a finish', textParts('half').slice(0, 2), 'model_unreachable'],
    ['is interrupted', [...textParts('half').slice(0, 3), interrupted], 'model_unreachable'],
    ['finishes without a word', [{ type: 'finish', finishReason: { unified: 'other', raw: undefined }, usage: {} }], 'model_unreachable'],
    ['finishes with an error without a word', [{ type: 'finish', finishReason: { unified: 'error' }, usage: {} }], 'model_unreachable'],
    ['has an error of the package', [{ type: 'error', error: 'Stream ended without a finish reason' }], 'model_unreachable'],
    ['has an error with a message alone', [{ type: 'error', error: { message: 'Too many requests, please wait' } }], 'model_rate_limited'],
    ['has an error that says nothing', [{ type: 'error', error: {} }], 'model_server_error'],
    [
      'has an error of a request',
      [{ type: 'error', error: coded('AI_APICallError', 'Overloaded', { statusCode: 529, responseBody: '{}' }) }],
      'model_server_error',
    ],
    [
      'breaks with status 200',
      coded('AI_APICallError', 'failed', { statusCode: 200, cause: new TypeError('terminated') }),
      'model_unreachable',
    ],
    ['cannot be read with status 200', coded('AI_APICallError', 'Invalid JSON response', { statusCode: 200 }), 'model_bad_response'],
    ['has no connection', coded('AI_APICallError', 'Cannot connect to API'), 'model_unreachable'],
    ['shows a defect of the package', new TypeError("Cannot read properties of undefined (reading 'delta')"), 'model_bad_response'],
    ['is refused by the package', coded('AI_UnsupportedFunctionalityError', "'audio' is not supported"), 'model_bad_request'],
    ['has no model', coded('AI_NoSuchModelError', 'No such model'), 'model_not_found'],
    ['fails for another reason', new Error('what?'), 'model_client_failed'],
  ])('that %s is not an answer', async (_, yielded, code) => {
    await expect(aiSdk(() => fakeModel([yielded])).call(request(), context())).rejects.toMatchObject({ code });
  });

  test('that sends nothing for too long is a timeout, also if the package ignores the signal', async () => {
    const silent = aiSdk(() => fakeModel(['nothing']), { idleTimeout: '20ms' });
    await expect(silent.call(request(), context())).rejects.toMatchObject({ code: 'model_timeout' });
    const reason = new Error('enough');
    const stop = new AbortController();
    setTimeout(() => stop.abort(reason), 10);
    await expect(aiSdk(() => fakeModel(['nothing'])).call(request(), context({ signal: stop.signal }))).rejects.toBe(reason);
  });

  test('is over with its finish, even if the package keeps it open', async () => {
    const model = fakeModel([]);
    const stream = new ReadableStream<StreamPart>({ start: (controller) => textParts('A').forEach((part) => controller.enqueue(part)) });
    const response = await aiSdk(() => ({ ...model, doStream: () => Promise.resolve({ stream }) })).call(request(), context());
    expect(response).toMatchObject({ content: 'A', usage: { promptTokens: 10, completionTokens: 5, totalTokens: 15 } });
  });

  test('with calls and results of the provider returns them to it, and they are not calls of the run', async () => {
    const metadata = { fake: { encrypted: 'ENC' } };
    const hosted: StreamPart[] = [
      { type: 'tool-input-start', id: 's1', toolName: 'web_search', providerExecuted: true },
      { type: 'tool-call', toolCallId: 's1', toolName: 'web_search', input: '{"query":"moon"}', providerExecuted: true },
      { type: 'tool-result', toolCallId: 's1', toolName: 'web_search', result: [{ url: 'https://a.example' }], providerMetadata: metadata },
      { type: 'source', id: '1' },
      { type: 'custom', kind: 'fake.compaction', providerMetadata: metadata },
      ...textParts('Far.'),
    ];
    const model = fakeModel([hosted, textParts('B')]);
    const client = aiSdk(() => model);
    const deltas: unknown[] = [];
    const response = await client.call(request(), context({ onDelta: (delta) => deltas.push(delta) }));
    expect(response).toMatchObject({ content: 'Far.', toolCalls: [], hosted: [{ name: 'web_search', input: '{"query":"moon"}' }] });
    expect(deltas).toEqual([
      { type: 'tool_input', callId: 's1', toolName: 'web_search', text: '', hosted: true },
      { type: 'text', text: 'Far.' },
    ]);
    await client.call(request({ conversation: [userEvent('Q'), answerEvent(response), userEvent('More?')] }), context());
    expect(model.calls[1]?.prompt[1]).toEqual({
      role: 'assistant',
      content: [
        { type: 'tool-call', toolCallId: 's1', toolName: 'web_search', input: { query: 'moon' }, providerExecuted: true },
        {
          type: 'tool-result',
          toolCallId: 's1',
          toolName: 'web_search',
          output: { type: 'json', value: [{ url: 'https://a.example' }] },
          providerOptions: metadata,
        },
        { type: 'custom', kind: 'fake.compaction', providerOptions: metadata },
        { type: 'text', text: 'Far.' },
      ],
    });
  });
});

describe('warnings', () => {
  const warnings = [
    { type: 'unsupported', feature: 'temperature', details: 'temperature is not supported by this model' },
    { type: 'compatibility', feature: 'strict', details: 'x'.repeat(500) },
    { type: 'other', message: 'Be careful' },
    { type: 'deprecated', setting: 'topK', message: 'use topP' },
    { type: 'unsupported', feature: 'seed' },
    { type: 'other', message: 'one more' },
  ];
  const warned: StreamPart[] = [{ type: 'stream-start', warnings }, { type: 'file', mediaType: 'image/png' }, ...textParts('A')];

  test('of a package are a field of the step: at most five, of at most 200 bytes', async () => {
    const agent = defineAgent({ name: 'clerk', model: 'p/fake-1', settings: { parallelToolCalls: false } });
    const { steps } = await testAgent(agent, { input: 'Q', model: aiSdk(() => fakeModel([warned])) });
    const [step] = steps;
    expect(step?.warnings).toEqual([
      'parallelToolCalls: the AI SDK has no such setting. Use "settings.extra"',
      'temperature: temperature is not supported by this model',
      expect.stringMatching(/^strict: x+…$/),
      'Be careful',
      'and 4 more',
    ]);
    expect(step?.warnings?.every((text) => Buffer.byteLength(text) <= 200)).toBe(true);
  });

  test('are written to the log of the worker with their run, and without the values of secrets', async () => {
    const lines: string[] = [];
    const said: StreamPart[] = [
      { type: 'stream-start', warnings: [{ type: 'other', message: 'the key a-secret-of-acme is old' }] },
      ...textParts('A'),
    ];
    const agent = defineAgent({ name: 'clerk', model: 'scripted/fake-1' });
    const secrets = new SecretVault(() => 'a-secret-of-acme');
    const client = aiSdk(async (_, { secret }) => {
      await secret('acme');
      return fakeModel([said]);
    });
    const environment = activityEnvironment({ agents: [agent], model: client, secrets, logOnce: (line) => lines.push(line) });
    const snapshot = snapshotOf(agent);
    environment.runtime.snapshots.add(snapshot);
    await environment.run(callModelActivity(environment.runtime), { agent: snapshot.digest, through: 1, lastEventId: 'e0' });
    expect(lines).toEqual(['Run "run-1": the provider of model "scripted/fake-1" warns: the key [secret "acme"] is old']);
  });

  test('include the warnings of a step with calls, and are absent for an answer without any', async () => {
    const look = defineTool({ name: 'look', description: 'Looks', parameters: z.object({}), execute: () => 'seen' });
    const call: StreamPart[] = [
      { type: 'stream-start', warnings: warnings.slice(0, 1) },
      { type: 'tool-call', toolCallId: 'c1', toolName: 'look', input: '{}' },
      FINISH,
    ];
    const model = fakeModel([call, textParts('A')]);
    const { steps } = await testAgent(defineAgent({ name: 'clerk', model: 'p/fake-1', tools: [look] }), {
      input: 'Q',
      model: aiSdk(() => model),
    });
    expect(steps.map((step) => step.warnings)).toEqual([['temperature: temperature is not supported by this model'], undefined]);
  });
});

describe('a request', () => {
  const call = (id: string): PromptMessage => ({
    role: 'assistant',
    content: [{ type: 'tool-call', toolCallId: id, toolName: 'look', input: {} }],
  });
  const calling = { author: 'clerk', content: [{ type: 'tool_call' as const, toolCallId: 'c1', name: 'look', arguments: {} }] };
  const result = {
    author: 'clerk',
    content: [
      {
        type: 'tool_result' as const,
        toolCallId: 'c1',
        name: 'look',
        status: 'success' as const,
        content: ['seen', { type: 'image', data: '/9j/AA' }],
      },
    ],
  };

  const promptOf = async (parts: Parameters<typeof request>[0], facts: Partial<AiSdkModel> = {}): Promise<PromptMessage[]> => {
    const model = fakeModel([textParts('A')], facts);
    await aiSdk(() => model).call(request(parts), context());
    return model.calls[0]?.prompt as PromptMessage[];
  };

  test('has messages that every provider takes: system first, no blank text, the user first, media of results after them', async () => {
    const conversation = [
      { author: 'clerk', content: [{ type: 'message' as const, role: 'assistant' as const, content: 'Hello.' }] },
      userEvent(' '),
      { author: 'clerk', content: [{ type: 'message' as const, role: 'assistant' as const, content: '' }, ...calling.content] },
      result,
      { author: 'user', content: [{ type: 'message' as const, role: 'system' as const, content: 'Now in French.' }] },
    ];
    expect(await promptOf({ instructions: ['I', ' '], conversation })).toEqual([
      { role: 'system', content: 'I' },
      { role: 'user', content: [{ type: 'text', text: '(The conversation continues.)' }] },
      { role: 'assistant', content: [{ type: 'text', text: 'Hello.' }] },
      { role: 'user', content: [{ type: 'text', text: '(no text)' }] },
      call('c1'),
      { role: 'tool', content: [{ type: 'tool-result', toolCallId: 'c1', toolName: 'look', output: { type: 'text', value: 'seen' } }] },
      { role: 'user', content: [{ type: 'file', mediaType: 'image/jpeg', data: { type: 'data', data: '/9j/AA' } }] },
      { role: 'user', content: [{ type: 'text', text: 'Now in French.' }] },
    ]);
  });

  test('has the notes on results after them, as a text of the user', async () => {
    const [item] = result.content;
    const noted = { ...result, content: item?.type === 'tool_result' ? [{ ...item, content: ['seen'], notes: ['mind the gap'] }] : [] };
    const prompt = await promptOf({ conversation: [userEvent('Q'), calling, noted] });
    expect(prompt.slice(-2)).toMatchObject([
      { role: 'tool', content: [{ toolCallId: 'c1', output: { type: 'text', value: 'seen' } }] },
      { role: 'user', content: [{ type: 'text', text: 'About the call of "look" (c1): mind the gap' }] },
    ]);
  });

  test('has ids of nine characters and an answer after each result for Mistral', async () => {
    const prompt = await promptOf({ conversation: [userEvent('Q'), calling, result, userEvent('More?')] }, { provider: 'mistral.chat' });
    const [, asked, answered, ok, media] = prompt;
    const toolCallId = JSON.stringify(asked).match(/"toolCallId":"([^"]*)"/)?.[1];
    expect(toolCallId).toMatch(/^[a-zA-Z0-9]{9}$/);
    expect(answered).toMatchObject({ role: 'tool', content: [{ toolCallId }] });
    expect([ok?.role, media?.role]).toEqual(['assistant', 'user']);
  });

  test.each<[what: string, parts: Parameters<typeof request>[0], asText: boolean]>([
    ['calls whose reasoning is lost', { conversation: [userEvent('Q'), { ...calling, lostItems: true as const }, result] }, true],
    [
      'calls of another model while it must think',
      { conversation: [userEvent('Q'), calling, result], settings: { extra: { anthropic: { thinking: { type: 'enabled' } } } } },
      true,
    ],
    ['calls without reasoning', { conversation: [userEvent('Q'), calling, result] }, false],
    [
      'calls of an earlier turn',
      { conversation: [userEvent('Q'), { ...calling, lostItems: true as const }, result, userEvent('More?')] },
      false,
    ],
  ])('to Claude shows %s as it takes them', async (_, parts, asText) => {
    const prompt = await promptOf(parts, { provider: 'anthropic.messages', modelId: 'claude-sonnet-4-5' });
    const texts = [
      { role: 'assistant', content: [{ type: 'text', text: '[look was called with {}]' }] },
      { role: 'user', content: [{ type: 'text', text: '[look returned: seen]' }] },
    ];
    expect(prompt.slice(1, 3)).toMatchObject(asText ? texts : [call('c1'), { role: 'tool' }]);
  });

  test('takes a URL as the provider says, and data of a data URL', async () => {
    const urls = { 'image/*': [/^https:\/\/pictures\.example\//], 'application/pdf': [/^s3:\/\//] };
    const of = (url: string, type: 'image' | 'file' = 'image'): Parameters<typeof request>[0] => ({
      conversation: [{ author: 'user', content: [{ type: 'message', role: 'user', content: [{ type, url }] }] }],
    });
    const [taken] = await promptOf(of('https://Pictures.example/a.png'), { supportedUrls: Promise.resolve(urls) });
    expect(taken?.content).toEqual([
      { type: 'file', mediaType: 'image/*', data: { type: 'url', url: new URL('https://pictures.example/a.png') } },
    ]);
    const [v3] = await promptOf(of('s3://bucket/a.pdf', 'file'), { supportedUrls: urls, specificationVersion: 'v3' });
    expect(v3?.content).toEqual([{ type: 'file', mediaType: 'application/pdf', data: new URL('s3://bucket/a.pdf') }]);
    const [inline] = await promptOf(of('data:image/gif;base64,R0lGOD'), { specificationVersion: 'v3' });
    expect(inline?.content).toEqual([{ type: 'file', mediaType: 'image/gif', data: 'R0lGOD' }]);
    for (const refused of [of('https://elsewhere.example/a.png'), of('s3://bucket/a.png'), of('no url')])
      await expect(promptOf(refused, { supportedUrls: urls })).rejects.toMatchObject({
        code: 'model_bad_request',
        message: expect.stringContaining('"fake.chat"'),
      });
    await expect(promptOf({ settings: { extra: { topK: 4 } } })).rejects.toMatchObject({
      code: 'model_bad_request',
      message: expect.stringContaining('"settings.extra.topK"'),
    });
  });

  test.each<[provider: string, modelId: string, cache: 'auto' | 'off' | { ttl: '1h' }, mark: unknown]>([
    ['anthropic.messages', 'claude-opus-5', 'auto', { anthropic: { cacheControl: { type: 'ephemeral' } } }],
    ['vertex.anthropic.messages', 'claude-opus-5', { ttl: '1h' }, { anthropic: { cacheControl: { type: 'ephemeral', ttl: '1h' } } }],
    ['amazon-bedrock', 'eu.anthropic.claude-opus-5', 'auto', { bedrock: { cachePoint: { type: 'default' } } }],
    ['amazon-bedrock', 'meta.llama4', 'auto', undefined],
    ['google.generative-ai', 'gemini-3-pro', 'auto', undefined],
    ['anthropic.messages', 'claude-opus-5', 'off', undefined],
  ])('to %s with model %s and cache %j has the marks of that provider', async (provider, modelId, cache, mark) => {
    const model = fakeModel([textParts('A')], { provider, modelId });
    await aiSdk(() => model, { cache }).call(request({ instructions: ['I'] }), context());
    expect(sentOf(model).map(({ providerOptions }) => providerOptions)).toEqual([mark, mark]);
  });

  test('is counted with the context that the client names for its model', async () => {
    const agent = defineAgent({ name: 'clerk', model: 'p/fake-1', window: { summarize: false } });
    const model = aiSdk(() => fakeModel([textParts('A')]), { contextTokens: (id) => (id === 'fake-1' ? 12_345 : undefined) });
    const { contextTokens } = model.capabilities;
    expect(typeof contextTokens === 'function' ? [contextTokens('fake-1'), contextTokens('other')] : []).toEqual([12_345, undefined]);
    expect((await testAgent(agent, { input: 'Q', model })).result.status).toBe('completed');
  });
});

const sentOf = ({ calls }: FakeModel): PromptMessage[] => (calls.at(-1)?.prompt ?? []) as PromptMessage[];

/** What a package may yield of one answer. */
const metadata = fc.option(fc.record({ fake: fc.record({ signature: fc.string({ minLength: 1 }) }) }), { nil: undefined });
const part = fc.oneof(
  fc.record({ kind: fc.constant('text' as const), text: fc.string({ unit: 'grapheme', maxLength: 8 }), providerMetadata: metadata }),
  fc.record({ kind: fc.constant('reasoning' as const), text: fc.string({ maxLength: 8 }), providerMetadata: metadata }),
  fc.record({ kind: fc.constant('call' as const), text: fc.constant('{"q":"x"}'), providerMetadata: metadata }),
);

test('everything that a package yields comes back to it unchanged, or not at all once the record differs', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(part, { minLength: 1, maxLength: 6 }), fc.boolean(), async (parts, isChanged) => {
      const yielded = parts.flatMap(({ kind, text, providerMetadata }, index): StreamPart[] => {
        const id = `c${index}`;
        if (kind === 'call') return [{ type: 'tool-call', toolCallId: id, toolName: 'look', input: text, providerMetadata }];
        return [
          { type: `${kind}-start`, id },
          { type: `${kind}-delta`, id, delta: text },
          { type: `${kind}-end`, id, providerMetadata },
        ];
      });
      const model = fakeModel([[...yielded, FINISH], textParts('B')]);
      const client = aiSdk(() => model);
      const response = await client.call(request(), context());
      const recorded = response.providerItems && recordedItems({ by: 'p/m' }, response.providerItems);
      const event = { ...answerEvent(response), ...itemsFor('p/m', recorded) };
      const answer = isChanged
        ? { ...event, content: [...event.content, ...answerEvent({ ...response, content: 'More', toolCalls: [] }).content] }
        : event;
      await client.call(request({ conversation: [userEvent('Q'), answer, userEvent('More?')] }), context());
      const sent = sentOf(model).flatMap(({ role, content }): AssistantPart[] => (role === 'assistant' ? content : []));
      const isRestored = response.providerItems !== undefined && !isChanged;
      const expected = parts.flatMap(({ kind, text, providerMetadata: m }, index): object[] => {
        const options = m === undefined ? {} : { providerOptions: m };
        if (kind === 'call') return [{ type: 'tool-call', toolCallId: `c${index}`, toolName: 'look', input: { q: 'x' }, ...options }];
        return kind === 'text' && text.trim() === '' && m === undefined ? [] : [{ type: kind, text, ...options }];
      });
      const annotated = sent.filter(({ providerOptions, type }) => type === 'reasoning' || providerOptions !== undefined);
      expect(isRestored ? sent : annotated).toEqual(isRestored ? expected : []);
    }),
    { numRuns: 150 },
  );
});

test("packages of the AI SDK are the user's: none is a dependency", () => {
  const { dependencies, peerDependencies } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as Record<
    string,
    object
  >;
  expect(Object.keys({ ...dependencies, ...peerDependencies }).filter((name) => name.startsWith('@ai-sdk') || name === 'ai')).toEqual([]);
});
