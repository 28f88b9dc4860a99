import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { z } from 'zod';
import { textIn } from '../../activities/models/openai/message-order.ts';
import { ERROR_CODES, type ErrorCode, ModelCallError } from '../../src/core/domain/errors.ts';
import { isJsonObject } from '../../src/core/domain/json.ts';
import type { ModelCallContext, ModelRequest, ModelResponse } from '../../src/core/domain/model.ts';
import { REASONING_EFFORTS } from '../../src/core/domain/reasoning-effort.ts';
import type { ModelDelta } from '../../src/core/domain/stream.ts';
import { defineAgent, defineHook, defineTool } from '../../src/index.ts';
import { testAgent } from '../../src/testing/index.ts';
import { aiSdk } from '../../worker/index.ts';
import type { Answer, Body, Said } from './families.ts';
import { FakeServer, type Reply } from './fake-server.ts';
import { openaiItems } from './openai-family.ts';
import { type Package, PACKAGES } from './packages.ts';

const server = new FakeServer();
let url = '';
beforeAll(async () => {
  url = await server.start();
});
afterAll(() => server.close());

const TOOL = {
  name: 'look_up',
  description: 'Looks something up.',
  parameters: { type: 'object', properties: { q: { type: 'string' } }, required: ['q'], additionalProperties: false },
  strict: false,
};
const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==';
const PDF = 'JVBERi0xLjQKJSVFT0Y=';

interface Asked {
  response: ModelResponse;
  deltas: ModelDelta[];
}

/** Asks a package once, whose server replies as the script says. */
async function ask(
  { modelId, model }: Package,
  replies: Reply | Reply[],
  request: Partial<ModelRequest> = {},
  context: Partial<ModelCallContext> = {},
): Promise<Asked> {
  server.script(...[replies].flat());
  const deltas: ModelDelta[] = [];
  const client = aiSdk((id) => model(url, id));
  const whole: ModelRequest = {
    model: modelId,
    instructions: ['You are a clerk.', 'Be brief.'],
    conversation: [{ author: 'user', content: [{ type: 'message', role: 'user', content: 'How far is the Moon?' }] }],
    tools: [TOOL],
    settings: {},
    ...request,
  };
  const signal = AbortSignal.timeout(10_000);
  const response = await client.call(whole, { signal, onDelta: (delta) => deltas.push(delta), ...context });
  return { response, deltas };
}

async function failureOf(asked: Promise<Asked>): Promise<ModelCallError> {
  const failure = await asked.then(
    ({ response }) => response,
    (error: unknown) => error,
  );
  if (failure instanceof ModelCallError) return failure;
  throw new Error(`no ModelCallError, but ${JSON.stringify(failure)} (${String(failure)})`);
}

const piecesOf = (deltas: ModelDelta[], type: ModelDelta['type']): string =>
  deltas.map((delta) => (delta.type === type ? delta.text : '')).join('');

const callOf = ({ family }: Package, index: number, q: string): Said => ({
  call: 'look_up',
  id: family.id(index),
  input: JSON.stringify({ q }),
});

/** The settings that make a model think before each call. */
function thinking({ name }: Package): ModelRequest['settings'] {
  if (name !== 'anthropic') return {};
  return { maxOutputTokens: 4_000, extra: { anthropic: { thinking: { type: 'enabled', budgetTokens: 1_024 } } } };
}

describe.each(PACKAGES)('$name ($spec)', (one) => {
  const { family, spec, name } = one;

  test('an answer is streamed as it arrives, and the request has everything from the run', async () => {
    const settings = { temperature: 0.5, maxOutputTokens: 100 };
    const { response, deltas } = await ask(one, { parts: [{ text: 'About 384,400 km.' }] }, { settings });
    const { totalTokens: _, ...usage } = response.usage ?? { totalTokens: 0 };
    expect(response).toMatchObject({ content: 'About 384,400 km.', toolCalls: [], finishReason: 'stop' });
    // OpenAI gives each text an id.
    expect(response.providerItems === undefined).toBe(name !== 'openai');
    expect(usage).toEqual(family.usage);
    expect(piecesOf(deltas, 'text')).toBe(response.content);
    expect(deltas.length).toBeGreaterThan(1);
    expect(server.requests).toHaveLength(1);
    expect(server.refused).toEqual([]);
    // Its models that think take no temperature, which the package says.
    expect((response.warnings ?? []).join().includes('temperature')).toBe(name === 'openai');
    for (const said of ['You are a clerk.', 'Be brief.', 'How far is the Moon?', 'look_up', ...(name === 'openai' ? [] : ['0.5']), '100'])
      expect(JSON.stringify(server.last)).toContain(said);
  });

  test('several calls of one answer are read, with their arguments unchanged', async () => {
    const parts = [{ text: 'I look.' }, callOf(one, 1, 'moon'), callOf(one, 2, 'sun')];
    const { response, deltas } = await ask(one, { parts });
    expect(response.content).toBe('I look.');
    expect(response.toolCalls.map((call) => ({ ...call, arguments: JSON.parse(String(call.arguments)) as unknown }))).toMatchObject([
      { name: 'look_up', arguments: { q: 'moon' } },
      { name: 'look_up', arguments: { q: 'sun' } },
    ]);
    expect(new Set(response.toolCalls.map(({ id }) => id)).size).toBe(2);
    expect(response.finishReason).toBe('tool_calls');
    expect(piecesOf(deltas, 'tool_input').replaceAll(' ', '')).toBe('{"q":"moon"}{"q":"sun"}');
  });

  test.skipIf(name === 'google')('arguments that are not JSON reach the run, which repairs them or reports them to the model', async () => {
    const { response } = await ask(one, { parts: [{ call: 'look_up', id: family.id(1), input: '{"q":"mo' }] });
    expect(response.toolCalls).toMatchObject([{ arguments: '{"q":"mo' }]);
  });

  test('images and documents are sent as data', async () => {
    const content = [
      { type: 'text' as const, text: 'What is it?' },
      { type: 'image' as const, data: PNG },
      { type: 'file' as const, data: PDF, mediaType: 'application/pdf', name: 'bill.pdf' },
    ];
    await ask(
      one,
      { parts: [{ text: 'A bill.' }] },
      { conversation: [{ author: 'user', content: [{ type: 'message', role: 'user', content }] }] },
    );
    const sent = JSON.stringify(server.last);
    expect(sent).toContain(PNG);
    expect(sent).toContain(PDF);
  });

  test('a URL is passed on to a provider that reads it, and refused before a request otherwise: it is never fetched', async () => {
    const fetched = vi.spyOn(globalThis, 'fetch');
    onTestFinished(() => fetched.mockRestore());
    const content = [{ type: 'image' as const, url: 'https://pictures.example/moon.png', mediaType: 'image/png' }];
    const conversation = [{ author: 'user', content: [{ type: 'message' as const, role: 'user' as const, content }] }];
    const outcome = await ask(one, { parts: [{ text: 'The Moon.' }] }, { conversation }).then(
      ({ response }) => response.content,
      (error: ModelCallError) => `${error.code}: ${error.message}`,
    );
    const sent = server.requests.map(({ body }) => JSON.stringify(body));
    const passed = expect.stringContaining('https://pictures.example/moon.png') as string;
    const refused = expect.stringMatching(/^model_bad_request: .*"https:\/\/pictures\.example\/moon\.png"/) as string;
    const isRead = name === 'anthropic' || name === 'google' || name === 'openai';
    expect({ outcome, sent }).toEqual(isRead ? { outcome: 'The Moon.', sent: [passed] } : { outcome: refused, sent: [] });
    expect(JSON.stringify(fetched.mock.calls.map(([what]) => what))).not.toContain('pictures.example');
  });

  test('the schema of an answer is sent to the provider', async () => {
    const schema = {
      type: 'object' as const,
      properties: { kilometres: { type: 'number' } },
      required: ['kilometres'],
      additionalProperties: false,
    };
    const json = '{"kilometres":384400}';
    const { response } = await ask(one, { parts: [{ text: json }] }, { tools: [], output: { name: 'answer', schema, strict: true } });
    expect(JSON.stringify(server.last)).toContain('kilometres');
    expect(JSON.parse(response.content)).toEqual({ kilometres: 384_400 });
    expect(response.toolCalls).toEqual([]);
  });

  test.each(REASONING_EFFORTS)('the effort %s is sent by packages of v4 in words of the provider, and an error of v3', async (effort) => {
    const asked = async (settings: ModelRequest['settings']): Promise<string> => {
      const { response } = await ask(one, { parts: [{ text: 'Far.' }] }, { settings: { maxOutputTokens: 4_000, ...settings } });
      return JSON.stringify([server.last, (response.warnings ?? []).filter((warning) => warning.includes('reasoning'))]);
    };
    const plain = await asked({});
    const outcome = await asked({ reasoningEffort: effort }).then(
      (sent) => (sent === plain ? 'nothing' : 'sent, or told'),
      (error: ModelCallError) => `${error.code}: ${error.message}`,
    );
    const refused = expect.stringMatching(/^model_bad_request: .*"settings\.extra"/) as string;
    // A model of Bedrock thinks only if it is asked to.
    const said = effort === 'none' && name === 'amazon-bedrock' ? 'nothing' : 'sent, or told';
    expect([outcome, server.requests.length]).toEqual(spec === 'v4' ? [said, 1] : [refused, 0]);
  });

  test.each<[status: number, code: ErrorCode]>([
    [400, 'model_bad_request'],
    [401, 'model_unauthorized'],
    [403, 'model_forbidden'],
    [404, 'model_not_found'],
    [408, 'model_request_timeout'],
    [409, 'model_conflict'],
    [413, 'model_request_too_large'],
    [422, 'model_unprocessable'],
    [429, 'model_rate_limited'],
    [500, 'model_server_error'],
    [503, 'model_server_error'],
    [529, 'model_server_error'],
  ])('a refusal with %i is %s, after one request', async (status, code) => {
    const { body, headers } = family.failure(status, 'It says why');
    const failure = await failureOf(ask(one, { status, body, headers: { ...headers, 'retry-after': '7' } }));
    expect(failure).toMatchObject({ code, message: expect.stringContaining('It says why') });
    expect(failure.retryAfterMs).toBe(ERROR_CODES[code].retryable ? 7_000 : undefined);
    expect(server.requests).toHaveLength(1);
  });

  test('a conversation that is too long is context_length_exceeded', async () => {
    const failure = await failureOf(ask(one, family.failure(400, 'prompt is too long: 210000 tokens > 200000 maximum')));
    expect(failure.code).toBe('context_length_exceeded');
  });

  test("a key in a provider's message is not repeated", async () => {
    const secret = 'a-secret-of-acme-1';
    server.script(family.failure(401, `The key ${secret} is not known`));
    const client = aiSdk(async (id, { secret: read }) => {
      await read('acme');
      return one.model(url, id);
    });
    const request: ModelRequest = { model: one.modelId, instructions: [], conversation: [], tools: [], settings: {} };
    const said = {
      ...request,
      conversation: [{ author: 'user', content: [{ type: 'message' as const, role: 'user' as const, content: 'Q' }] }],
    };
    const failure = await client
      .call(said, { signal: AbortSignal.timeout(5_000), secret: () => Promise.resolve(secret) })
      .catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: 'model_unauthorized', message: expect.stringContaining('[redacted]') });
    expect(String(failure)).not.toContain(secret);
  });

  test.each(['overloaded', 'throttled'] as const)('an error in the middle of an answer is retried (%s)', async (fails) => {
    const failure = await failureOf(ask(one, { parts: [{ text: 'About' }], fails }));
    // The package of Mistral does not understand such a chunk.
    const code: ErrorCode =
      name === 'mistral' ? 'model_bad_response' : fails === 'overloaded' ? 'model_server_error' : 'model_rate_limited';
    expect(failure).toMatchObject({ code, message: expect.stringContaining(one.modelId) });
    expect(ERROR_CODES[code].retryable).toBe(true);
  });

  test('a refusal and a filter of the provider are not an answer', async () => {
    const words: Partial<Record<string, string>> = { anthropic: 'refusal', google: 'SAFETY', 'amazon-bedrock': 'guardrail_intervened' };
    const { response } = await ask(one, { parts: [{ text: 'I must not.' }], finish: words[name] ?? 'content_filter' });
    expect(response.finishReason).toMatch(/^(refusal|SAFETY|guardrail_intervened|content_filter)$/);
  });

  test('an answer that ends at its length says so', async () => {
    const words: Partial<Record<string, string>> = { anthropic: 'max_tokens', google: 'MAX_TOKENS', 'amazon-bedrock': 'max_tokens' };
    const { response } = await ask(one, { parts: [{ text: 'About' }], finish: words[name] ?? 'length' });
    expect(response.finishReason).toBe('length');
  });

  test('an abort rejects with its reason, and closes the connection', async () => {
    const reason = new Error('enough');
    const abort = new AbortController();
    const onDelta = (): void => abort.abort(reason);
    const asked = ask(
      one,
      { parts: [{ text: 'About 384,400 km.' }], cut: { after: 4, how: 'hangs' } },
      {},
      { signal: abort.signal, onDelta },
    );
    await expect(asked).rejects.toBe(reason);
    await expect.poll(() => server.closed).toBe(1);
    const before = new AbortController();
    before.abort(reason);
    await expect(ask(one, [], {}, { signal: before.signal })).rejects.toBe(reason);
    expect(server.requests).toEqual([]);
  });

  test('an answer that is cut at any place is an error, or the whole answer', async () => {
    const thought: Said[] = family.thinks ? [{ thinking: 'Hmm, look.' }] : [];
    const parts = [...thought, { search: 'moon' }, { text: 'I look.' }, callOf(one, 1, 'moon'), callOf(one, 2, 'sun')];
    const answer: Answer = { parts };
    const { response: whole } = await ask(one, answer);
    expect(whole).toMatchObject({ content: 'I look.', toolCalls: [{ name: 'look_up' }, { name: 'look_up' }] });
    const length = family.chunks(answer, server.last).length;
    const wrong: unknown[] = [];
    let errors = 0;
    for (const how of ['ends', 'breaks'] as const) {
      for (let after = 0; after < length; after += 1) {
        const cut = await ask(one, { ...answer, cut: { after, how } }).catch((error: unknown) => error);
        if (cut instanceof ModelCallError) errors += 1;
        // The usage may follow the finish reason: an answer that is complete counts without it.
        const isRight =
          cut instanceof ModelCallError
            ? ERROR_CODES[cut.code].retryable
            : isDeepStrictEqual(withoutUsage((cut as Asked).response), withoutUsage(whole));
        if (!isRight) wrong.push({ after, how, cut });
      }
    }
    expect(wrong).toEqual([]);
    expect(errors).toBeGreaterThan(length);
  });

  test("reasoning comes back in its place, with its provider's signature, and is recorded once", async () => {
    const look = defineTool({
      name: 'look_up',
      description: 'Looks',
      parameters: z.object({ q: z.string() }),
      execute: ({ q }) => `found ${q}`,
    });
    const settings = thinking(one);
    const agent = defineAgent({ name: 'clerk', model: `p/${one.modelId}`, tools: [look], settings });
    const interleaved: Said[] = name === 'anthropic' ? [{ thinking: 'And again.' }] : [];
    const thought: Said[] = family.thinks ? [{ thinking: 'Hmm, look.' }] : [];
    server.script(
      { parts: [...thought, { text: 'I look it up. ' }, ...interleaved, callOf(one, 1, 'moon'), callOf(one, 2, 'sun')] },
      { parts: [...thought, callOf(one, 1, 'mars')] },
      { parts: [{ text: 'All found.' }] },
    );
    const { result, events } = await testAgent(agent, { input: 'Look.', model: aiSdk((id) => one.model(url, id)) });
    expect(server.refused).toEqual([]);
    expect(result).toMatchObject({ status: 'completed', output: 'All found.' });
    expect(server.requests).toHaveLength(3);
    const recorded = JSON.stringify(events.flatMap(({ providerItems = [] }) => providerItems));
    expect(recorded).not.toContain('I look it up');
    expect(recorded).not.toContain('moon');
    const sent = JSON.stringify(server.last);
    expect(sent.split('I look it up').length - 1).toBe(1);
    expect(sent.split('Hmm, look.').length - 1).toBe(family.thinks ? 2 : 0);
    expect(partsOfAnswer(server.last)).toEqual(SENT_BACK[name]);
  });

  test('each request asks a provider that caches on request to keep its beginning, and the next one ends a part at the same place', async () => {
    const look = defineTool({
      name: 'look_up',
      description: 'Looks',
      parameters: z.object({ q: z.string() }),
      execute: () => ['found', { type: 'image', data: PNG, mediaType: 'image/png' }],
    });
    const agent = defineAgent({ name: 'clerk', model: `p/${one.modelId}`, instructions: 'Be brief.', tools: [look] });
    const script = [
      { parts: [callOf(one, 1, 'moon'), callOf(one, 2, 'sun')] },
      { parts: [callOf(one, 3, 'mars')] },
      { parts: [{ text: 'Done.' }] },
    ];
    const marksWith = async (cache: 'auto' | 'off'): Promise<string[][]> => {
      server.script(...script);
      await testAgent(agent, { input: 'Look.', model: aiSdk((id) => one.model(url, id), { cache }) });
      return server.requests.map(({ body }) => cachedParts(body));
    };
    const marks = await marksWith('auto');
    const caches = name === 'anthropic' || name === 'amazon-bedrock';
    expect(server.refused).toEqual([]);
    expect(marks.map(({ length }) => length)).toEqual(caches ? [2, 3, 3] : [0, 0, 0]);
    expect(marks.slice(1).map((parts) => parts.at(-2))).toEqual(
      caches ? marks.slice(0, 2).map((parts) => parts.at(-1)) : [undefined, undefined],
    );
    expect((await marksWith('off')).flat()).toEqual([]);
  });

  test('reasoning of an answer that a hook has changed, or that another model gave, is left out, and the request is taken', async () => {
    const look = defineTool({
      name: 'look_up',
      description: 'Looks',
      parameters: z.object({ q: z.string() }),
      execute: ({ q }) => `found ${q}`,
    });
    const hook = defineHook({ name: 'h', on: 'post_response', run: () => ({ modify: { text: 'Changed.' } }) });
    const agent = defineAgent({ name: 'clerk', model: `p/${one.modelId}`, tools: [look], settings: thinking(one), hooks: [hook] });
    const thought: Said[] = family.thinks ? [{ thinking: 'Hmm, look.' }] : [];
    server.script({ parts: [...thought, { text: 'I look.' }, callOf(one, 1, 'moon')] }, { parts: [{ text: 'All found.' }] });
    const { result } = await testAgent(agent, { input: 'Look.', model: aiSdk((id) => one.model(url, id)) });
    expect(server.refused).toEqual([]);
    expect(result).toMatchObject({ status: 'completed', output: 'Changed.' });
    const sent = JSON.stringify(server.last);
    expect(sent).not.toContain('Hmm, look.');
    expect(sent).toContain('found moon');
  });
});

/** The parts of the first answer in the last request, in the words of its API. */
const SENT_BACK: Partial<Record<string, string[]>> = {
  anthropic: ['thinking', 'text', 'thinking', 'tool_use', 'tool_use'],
  google: ['thought', 'text', 'functionCall thoughtSignature', 'functionCall thoughtSignature'],
  'amazon-bedrock': ['reasoningContent', 'text', 'toolUse', 'toolUse'],
  'openai-compatible': ['reasoning_content', 'content', 'tool_calls'],
  mistral: ['content', 'tool_calls'],
  openai: ['reasoning', 'assistant', 'function_call', 'function_call'],
};

/** The parts of a request that end at a mark: the part before each mark. */
function cachedParts({ system, messages }: Body): string[] {
  const parts: string[] = [];
  let before = '';
  const blocks = [system, ...(Array.isArray(messages) ? (messages as Body[]).map(({ content }) => content) : [])].flat() as Body[];
  for (const block of blocks) {
    const { cache_control: mark, ...rest } = isJsonObject(block) ? (block as Body) : { text: block };
    const isPoint = Object.hasOwn(rest, 'cachePoint');
    if (!isPoint) before += JSON.stringify(rest);
    if (isPoint || mark !== undefined) parts.push(before);
  }
  return parts;
}

function partsOfAnswer(body: Body): string[] {
  if (body['input'] !== undefined) return openaiItems(body);
  const { messages, contents } = body;
  const all = (messages ?? contents) as Body[];
  const answer = all.find(({ role }) => role === 'assistant' || role === 'model') ?? {};
  const parts = (Array.isArray(answer['content']) ? answer['content'] : answer['parts']) as Body[] | undefined;
  const shown = parts?.map(({ type, thought, text, thoughtSignature, ...rest }) => {
    const kind = type ?? (thought === true ? 'thought' : text === undefined ? Object.keys(rest).join() : 'text');
    return thoughtSignature === undefined ? kind : `${textIn(kind)} thoughtSignature`;
  });
  return (shown as string[] | undefined) ?? ['reasoning_content', 'content', 'tool_calls'].filter((field) => answer[field] !== undefined);
}

function withoutUsage({ usage: _, ...response }: ModelResponse): Partial<ModelResponse> {
  return response;
}

test.each(PACKAGES)('a refusal of $name ($spec) with 429 says in its headers or in its body alone how long to wait', async (one) => {
  const { body, headers } = one.family.failure(429, 'Rate limit reached. Please try again in 12.5s.');
  const waits = async (more: Record<string, string>): Promise<number | undefined> =>
    (await failureOf(ask(one, { status: 429, body, headers: { ...headers, ...more } }))).retryAfterMs;
  expect(await waits({})).toBe(12_500);
  expect(await waits({ 'retry-after-ms': '250' })).toBe(250);
  expect(await waits({ 'retry-after': '3' })).toBe(3_000);
});

test.each(PACKAGES.filter(({ name }) => name === 'google'))('Google $spec says in the body alone how long to wait', async (one) => {
  const details = [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '12.5s' }];
  const body = { error: { code: 429, message: 'Resource has been exhausted', status: 'RESOURCE_EXHAUSTED', details } };
  expect(await failureOf(ask(one, { status: 429, body }))).toMatchObject({ code: 'model_rate_limited', retryAfterMs: 12_500 });
});

test.each(PACKAGES.filter(({ name }) => name.startsWith('openai')))('a quota that is used up is final ($name, $spec)', async (one) => {
  const failure = await failureOf(ask(one, one.family.failure(429, 'You exceeded your current quota', 'insufficient_quota')));
  expect(failure).toMatchObject({ code: 'model_quota_exceeded' });
  expect(ERROR_CODES[failure.code].retryable).toBe(false);
});

test.each(PACKAGES.filter(({ name }) => name === 'anthropic'))(
  'Anthropic $spec: credit that is used up is final, and redacted reasoning comes back',
  async (one) => {
    const failure = await failureOf(ask(one, one.family.failure(400, 'Your credit balance is too low to access the Anthropic API')));
    expect(failure.code).toBe('model_quota_exceeded');
    const { response } = await ask(one, { parts: [{ redacted: 'RD1' }, callOf(one, 1, 'moon')] });
    const conversation: ModelRequest['conversation'] = [
      { author: 'user', content: [{ type: 'message', role: 'user', content: 'Look.' }] },
      {
        author: 'clerk',
        // The run has changed the id of the call.
        content: [{ type: 'tool_call', toolCallId: 'toolu_1-2', name: 'look_up', arguments: { q: 'moon' } }],
        providerItems: response.providerItems ?? [],
      },
      {
        author: 'clerk',
        content: [{ type: 'tool_result', toolCallId: 'toolu_1-2', name: 'look_up', status: 'success', content: ['found'] }],
      },
    ];
    await ask(one, { parts: [{ text: 'Done.' }] }, { conversation, settings: thinking(one) });
    expect(server.last['messages']).toMatchObject([
      {},
      {
        content: [
          { type: 'redacted_thinking', data: 'RD1' },
          { type: 'tool_use', id: 'toolu_1-2' },
        ],
      },
      { content: [{ type: 'tool_result', tool_use_id: 'toolu_1-2' }] },
    ]);
  },
);
