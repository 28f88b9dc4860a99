import { describe, expect, test } from 'vitest';
import type { ConversationEvent } from '../../../src/core/domain/model.ts';
import { outputMessage, responsesStream } from '../../fakes/openai-answers.ts';
import { type CallOptions, fakeProvider, SEARCH } from './fake-provider.ts';

const { server, ask, askForError } = fakeProvider();
const REASONING = { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'gAAA' };
const CALL = { type: 'function_call', id: 'fc_1', call_id: 'c1', name: 'search_web', arguments: '{"query":"moon"}', status: 'completed' };
const over = (asking: CallOptions = {}): CallOptions => ({ ...asking, options: { api: 'responses', ...asking.options } });

describe('the Responses API', () => {
  test('stores nothing, and requests the data for a replay', async () => {
    const output = { name: 'answer', schema: { type: 'object' }, strict: true };
    const settings = {
      temperature: 1,
      maxOutputTokens: 9,
      toolChoice: { tool: 'search_web' },
      parallelToolCalls: true,
      reasoningEffort: 'high' as const,
    };
    await ask(
      responsesStream([outputMessage('hi')]),
      over({ request: { tools: [SEARCH], output, settings: { ...settings, extra: { seed: 1 } } } }),
    );
    expect(server().requests[0]?.path).toBe('/v1/responses');
    expect(server().requests[0]?.body).toEqual({
      model: 'gpt-x',
      input: [
        { type: 'message', role: 'system', content: 'Be brief.' },
        { type: 'message', role: 'user', content: 'How far is the Moon?' },
      ],
      tools: [{ type: 'function', ...SEARCH }],
      tool_choice: { type: 'function', name: 'search_web' },
      parallel_tool_calls: true,
      text: { format: { type: 'json_schema', ...output } },
      temperature: 1,
      max_output_tokens: 9,
      reasoning: { effort: 'high' },
      store: false,
      include: ['reasoning.encrypted_content'],
      stream: true,
      seed: 1,
    });
  });

  test.each([
    ['gpt-4o-mini', {}],
    ['openai/gpt-5-chat-latest', {}],
    ['gpt-x', { reasoning: false }],
  ])('does not ask "%s" for reasoning, which it cannot give', async (model, capabilities) => {
    await ask(responsesStream([outputMessage('hi')]), over({ options: { capabilities }, request: { model } }));
    expect(server().requests[0]?.body).not.toHaveProperty('include');
  });

  test('tools are marked as not strict if the server enforces no schema', async () => {
    await ask(
      responsesStream([outputMessage('hi')]),
      over({ options: { capabilities: { strictSchema: false } }, request: { tools: [SEARCH] } }),
    );
    expect(server().requests[0]?.body['tools']).toMatchObject([{ strict: false }]);
  });

  test('text, tool calls, usage and reasoning are read from the stream', async () => {
    const pieces: string[] = [];
    const answer = await ask(
      responsesStream([REASONING, outputMessage('Let me see.'), CALL]),
      over({ context: { onDelta: ({ type, text }) => type === 'text' && pieces.push(text) } }),
    );
    expect(answer).toEqual({
      content: 'Let me see.',
      toolCalls: [{ id: 'c1', name: 'search_web', arguments: '{"query":"moon"}' }],
      usage: { promptTokens: 20, completionTokens: 10, totalTokens: 30, cachedTokens: 16, reasoningTokens: 4 },
      finishReason: 'tool_calls',
      providerItems: [{ t: 'item', item: REASONING }, { t: 'text' }, { t: 'call', i: 0 }],
      account: expect.stringMatching(/^[0-9a-f]{8}$/),
    });
    expect(pieces).toEqual(['Let me see.']);
  });

  test('encrypted reasoning is sent again before the items that followed it', async () => {
    const { account = '', providerItems = [] } = await ask(responsesStream([REASONING, outputMessage('Let me see.'), CALL]), over());
    const conversation: ConversationEvent[] = [
      { author: 'user', content: [{ type: 'message', role: 'user', content: 'How far?' }] },
      {
        author: 'bot',
        content: [
          { type: 'message', role: 'assistant', content: 'Let me see.' },
          { type: 'tool_call', toolCallId: 'c1', name: 'search_web', arguments: { query: 'moon' } },
        ],
        providerItems,
        account,
      },
      {
        author: 'bot',
        content: [{ type: 'tool_result', toolCallId: 'c1', name: 'search_web', status: 'success', content: ['384,400 km'] }],
      },
      { author: 'bot', content: [], providerItems, account },
    ];
    await ask(responsesStream([outputMessage('384,400 km')]), over({ request: { instructions: [], conversation } }));
    expect(server().requests[1]?.body['input']).toEqual([
      { type: 'message', role: 'user', content: 'How far?' },
      REASONING,
      { type: 'message', role: 'assistant', content: 'Let me see.' },
      { type: 'function_call', call_id: 'c1', name: 'search_web', arguments: '{"query":"moon"}' },
      { type: 'function_call_output', call_id: 'c1', output: '384,400 km' },
    ]);
  });

  test('notes on results follow their batch as a message of the user', async () => {
    const call = { type: 'tool_call' as const, toolCallId: 'c1', name: 'search_web', arguments: {} };
    const result = { type: 'tool_result' as const, toolCallId: 'c1', name: 'search_web', status: 'success' as const };
    const conversation: ConversationEvent[] = [
      { author: 'bot', content: [call] },
      { author: 'bot', content: [{ ...result, content: ['384,400 km'], notes: ['mind the gap'] }] },
    ];
    await ask(responsesStream([outputMessage('384,400 km')]), over({ request: { instructions: [], conversation } }));
    expect(server().requests[0]?.body['input']).toEqual([
      { type: 'function_call', call_id: 'c1', name: 'search_web', arguments: '{}' },
      { type: 'function_call_output', call_id: 'c1', output: '384,400 km' },
      {
        type: 'message',
        role: 'user',
        content: [{ type: 'input_text', text: 'About the call of "search_web" (c1): mind the gap' }],
      },
    ]);
  });

  test('reasoning that is not encrypted cannot be sent again, and is not kept', async () => {
    const { encrypted_content: _, ...plain } = REASONING;
    expect(await ask(responsesStream([plain, outputMessage('hi')]), over())).not.toHaveProperty('providerItems');
  });

  test('media are sent as input parts', async () => {
    const content = [
      { type: 'image' as const, data: 'AAAA' },
      { type: 'file' as const, url: 'https://example.com/a.pdf' },
    ];
    await ask(
      responsesStream([outputMessage('hi')]),
      over({ request: { instructions: [], conversation: [{ author: 'user', content: [{ type: 'message', role: 'user', content }] }] } }),
    );
    expect(server().requests[0]?.body['input']).toEqual([
      {
        type: 'message',
        role: 'user',
        content: [
          { type: 'input_image', image_url: 'data:image/png;base64,AAAA', detail: 'auto' },
          { type: 'input_file', file_url: 'https://example.com/a.pdf' },
        ],
      },
    ]);
  });

  test.each([
    ['max_output_tokens', 'length'],
    ['content_filter', 'content_filter'],
    ['boredom', 'boredom'],
  ])('an answer that is incomplete for "%s" has the finish reason "%s"', async (reason, expected) => {
    const answer = await ask(responsesStream([outputMessage('The')], { status: 'incomplete', incomplete_details: { reason } }), over());
    expect(answer).toMatchObject({ content: 'The', finishReason: expected });
  });

  test('a refusal is marked as one', async () => {
    const message = { type: 'message', role: 'assistant', content: [{ type: 'refusal', refusal: 'No.' }] };
    expect(await ask(responsesStream([message]), over())).toMatchObject({ content: '', refusal: 'No.', finishReason: 'refusal' });
  });

  test.each([
    ['server_error', 'model_server_error'],
    ['rate_limit_exceeded', 'model_rate_limited'],
    ['context_length_exceeded', 'context_length_exceeded'],
    ['invalid_prompt', 'model_bad_request'],
    ['bio_policy', 'content_filter'],
  ])('a response that fails with "%s" is "%s"', async (code, expected) => {
    expect(await askForError(responsesStream([], { status: 'failed', error: { code, message: 'sorry' } }), over())).toMatchObject({
      code: expected,
    });
    expect(await askForError((reply) => reply.events({ type: 'error', code, message: 'sorry', param: null }), over())).toMatchObject({
      code: expected,
    });
  });

  test('a response without streaming is accepted too', async () => {
    const pieces: string[] = [];
    const answer = await ask(
      (reply) => reply.json(200, { object: 'response', status: 'completed', error: null, output: [outputMessage('whole'), CALL] }),
      over({ context: { onDelta: ({ type, text }) => type === 'text' && pieces.push(text) } }),
    );
    expect(answer).toMatchObject({ content: 'whole', toolCalls: [{ id: 'c1' }], usage: null });
    expect(pieces).toEqual(['whole']);
  });

  const done = (item: object): object => ({ type: 'response.output_item.done', item });
  const added = (item: object): object => ({ type: 'response.output_item.added', item: { ...item, arguments: '' } });
  const last = (output: object[] = [], status = 'completed'): object => ({ type: 'response.completed', response: { status, output } });
  const HM = { type: 'response.output_text.delta', delta: 'hm' };

  test.each<[what: string, events: object[], ids: string[]]>([
    ['with a call in the stream and at the end', [added(CALL), done(CALL), last([CALL])], ['c1']],
    ['with a call in the stream alone', [done(CALL), HM, { type: 'response.completed' }], ['c1']],
    ['with a call at the end alone', [HM, last([CALL])], ['c1']],
    ['with an item that is sent twice', [done(CALL), done(CALL), last()], ['c1']],
    ['with a call that has begun, and the rest of it at the end', [added(CALL), last([CALL])], ['c1']],
    ['with another id of the item at the end', [added({ ...CALL, id: 'fc_0' }), done({ ...CALL, id: 'fc_0' }), last([CALL])], ['c1']],
    ['with two calls that differ by their ids', [last([CALL, { ...CALL, id: 'fc_2', call_id: 'c2' }])], ['c1', 'c2']],
    ['with two calls of one id that differ', [last([CALL, { ...CALL, id: 'fc_2', arguments: '{}' }])], ['c1', 'c1']],
  ])('an answer %s has each call once', async (_, events, ids) => {
    const answer = await ask((reply) => (reply.events(...events), reply.end()), over());
    expect(answer).toMatchObject({ toolCalls: ids.map((id) => ({ id })), finishReason: 'tool_calls' });
  });

  test.each<[what: string, events: object[]]>([
    ['a call that has begun and is missing at the end', [added(CALL), last([outputMessage('hm')])]],
    ['a call that has begun and nothing at the end', [added(CALL), last()]],
    ['a whole call that is missing at the end', [done(CALL), last([outputMessage('hm')])]],
    ['one call twice at the end', [last([CALL, CALL])]],
    ['one call twice under two ids of items', [done(CALL), done({ ...CALL, id: 'fc_2' }), last()]],
    ['a last event that says it is in progress', [done(CALL), last([CALL], 'in_progress')]],
  ])('an answer with %s is malformed', async (_, events) => {
    const failure = await askForError((reply) => (reply.events(...events), reply.end()), over());
    expect(failure.code).toBe('model_bad_response');
  });
});
