import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openai, type OpenAIOptions } from '../../../activities/models/openai/openai.ts';
import type { ModelRequest, ModelResponse } from '../../../src/core/domain/model.ts';
import type { ContentItem } from '../../../src/core/domain/content.ts';
import { boundNotices } from '../../../src/core/domain/run.ts';
import { chatStream, says, outputMessage, responsesStream } from '../../fakes/openai-answers.ts';
import { type FakeOpenAI, type Handler, startFakeOpenAI } from '../../fakes/openai-server.ts';
import { failureOf, modelRequest } from './fake-provider.ts';
import { error, FULL, image, LESSONS, oneSystem, rolesOf, said, type Sent, textOf, user } from './lessons.ts';

let server: FakeOpenAI;
beforeEach(async () => {
  server = await startFakeOpenAI();
});
afterEach(() => server.close());

/** A server that refuses the first request. */
function refusing(status: number, body: unknown, answer: Handler = says('Hi.')): void {
  server.script((reply) => reply.json(status, body), answer);
}

function ask(options: OpenAIOptions = {}, request: Partial<ModelRequest> = FULL): Promise<ModelResponse> {
  return askWith(openai({ apiKey: 'sk-test-0123456789', baseURL: server.url, ...options }), request);
}

function askWith(client: ReturnType<typeof openai>, request: Partial<ModelRequest> = FULL): Promise<ModelResponse> {
  return client.call(modelRequest(request), { signal: new AbortController().signal });
}

const bodies = (): Sent[] => server.requests.map(({ body }) => body as Sent);

describe('a request that a server refuses', () => {
  test.each(LESSONS)('is resent in the form that the server accepts: %s, %i: %j', async (_, status, body, learned) => {
    refusing(status, body);
    const answer = await ask();
    expect(answer.content).toBe('Hi.');
    const [first, second, ...others] = bodies();
    expect(others).toEqual([]);
    expect(learned(second!, first!)).toBe(true);
    expect(answer.notices).toMatchObject([{ code: 'request_adapted' }]);
  });

  test.each([
    'litellm.UnsupportedParamsError: Anthropic expects the `tools=` param to be passed in. Pass `tools=` param OR set `litellm.modify_params = True`',
    "litellm.UnsupportedParamsError: Bedrock doesn't support tool calling without `tools=` param specified. Pass `tools=` param OR set it",
    'The toolConfig field must be defined when using toolUse and toolResult content blocks.',
  ])('without tools has a tool that must not be called, if the conversation has calls: %s', async (message) => {
    refusing(400, error(message, { param: null }));
    await ask({}, { ...FULL, tools: [] });
    expect(bodies()[1]).toMatchObject({ tools: [{ function: { name: 'no_tool' } }], tool_choice: 'none' });
  });

  test('is not resent if the refusal names a parameter that cannot be corrected', async () => {
    refusing(400, error('Invalid value for seed.', { param: 'seed' }));
    expect(await failureOf(ask())).toMatchObject({ code: 'model_bad_request', message: expect.stringContaining('Invalid value for seed') });
    expect(server.requests).toHaveLength(1);
  });

  test.each([
    [401, error('Incorrect API key provided: system message must be at the beginning')],
    [403, error('temperature is not supported in your region')],
    [429, error('stream_options: not supported, rate limit')],
    [500, error('The server had an unexpected error while processing temperature')],
    [503, error('system message must be at the beginning, overloaded')],
    [
      400,
      { error: { message: "This model's maximum context length is 8 tokens; temperature not supported", code: 'context_length_exceeded' } },
    ],
    [400, { error: { message: 'content must be a string', code: 'content_filter' } }],
    [400, error('Your credit balance is too low to access the API. Please go to Plans & Billing to purchase credits.')],
    [400, error('litellm.BadRequestError: prompt is too long: 210000 tokens')],
  ])('is not adapted to other errors: %i %j', async (status, body) => {
    refusing(status, body);
    await failureOf(ask());
    expect(server.requests).toHaveLength(1);
  });

  test('is right from the start once the process has learned, and the notice is in one answer', async () => {
    const client = openai({ apiKey: 'sk-test-0123456789', baseURL: server.url });
    refusing(400, { object: 'error', message: 'System message must be at the beginning.' });
    const answers = [await askWith(client), await askWith(client), await askWith(client)];
    expect(bodies().map(oneSystem)).toEqual([false, true, true, true]);
    expect(answers.map(({ notices }) => notices?.length)).toEqual([1, undefined, undefined]);
  });

  test('is learned for each model of a client', async () => {
    const client = openai({ apiKey: 'sk-test-0123456789', baseURL: server.url });
    refusing(400, { object: 'error', message: 'System message must be at the beginning.' });
    await askWith(client);
    await askWith(client, { ...FULL, model: 'other' });
    expect(bodies().map((body) => oneSystem(body))).toEqual([false, true, false]);
  });

  test('is built right from the start by capabilities that are declared', async () => {
    server.script(says('Hi.'));
    await ask({
      capabilities: { systemMessages: 'none', userAfterTool: false, repeatedRoles: false, assistantFirst: false, assistantLast: false },
    });
    expect(rolesOf(bodies()[0]!)).toMatch(/^u(?:a(?:t+a)?u)*$/);
  });

  test('is mended step by step if the server minds several things, each time in another form', async () => {
    const problem = (body: Sent): string | undefined => {
      if (!oneSystem(body)) return 'System message must be at the beginning.';
      if ('stream_options' in body) return 'Unrecognized request argument supplied: stream_options';
      if (textOf(body).includes('image_url')) return 'this model does not support image input';
      return 'temperature' in body ? 'temperature is not supported' : undefined;
    };
    server.script((reply, request) => {
      const refused = problem(request.body as Sent);
      return refused === undefined ? says('Hi.')(reply, request) : reply.json(400, error(refused));
    });
    expect((await ask()).notices).toHaveLength(4);
    expect(new Set(server.requests.map(({ text }) => text)).size).toBe(5);
  });

  test('that is refused in any form is not sent forever, and never twice in the same form', async () => {
    server.script((reply) =>
      reply.json(400, error('temperature, stream_options, strict, tool_choice, images, system role not supported; roles must alternate')),
    );
    expect(await failureOf(ask())).toMatchObject({ code: 'model_bad_request' });
    expect(server.requests.length).toBeLessThanOrEqual(12);
    expect(new Set(server.requests.map(({ text }) => text)).size).toBe(server.requests.length);
  });

  test('without an explanation has its order mended, which is remembered only if it helps', async () => {
    const client = openai({ apiKey: 'sk-test-0123456789', baseURL: server.url });
    server.script((reply) => reply.json(400, error('I cannot read that')));
    await failureOf(askWith(client));
    const [first, second] = bodies();
    expect(bodies()).toHaveLength(2);
    expect(rolesOf(second!)).toMatch(/^su(?:a(?:t+a)?u)*$/);
    const words = 'I cannot read that. '.repeat(9);
    refusing(400, error(words));
    const { notices = [] } = await askWith(client);
    expect(notices[0]?.message).toContain('the order of the messages is mended');
    expect(notices[0]?.message).toContain(words.trim().slice(0, 100));
    // The record cuts no word of it.
    expect(boundNotices(notices)).toEqual(notices);
    expect(bodies()[2]).toEqual(first);
    await askWith(client);
    expect(bodies().slice(3).map(rolesOf)).toEqual([rolesOf(second!), rolesOf(second!)]);
  });

  test('is not resent once a part of the answer has arrived', async () => {
    server.script((reply) => {
      reply.events({ choices: [{ index: 0, delta: { content: 'Half' }, finish_reason: null }] });
      reply.events({ error: { message: 'System message must be at the beginning.', code: 400 } });
      reply.end();
    });
    expect(await failureOf(ask())).toMatchObject({ code: 'model_bad_request' });
    expect(server.requests).toHaveLength(1);
  });

  test('is adapted to an error inside an answer with status 200', async () => {
    server.script((reply) => {
      reply.events({ error: { message: "Unexpected role 'user' after role 'tool'", code: 400 } });
      reply.end();
    }, says('Hi.'));
    expect((await ask()).content).toBe('Hi.');
  });

  test('has no key in its notice', async () => {
    refusing(400, error('temperature is not supported for sk-test-0123456789'));
    expect(JSON.stringify((await ask()).notices)).not.toContain('sk-test');
  });
});

describe('a request to Responses that a server refuses', () => {
  const over = { api: 'responses' as const };
  const answer = responsesStream([outputMessage('Hi.')]);

  test.each([
    ['the order', 400, error('System message must be at the beginning.'), (body: string) => body.match(/"role":"system"/g)?.length === 1],
    [
      'encrypted reasoning',
      400,
      error('Encrypted content is not supported with this model.'),
      (body: string) => !body.includes('"include"'),
    ],
    [
      'a parameter',
      400,
      error("Unsupported parameter: 'temperature' is not supported with this model.", { param: 'temperature' }),
      (body: string) => !body.includes('"temperature"'),
    ],
    [
      'an effort',
      400,
      error("Unsupported parameter: 'reasoning.effort' is not supported with this model.", { param: 'reasoning.effort' }),
      (body: string) => !body.includes('"reasoning"'),
    ],
    [
      'a schema',
      400,
      error("Invalid parameter: 'text.format' of type 'json_schema' is not supported with this model.", { param: 'text.format' }),
      (body: string) => !body.includes('"json_schema"'),
    ],
    ['strict tools', 422, { detail: "tools[0]: 'strict' is not supported" }, (body: string) => body.includes('"strict":false')],
    ['images', 400, error('This model does not support image input.'), (body: string) => !body.includes('input_image')],
    ['a forced tool', 400, error("tool_choice 'required' is not supported"), (body: string) => body.includes('"tool_choice":"auto"')],
  ])('is resent in the form that the server accepts: %s', async (_, status, body, learned) => {
    refusing(status, body, answer);
    expect((await ask(over)).content).toBe('Hi.');
    expect(server.requests).toHaveLength(2);
    expect(learned(server.requests[1]!.text)).toBe(true);
  });
});

describe('a request to any server', () => {
  test('has no text without a character, and ids that every provider takes', async () => {
    server.script(chatStream([{ content: 'Hi.' }]));
    const id = 'functions.look up:0/very long '.repeat(2);
    const odd: ContentItem[] = [
      user('a'),
      said(''),
      user('  '),
      said('\n'),
      { type: 'message', role: 'user', content: [{ type: 'text', text: '' }, image] },
      { type: 'tool_call', toolCallId: id, name: 'f', arguments: {} },
      { type: 'tool_result', toolCallId: id, name: 'f', status: 'success', content: [''] },
      { type: 'tool_call', toolCallId: id, name: 'f', arguments: {} },
      { type: 'tool_result', toolCallId: id, name: 'f', status: 'success', content: [] },
    ];
    await ask({}, { instructions: ['', 'Help.'], conversation: [{ author: 'bot', content: odd }] });
    const [{ messages } = { messages: [] }] = bodies();
    expect(messages.map(({ role, content }) => [role, content])).toEqual([
      ['system', 'Help.'],
      ['user', 'a'],
      ['user', '(no text)'],
      ['user', [{ type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }]],
      ['assistant', null],
      ['tool', '(no output)'],
      ['assistant', null],
      ['tool', '(no output)'],
    ]);
    const ids = messages.flatMap(({ tool_calls: calls = [] }) => calls.map((one) => one.id));
    expect(new Set(ids).size).toBe(2);
    expect(ids.every((one) => /^[a-zA-Z0-9_-]{1,40}$/.test(one))).toBe(true);
    expect(messages.filter(({ role }) => role === 'tool').map((message) => (message as { tool_call_id?: string }).tool_call_id)).toEqual(
      ids,
    );
  });
});
