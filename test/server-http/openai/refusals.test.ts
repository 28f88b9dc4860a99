import OpenAI from 'openai';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { defineAgent } from '../../../src/index.ts';
import { LonghaulError } from '../../../src/core/domain/errors.ts';
import { createHandler, SCOPES } from '../../../src/server/index.ts';
import { OPENAI_ROUTES } from '../../../src/server/protocols/openai/openai-routes.ts';
import { clientWithRun, send } from '../requests.ts';
import { clerk, openaiFor, served, ToldRun } from './served-run.ts';

const CHAT = { model: 'clerk', messages: [{ role: 'user', content: 'Q' }] };
const RESPONSE = { model: 'clerk', input: 'Q' };

/** A message of the user with an image at a URL. */
const imageMessage = (url: string): object => ({ role: 'user', content: [{ type: 'image_url', image_url: { url } }] });

async function refusal(path: string, body: object): Promise<{ status: number; param: string | null; code: string; message: string }> {
  const { handler, calls } = served(new ToldRun().end('x'));
  const response = await send(handler, 'POST', path, { body });
  expect(calls).toEqual([]);
  const { error } = (await response.json()) as { error: { message: string; type: string; param: string | null; code: string } };
  expect(error.type).toBe('invalid_request_error');
  return { status: response.status, ...error };
}

describe('a parameter that is not supported is refused by its name', () => {
  test.each([
    [{ tools: [{ type: 'function', function: { name: 'f' } }] }, 'tools', 'unsupported_parameter'],
    [{ n: 2 }, 'n', 'unsupported_parameter'],
    [{ seed: 1 }, 'seed', 'unsupported_parameter'],
    [{ top_p: 0.5 }, 'top_p', 'unsupported_parameter'],
    [{ logprobs: true }, 'logprobs', 'unsupported_parameter'],
    [{ stop: ['x'] }, 'stop', 'unsupported_parameter'],
    [{ response_format: { type: 'json_object' } }, 'response_format', 'unsupported_parameter'],
    [{ nonsense: 1 }, 'nonsense', 'unknown_parameter'],
    [{ temperature: 3 }, 'temperature', 'invalid_value'],
    [{ messages: [] }, 'messages', 'invalid_value'],
    [{ messages: [{ role: 'function', content: 'x' }] }, 'messages[0].role', 'invalid_value'],
    [{ messages: [{ role: 'tool', tool_call_id: 'c', content: 'x' }] }, 'messages[0].tool_call_id', 'invalid_value'],
    [
      { messages: [{ role: 'user', content: [{ type: 'file', file: { file_id: 'f' } }] }] },
      'messages[0].content[0].file.file_id',
      'unsupported_parameter',
    ],
    [{ messages: [...CHAT.messages, { role: 'assistant', content: 'A' }] }, 'messages', 'invalid_value'],
    [{ messages: [{ role: 'assistant', content: '' }] }, 'messages', 'invalid_value'],
    [{ messages: [imageMessage('')] }, 'messages[0].content[0].image_url.url', 'invalid_value'],
    [{ messages: [imageMessage('not a url')] }, 'messages[0].content[0].image_url.url', 'invalid_value'],
    [{ stream_options: { nonsense: true } }, 'stream_options.nonsense', 'invalid_value'],
  ])('of chat completions: %j', async (more, param, code) => {
    expect(await refusal('/v1/chat/completions', { ...CHAT, ...more })).toMatchObject({ status: 400, param, code });
  });

  test.each([
    [{ store: false }, 'store', 'unsupported_parameter'],
    [{ include: ['reasoning.encrypted_content'] }, 'include', 'unsupported_parameter'],
    [{ conversation: 'c' }, 'conversation', 'unsupported_parameter'],
    [{ truncation: 'auto' }, 'truncation', 'unsupported_parameter'],
    [{ text: { format: { type: 'json_object' } } }, 'text.format', 'unsupported_parameter'],
    [{ previous_response_id: 'r', instructions: 'Be short' }, 'instructions', 'unsupported_parameter'],
    [{ previous_response_id: 'r', input: [{ role: 'system', content: 'x' }] }, 'input[0]', 'unsupported_parameter'],
    [{ input: [{ type: 'item_reference', id: 'i' }] }, 'input[0].type', 'invalid_value'],
    [{ metadata: { a: 1 } }, 'metadata.a', 'invalid_value'],
    [{ model: undefined }, 'model', 'missing_required_parameter'],
    [{ input: undefined }, 'input', 'missing_required_parameter'],
    [{ input: [{ role: 'user', content: [] }] }, 'input', 'invalid_value'],
    [{ input: [{ role: 'assistant', content: 'A' }] }, 'input', 'invalid_value'],
    [{ input: [{ role: 'user', content: [{ type: 'input_image', image_url: '' }] }] }, 'input[0].content[0].image_url', 'invalid_value'],
    [{ input: [{ role: 'user', content: [{ type: 'input_file', file_url: 'x' }] }] }, 'input[0].content[0].file_url', 'invalid_value'],
    [{ stream_options: { include_usage: true } }, 'stream_options.include_usage', 'invalid_value'],
  ])('of responses: %j', async (more, param, code) => {
    expect(await refusal('/v1/responses', { ...RESPONSE, ...more })).toMatchObject({ status: 400, param, code });
  });

  test('of reading: "starting_after" without a stream, or with no number', async () => {
    const { handler } = served(new ToldRun().end('x'));
    for (const query of ['starting_after=1', 'stream=true&starting_after=x', 'stream=true&starting_after=9007199254740993']) {
      const response = await send(handler, 'GET', `/v1/responses/run-1?${query}`);
      expect([response.status, (await response.json()) as object]).toMatchObject([400, { error: { param: 'starting_after' } }]);
    }
  });
});

test('a misspelt parameter is refused with the nearest one', async () => {
  expect(await refusal('/v1/chat/completions', { ...CHAT, temprature: 1 })).toMatchObject({
    message: 'Unknown parameter: "temprature". Did you mean "temperature"?',
  });
  expect(await refusal('/v1/responses', { ...RESPONSE, inputt: 'x' })).toMatchObject({
    message: 'Unknown parameter: "inputt". Did you mean "input"?',
  });
});

test('an agent that requires deps is refused with another way to start it', async () => {
  const agent = defineAgent({ name: 'desk', model: 'p/m', deps: z.object({ customerId: z.string() }) });
  const { handler, calls } = served(new ToldRun().end('x'), { agents: [agent] });
  for (const [path, body] of [['/v1/chat/completions', CHAT] as const, ['/v1/responses', RESPONSE] as const]) {
    const response = await send(handler, 'POST', path, { body: { ...body, model: 'desk' } });
    expect([response.status, await response.json()]).toMatchObject([
      400,
      {
        error: {
          message:
            'Agent "desk" requires deps ("customerId"), which have no parameter in this protocol: start it with "POST /v1/runs", or give these fields defaults',
          param: 'model',
          code: 'invalid_input',
        },
      },
    ]);
  }
  expect(calls).toEqual([]);
});

test('a path of the API that the service does not have is refused in the form of the API', async () => {
  const openai = openaiFor(served(new ToldRun()).handler);
  const refused = { constructor: OpenAI.NotFoundError, status: 404, code: 'route_not_found', type: 'invalid_request_error' };
  await expect(openai.embeddings.create({ model: 'clerk', input: 'x' })).rejects.toMatchObject(refused);
  await expect(openai.completions.create({ model: 'clerk', prompt: 'x' })).rejects.toMatchObject(refused);
  await expect(openai.files.list()).rejects.toMatchObject(refused);
});

test('values that change nothing are accepted', async () => {
  const { handler, calls } = served(new ToldRun().end('x'));
  const chat = {
    n: 1,
    top_p: 1,
    presence_penalty: 0,
    stop: null,
    tools: [],
    tool_choice: 'auto',
    store: false,
    user: 'u',
    service_tier: 'auto',
  };
  expect((await send(handler, 'POST', '/v1/chat/completions', { body: { ...CHAT, ...chat } })).status).toBe(200);
  const response = { store: true, include: [], truncation: 'disabled', tools: [], conversation: null, prompt_cache_key: 'k' };
  expect((await send(handler, 'POST', '/v1/responses', { body: { ...RESPONSE, ...response } })).status).toBe(200);
  expect(calls.map(([name]) => name)).toEqual(['start', 'start']);
});

test('agents are models, those that the caller may start', async () => {
  const openai = openaiFor(served(new ToldRun()).handler);
  expect(await Array.fromAsync(await openai.models.list())).toEqual([{ id: 'clerk', object: 'model', created: 0, owned_by: 'longhaul' }]);
  expect((await openai.models.retrieve('clerk')).id).toBe('clerk');
  await expect(openai.models.retrieve('clrek')).rejects.toThrow('Did you mean "clerk"?');
  await expect(openai.models.retrieve('gpt-5')).rejects.toMatchObject({ constructor: OpenAI.NotFoundError, code: 'model_not_found' });
  const other = openaiFor(served(new ToldRun(), { caller: { agents: ['other'] } }).handler);
  expect(await Array.fromAsync(await other.models.list())).toEqual([]);
  await expect(other.models.retrieve('clerk')).rejects.toMatchObject({ status: 404 });
});

test('a model that the service does not list is not found; a service that lists none starts any', async () => {
  const { handler, calls } = served(new ToldRun().end('x'));
  const asked = { ...RESPONSE, model: 'gpt-5' };
  await expect(openaiFor(handler).responses.create(asked)).rejects.toMatchObject({ status: 404, code: 'model_not_found', param: 'model' });
  expect(calls).toEqual([]);
  const open = served(new ToldRun().end('x'), { agents: [] });
  expect((await openaiFor(open.handler).responses.create(asked)).model).toBe('gpt-5');
  expect(open.calls).toMatchObject([['start', 'gpt-5', {}]]);
});

describe('errors have the form and the status that the package knows', () => {
  test.each([
    ['unauthenticated', OpenAI.AuthenticationError, 401],
    ['forbidden', OpenAI.PermissionDeniedError, 403],
    ['run_exists', OpenAI.ConflictError, 409],
    ['payload_too_large', OpenAI.APIError, 413],
    ['too_many_requests', OpenAI.RateLimitError, 429],
    ['invalid_input', OpenAI.BadRequestError, 400],
    ['key_reused', OpenAI.UnprocessableEntityError, 422],
    ['server_unreachable', OpenAI.InternalServerError, 503],
    ['internal', OpenAI.InternalServerError, 500],
  ] as const)('%s', async (code, type, status) => {
    let count = 0;
    const start = (): Promise<never> => {
      count += 1;
      return Promise.reject(new LonghaulError(code, 'refused'));
    };
    const handler = createHandler(clientWithRun({}, { start }), { agents: [clerk], onError: () => undefined });
    const error: unknown = await openaiFor(handler)
      .responses.create({ model: 'clerk', input: 'Q' })
      .catch((refused: unknown) => refused);
    expect(error).toBeInstanceOf(type);
    expect(error).toMatchObject({ status });
    expect((error as InstanceType<typeof OpenAI.APIError>).headers?.get('retry-after') ?? null).toBe(
      status === 429 ? '1' : status === 503 ? '5' : null,
    );
    // The package repeats conflicts by itself, and would be refused again.
    if (status === 409)
      await openaiFor(handler, { maxRetries: 2 })
        .responses.create({ model: 'clerk', input: 'Q' })
        .catch(() => undefined);
    expect(count).toBe(status === 409 ? 2 : 1);
  });

  test('a path of the protocol that takes another method, invalid JSON, and a body that is too large', async () => {
    const { handler } = served(new ToldRun(), { prefix: '/api' });
    const form = async (response: Response): Promise<unknown> => [response.status, await response.json()];
    expect(await form(await send(handler, 'DELETE', '/api/v1/models'))).toMatchObject([405, { error: { type: 'invalid_request_error' } }]);
    const post = (body: string): Promise<Response> =>
      handler(new Request('http://localhost/api/v1/responses', { method: 'POST', body, headers: { 'content-type': 'application/json' } }));
    expect(await form(await post('{'))).toMatchObject([400, { error: { code: 'malformed_request' } }]);
    expect(await form(await post(`"${'x'.repeat(1_100_000)}"`))).toMatchObject([413, { error: { code: 'body_too_large' } }]);
  });
});

describe.each(OPENAI_ROUTES.map(({ definition }) => [`${definition.method} ${definition.path}`, definition] as const))(
  '%s',
  (_, { method, path, scope }) => {
    const at = path.replaceAll(/\{\w+\}/g, 'x');

    test('refuses a caller that is not verified', async () => {
      const handler = createHandler(clientWithRun({}), { authenticate: () => undefined });
      const response = await send(handler, method, at);
      expect([response.status, await response.json()]).toMatchObject([
        401,
        { error: { code: 'invalid_api_key', type: 'authentication_error' } },
      ]);
      expect(response.headers.has('www-authenticate')).toBe(true);
    });

    test('refuses a caller with every scope but its own', async () => {
      const scopes = SCOPES.filter((one) => one !== scope && one !== 'admin');
      const handler = createHandler(clientWithRun({}), { authenticate: () => ({ id: 'c', principal: 'all', scopes }) });
      const response = await send(handler, method, at);
      expect([response.status, await response.json()]).toMatchObject([403, { error: { type: 'permission_error' } }]);
    });

    test('refuses a caller for one run that is another one', async () => {
      const handler = createHandler(clientWithRun({}), {
        authenticate: () => ({ id: 'c', principal: 'all', scopes: SCOPES, runId: 'mine' }),
      });
      expect((await send(handler, method, at)).status).toBe(path.includes('{runId}') ? 404 : 403);
    });
  },
);

test('a run of another principal is not found, in every way to reach it', async () => {
  const notFound = (): Promise<never> => Promise.reject(new LonghaulError('run_not_found', 'Namespace "secret" has no run "x"'));
  const run = { status: notFound, result: notFound, events: notFound, cancel: notFound, stream: notFound };
  const handler = createHandler(clientWithRun(run, { start: notFound }), { agents: [clerk] });
  const openai = openaiFor(handler);
  for (const request of [
    () => openai.responses.retrieve('x'),
    () => openai.responses.retrieve('x', { stream: true }),
    () => openai.responses.cancel('x'),
    () => openai.responses.create({ model: 'clerk', input: 'Q', previous_response_id: 'x' }),
  ]) {
    const error: unknown = await request().catch((refused: unknown) => refused);
    expect(error).toMatchObject({ constructor: OpenAI.NotFoundError, status: 404 });
    expect(String(error)).not.toContain('secret');
  }
});

describe('arguments of an earlier call that are nested deeply', () => {
  const LEVELS = 20_000;
  test.each([
    ['lists', `{"x":${'['.repeat(LEVELS)}${']'.repeat(LEVELS)}}`],
    ['objects', `{"x":${'{"a":'.repeat(LEVELS)}1${'}'.repeat(LEVELS)}}`],
  ])('are refused by their name, and start nothing: %s', async (_, json) => {
    const called = { id: 'c1', type: 'function', function: { name: 'search', arguments: json } };
    const messages = [{ role: 'assistant', tool_calls: [called] }, ...CHAT.messages];
    expect(await refusal('/v1/chat/completions', { ...CHAT, messages })).toMatchObject({
      status: 400,
      param: 'messages[0].tool_calls[0].function.arguments',
      code: 'invalid_value',
    });
    const item = { type: 'function_call', call_id: 'c1', name: 'search', arguments: json };
    expect(await refusal('/v1/responses', { model: 'clerk', input: [item, { role: 'user', content: 'Q' }] })).toMatchObject({
      status: 400,
      param: 'input[0].arguments',
      code: 'invalid_value',
    });
  });
});
