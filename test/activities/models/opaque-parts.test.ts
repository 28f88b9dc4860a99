import { describe, expect, test } from 'vitest';
import { openai, type OpenAIOptions } from '../../../activities/models/openai/openai.ts';
import type { ContentItem } from '../../../src/core/domain/content.ts';
import type { JsonValue } from '../../../src/core/domain/json.ts';
import type { BatchItem, ConversationEvent, ModelResponse } from '../../../src/core/domain/model.ts';
import { chatCompletion, chatStream, says } from '../../fakes/openai-answers.ts';
import { completion, startBatchApi } from '../../fakes/batch-api.ts';
import type { Handler } from '../../fakes/openai-server.ts';
import { fakeProvider, modelRequest } from './fake-provider.ts';

const { server } = fakeProvider();

type Message = Record<string, unknown>;
const toolCall = (index: number, more: object = {}, ofFunction: object = {}): Message => ({
  index,
  id: `call_${index}`,
  type: 'function',
  function: { name: 'f', arguments: '{}', ...ofFunction },
  ...more,
});

/** A dialect: the deltas of a stream, and the fields that the message, or its calls, must have when it is sent back. */
type Dialect = [name: string, deltas: Message[], sentBack: Message];

const google = (signature: string): Message => ({ google: { thought_signature: signature } });
const sent = (index: number, more: object = {}, ofFunction: object = {}): Message => {
  const { index: _, ...call } = toolCall(index, more, ofFunction);
  return call;
};

const DIALECTS: Dialect[] = [
  [
    'DeepSeek, Kimi, Qwen, GLM: reasoning_content in pieces',
    [{ reasoning_content: 'I should ' }, { reasoning_content: 'look.', content: null }, { tool_calls: [toolCall(0)] }],
    { content: null, reasoning_content: 'I should look.', tool_calls: [sent(0)] },
  ],
  [
    'Groq, Ollama, newer vLLM: reasoning in pieces',
    [{ reasoning: 'I ' }, { reasoning: 'look.' }, { content: 'Hi' }, { tool_calls: [toolCall(0)] }],
    { content: 'Hi', reasoning: 'I look.', tool_calls: [sent(0)] },
  ],
  [
    'servers that send the same reasoning under two names: once',
    [{ reasoning_content: 'I look.', reasoning: 'I look.' }, { tool_calls: [toolCall(0)] }],
    { content: null, reasoning_content: 'I look.', tool_calls: [sent(0)] },
  ],
  [
    'OpenRouter: reasoning_details by their index, and no second copy of the text',
    [
      { reasoning: 'I ', reasoning_details: [{ type: 'reasoning.text', text: 'I ', format: 'anthropic-claude-v1', index: 0 }] },
      { reasoning: 'look.', reasoning_details: [{ type: 'reasoning.text', text: 'look.', index: 0 }] },
      { reasoning_details: [{ type: 'reasoning.text', signature: 'sig', index: 0 }] },
      { reasoning_details: [{ type: 'reasoning.encrypted', data: 'AAA', id: 'r1', index: 1 }] },
      { tool_calls: [toolCall(0)] },
    ],
    {
      content: null,
      reasoning_details: [
        { type: 'reasoning.text', text: 'I look.', format: 'anthropic-claude-v1', index: 0, signature: 'sig' },
        { type: 'reasoning.encrypted', data: 'AAA', id: 'r1', index: 1 },
      ],
      tool_calls: [sent(0)],
    },
  ],
  [
    'OpenRouter: summaries',
    [
      { reasoning_details: [{ type: 'reasoning.summary', summary: '**Pl', index: 0 }] },
      { reasoning_details: [{ type: 'reasoning.summary', summary: 'an**', index: 0 }] },
      { content: 'Hi' },
    ],
    { content: 'Hi', reasoning_details: [{ type: 'reasoning.summary', summary: '**Plan**', index: 0 }] },
  ],
  [
    'LiteLLM: thinking_blocks without an index, closed by their signature',
    [
      { reasoning_content: 'I ', thinking_blocks: [{ type: 'thinking', thinking: 'I ', signature: null }] },
      { reasoning_content: 'look.', thinking_blocks: [{ type: 'thinking', thinking: 'look.', signature: null }] },
      { thinking_blocks: [{ type: 'thinking', thinking: '', signature: 's1' }] },
      { thinking_blocks: [{ type: 'redacted_thinking', data: 'RRR' }] },
      { thinking_blocks: [{ type: 'thinking', thinking: '!', signature: 's2' }] },
      { tool_calls: [toolCall(0)] },
    ],
    {
      content: null,
      reasoning_content: 'I look.',
      thinking_blocks: [
        { type: 'thinking', thinking: 'I look.', signature: 's1' },
        { type: 'redacted_thinking', data: 'RRR' },
        { type: 'thinking', thinking: '!', signature: 's2' },
      ],
      tool_calls: [sent(0)],
    },
  ],
  [
    'Gemini: thought signatures on the first of several calls',
    [{ tool_calls: [toolCall(0, { extra_content: google('sig') })] }, { tool_calls: [toolCall(1)] }],
    { content: null, tool_calls: [sent(0, { extra_content: google('sig') }), sent(1)] },
  ],
  [
    'Gemini: all calls with the index 0',
    [{ tool_calls: [{ ...toolCall(0), id: 'a' }] }, { tool_calls: [{ ...toolCall(0, { extra_content: google('sig') }), id: 'b' }] }],
    {
      content: null,
      tool_calls: [
        { ...sent(0), id: 'a' },
        { ...sent(0, { extra_content: google('sig') }), id: 'b' },
      ],
    },
  ],
  [
    'Gemini: a thought signature on the message',
    [{ content: 'Hi' }, { content: '', extra_content: google('sig') }],
    { content: 'Hi', extra_content: google('sig') },
  ],
  [
    'LiteLLM for Gemini: signatures in provider_specific_fields, without what repeats other fields',
    [
      { provider_specific_fields: { citations: null, thought_signatures: ['m'], thinking_blocks: [{ thinking: 'x' }] } },
      {
        tool_calls: [
          toolCall(0, { provider_specific_fields: { thought_signature: 'c' } }, { provider_specific_fields: { thought_signature: 'f' } }),
        ],
      },
    ],
    {
      content: null,
      provider_specific_fields: { thought_signatures: ['m'] },
      tool_calls: [
        sent(0, { provider_specific_fields: { thought_signature: 'c' } }, { provider_specific_fields: { thought_signature: 'f' } }),
      ],
    },
  ],
  [
    'gateways: thought_signature on the call itself',
    [{ tool_calls: [toolCall(0, { thought_signature: 'sig' })] }],
    { content: null, tool_calls: [sent(0, { thought_signature: 'sig' })] },
  ],
  [
    'GitHub Copilot: reasoning_text and reasoning_opaque',
    [{ reasoning_text: 'I ' }, { reasoning_text: 'look.' }, { reasoning_opaque: 'OOO' }, { tool_calls: [toolCall(0)] }],
    { content: null, reasoning_text: 'I look.', reasoning_opaque: 'OOO', tool_calls: [sent(0)] },
  ],
  [
    'xAI: encrypted_content on the message',
    [{ reasoning_content: 'I.' }, { content: 'Hi' }, { encrypted_content: 'EEE' }],
    { content: 'Hi', reasoning_content: 'I.', encrypted_content: 'EEE' },
  ],
  [
    'gateways: a signature next to the reasoning',
    [{ reasoning: 'I.', reasoning_signature: 'sss' }, { content: 'Hi' }],
    { content: 'Hi', reasoning: 'I.', reasoning_signature: 'sss' },
  ],
];

const WHOLE: Dialect[] = [
  [
    'reasoning_content',
    [{ reasoning_content: 'I.', tool_calls: [toolCall(0)] }],
    { content: null, reasoning_content: 'I.', tool_calls: [sent(0)] },
  ],
  [
    'thinking_blocks',
    [
      {
        content: 'Hi',
        thinking_blocks: [
          { type: 'thinking', thinking: 'a' },
          { type: 'thinking', thinking: 'b' },
        ],
      },
    ],
    {
      content: 'Hi',
      thinking_blocks: [
        { type: 'thinking', thinking: 'a' },
        { type: 'thinking', thinking: 'b' },
      ],
    },
  ],
  [
    'Mistral: thinking as a part of the content',
    [
      {
        content: [
          { type: 'thinking', thinking: [{ type: 'text', text: 'I.' }] },
          { type: 'text', text: 'Hi' },
        ],
      },
    ],
    {
      content: [
        { type: 'thinking', thinking: [{ type: 'text', text: 'I.' }] },
        { type: 'text', text: 'Hi' },
      ],
    },
  ],
  [
    'Databricks: reasoning as a part of the content',
    [
      {
        content: [
          { type: 'reasoning', summary: [{ type: 'summary_text', text: 'I.', signature: 's' }] },
          { type: 'text', text: 'Hi' },
        ],
      },
    ],
    {
      content: [
        { type: 'reasoning', summary: [{ type: 'summary_text', text: 'I.', signature: 's' }] },
        { type: 'text', text: 'Hi' },
      ],
    },
  ],
];

const KEY = 'sk-test-0123456789';

async function ask(handler: Handler, conversation: ConversationEvent[] = [], options: OpenAIOptions = {}): Promise<ModelResponse> {
  server().script(handler);
  const client = openai({ apiKey: KEY, baseURL: server().url, ...options });
  return client.call(modelRequest({ instructions: [], conversation }), { signal: new AbortController().signal });
}

/** The events of an answer, as the run keeps it: its calls may have other ids. */
function eventsOf({ content, toolCalls, providerItems, account }: ModelResponse): ConversationEvent[] {
  const calls = toolCalls.map((call): ContentItem & { type: 'tool_call' } => ({
    type: 'tool_call',
    toolCallId: String(call.id),
    name: 'f',
    arguments: {},
  }));
  const text: ContentItem[] = content === '' && calls.length > 0 ? [] : [{ type: 'message', role: 'assistant', content }];
  const event: ConversationEvent = {
    author: 'bot',
    content: [...text, ...calls],
    ...(providerItems === undefined ? {} : { providerItems }),
    ...(account === undefined ? {} : { account }),
  };
  const results = calls.map(({ toolCallId }): ContentItem => ({
    type: 'tool_result',
    toolCallId,
    name: 'f',
    status: 'success',
    content: ['1'],
  }));
  return [event, { author: 'bot', content: results }];
}

/** Returns the message of the assistant that the next request has. */
async function messageAfter(events: ConversationEvent[], options: OpenAIOptions = {}): Promise<unknown> {
  await ask(says('Done.'), events, options);
  const messages = server().requests.at(-1)?.body['messages'];
  return Array.isArray(messages) ? messages[0] : undefined;
}

describe('what a provider sends along with an answer', () => {
  test.each(DIALECTS)('goes back to the same place: %s', async (_, deltas, sentBack) => {
    const answer = await ask(chatStream(deltas, 'stop'));
    expect(await messageAfter(eventsOf(answer))).toEqual({ role: 'assistant', ...sentBack });
  });

  test.each(WHOLE)('goes back from an answer that is not streamed: %s', async (_, [message = {}], sentBack) => {
    const answer = await ask(chatCompletion(message));
    expect(await messageAfter(eventsOf(answer))).toEqual({ role: 'assistant', ...sentBack });
  });

  test('is undefined for an answer that has nothing along with it', async () => {
    expect(await ask(says('Hi'))).not.toHaveProperty('providerItems');
    expect(
      await ask(chatStream([{ content: 'Hi', reasoning_content: '', reasoning_details: [], extra_content: null }])),
    ).not.toHaveProperty('providerItems');
  });

  test('returns to the call that it came with, also if the call has another id', async () => {
    const answer = await ask(chatStream([{ tool_calls: [toolCall(0), toolCall(1, { extra_content: google('sig') })] }], 'tool_calls'));
    const renamed = eventsOf({ ...answer, toolCalls: answer.toolCalls.map((call) => ({ ...call, id: `${String(call.id)}-2` })) });
    expect(await messageAfter(renamed)).toMatchObject({
      tool_calls: [{ id: 'call_0-2' }, { id: 'call_1-2', extra_content: google('sig') }],
    });
  });

  test.each([
    ['a call is gone', (events: ConversationEvent[]) => events.map((event) => ({ ...event, content: event.content.slice(0, 1) }))],
    [
      'a text is new',
      ([first, ...rest]: ConversationEvent[]) => [
        { ...first!, content: [{ type: 'message', role: 'assistant', content: 'New' } as const, ...first!.content] },
        ...rest,
      ],
    ],
    [
      'it is not what a client wrote',
      ([first, ...rest]: ConversationEvent[]) => [{ ...first!, providerItems: ['forged', 7] as JsonValue[] }, ...rest],
    ],
  ])('is left out as a whole if %s', async (_, changed) => {
    const deltas = [{ reasoning_content: 'I.' }, { tool_calls: [toolCall(0, { extra_content: google('s') }), toolCall(1)] }];
    const events = eventsOf(await ask(chatStream(deltas, 'tool_calls')));
    const message = JSON.stringify(await messageAfter(changed(events)));
    expect(message).not.toContain('reasoning_content');
    expect(message).not.toContain('extra_content');
  });

  test.each([
    ['another key', { apiKey: 'sk-test-other' }],
    ['another organization', { organization: 'org-2' }],
    ['another header with a key', { headers: { 'x-api-key': 'other-key' } }],
  ])('does not go to the account of %s', async (_, options) => {
    const events = eventsOf(await ask(chatStream([{ reasoning_content: 'I.', content: 'Hi' }])));
    expect(await messageAfter(events, options)).toEqual({ role: 'assistant', content: 'Hi' });
    expect(await messageAfter(events)).toEqual({ role: 'assistant', content: 'Hi', reasoning_content: 'I.' });
  });

  test('names the account by a fingerprint that says nothing about the key', async () => {
    const { account } = await ask(chatStream([{ reasoning_content: 'I.', content: 'Hi' }]));
    expect(account).toMatch(/^[0-9a-f]{8}$/);
    expect(KEY).not.toContain(account);
  });

  test.each([
    [
      'OpenAI',
      {
        error: {
          message: 'The encrypted content gAAA...wXBV could not be verified. Reason: Encrypted content could not be decrypted or parsed.',
          type: 'invalid_request_error',
          param: null,
          code: 'invalid_encrypted_content',
        },
      },
    ],
    [
      'Novita',
      {
        code: 0,
        message: 'The encrypted content gAAA...WA== could not be verified. Reason: x. trace_id: 1',
        type: 'invalid_request_error',
      },
    ],
    [
      'xAI',
      {
        code: 'invalid-argument',
        error:
          'Could not decrypt the provided encrypted_content. Ensure the value is the unmodified encrypted_content from a previous response.',
      },
    ],
    [
      'Copilot',
      {
        error: {
          message:
            'The encrypted content for item rs_1 could not be verified. Reason: Encrypted content item_id did not match the target item id.',
        },
      },
    ],
    ['Anthropic', { error: { message: 'messages.1.content.0: Invalid `signature` in `thinking` block', type: 'invalid_request_error' } }],
    [
      'Anthropic, changed',
      {
        error: {
          message:
            'messages.1.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. These blocks must remain as they were in the original response.',
        },
      },
    ],
    ['Gemini', [{ error: { code: 400, message: 'Corrupted thought signature.', status: 'INVALID_ARGUMENT' } }]],
    ['Gemini 3', [{ error: { code: 400, message: 'Thought signature is not valid.', status: 'INVALID_ARGUMENT' } }]],
    ['OpenAI, order', { error: { message: "Item 'rs_1' of type 'reasoning' was provided without its required following item." } }],
    ['OpenAI, forgotten', { error: { message: "Item with id 'rs_1' not found. Items are not persisted when `store` is set to false." } }],
    [
      'Mistral',
      {
        object: 'error',
        message: {
          detail: [
            {
              type: 'extra_forbidden',
              loc: ['body', 'messages', 0, 'assistant', 'reasoning_content'],
              msg: 'Extra inputs are not permitted',
              input: 'I.',
            },
          ],
        },
        type: 'invalid_request_error',
      },
    ],
    [
      'Groq',
      {
        error: {
          message:
            "'messages.0' : for 'role:assistant' the following must be satisfied[('messages.0' : property 'reasoning_content' is unsupported)]",
        },
      },
    ],
    ['a server that says nothing', { error: { message: 'Bad request' } }],
  ])('is left out once a provider refuses it, and noted: %s', async (_, refusal) => {
    const events = eventsOf(await ask(chatStream([{ reasoning_content: 'I.' }, { content: 'Hi' }])));
    const client = openai({ apiKey: KEY, baseURL: server().url });
    const callWith = (conversation: ConversationEvent[]): Promise<ModelResponse> =>
      client.call(modelRequest({ instructions: [], conversation }), { signal: new AbortController().signal });
    const before = server().requests.length;
    const opaque = (): boolean[] =>
      server()
        .requests.slice(before)
        .map(({ text }) => text.includes('"reasoning_content":"I."'));
    server().script((reply) => reply.json(400, refusal), says('Done.'));
    expect((await callWith(events)).notices).toMatchObject([{ code: 'request_adapted' }]);
    expect(opaque()).toEqual([true, false]);
    expect((await callWith(events)).notices).toBeUndefined();
    expect(opaque()).toEqual([true, false, false]);
  });
});

test('the parts of an answer from a batch go back to the account that has made it', async () => {
  const reasoning = { reasoning_content: 'I look.' };
  const answer = completion('', [{ name: 'f', arguments: {} }]) as { choices: { message: object }[] };
  Object.assign(answer.choices[0]?.message ?? {}, reasoning);
  const api = await startBatchApi({ answer: () => answer });
  const context = { model: 'm', signal: new AbortController().signal };
  /** Returns the messages of a request in a batch, and its answer. */
  const asked = async (key: string, events: ConversationEvent[]): Promise<{ messages: unknown; given: ModelResponse }> => {
    const { batches } = openai({ baseURL: api.url, apiKey: 'key-of-acme' });
    const request = modelRequest({ conversation: [...modelRequest().conversation, ...events] });
    const items = (): Promise<BatchItem[]> => Promise.resolve([{ id: key.repeat(32), request }]);
    const id = (await batches?.submit({ key, since: Date.now(), items }, context)) ?? '';
    const [result] = await Array.fromAsync(batches?.results(id, context) ?? []);
    if (result?.type !== 'answered') throw new Error('no answer');
    return { messages: api.batches.at(-1)?.lines[0]?.body['messages'], given: result.answer };
  };
  const { given } = await asked('a', []);
  const call: ContentItem = { type: 'tool_call', toolCallId: 'call_1', name: 'f', arguments: {} };
  const { providerItems = [], account = '' } = given;
  const { messages } = await asked('b', [{ author: 'bot', content: [call], providerItems, account }]);
  expect(messages).toContainEqual(expect.objectContaining(reasoning));
  await api.close();
});
