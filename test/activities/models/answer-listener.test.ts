import { expect, test } from 'vitest';
import { CHAT_USAGE, chatChunk, chatStream } from '../../fakes/openai-answers.ts';
import type { Handler } from '../../fakes/openai-server.ts';
import type { ModelDelta } from '../../../src/core/domain/stream.ts';
import type { UsageStats } from '../../../src/core/domain/usage.ts';
import { fakeProvider } from './fake-provider.ts';

const { ask, askForError } = fakeProvider();

/** The parts of an answer that the listener received. */
interface Heard {
  deltas: ModelDelta[];
  usage: UsageStats[];
  context: { onDelta: (delta: ModelDelta) => void; onUsage: (usage: UsageStats) => void };
}

function listener(): Heard {
  const heard: Heard = {
    deltas: [],
    usage: [],
    context: { onDelta: (delta) => heard.deltas.push(delta), onUsage: (usage) => heard.usage.push(usage) },
  };
  return heard;
}

const REPORTED = { promptTokens: 20, completionTokens: 10, totalTokens: 30, cachedTokens: 16, reasoningTokens: 4 };

/** Sends the events, and then breaks the connection. */
function breaksAfter(...events: unknown[]): Handler {
  return (reply) => {
    reply.events(...events);
    setTimeout(() => reply.reset(), 50);
  };
}

test('the listener gets arguments, reasoning, refusal and usage of a Chat Completions answer that is cut off', async () => {
  const heard = listener();
  const call = { index: 0, id: 'c1', function: { name: 'f', arguments: '{"a"' } };
  const broken = breaksAfter(
    { ...chatChunk({ reasoning_content: 'hm ' }), usage: CHAT_USAGE },
    chatChunk({ tool_calls: [call] }),
    chatChunk({ tool_calls: [{ index: 0, function: { arguments: ':1}' } }] }),
    chatChunk({ refusal: ' no' }),
  );
  const { code } = await askForError(broken, { options: { api: 'chat' }, context: heard.context });
  expect(code).toBe('model_unreachable');
  expect(heard.deltas).toEqual([
    { type: 'reasoning', text: 'hm ' },
    { type: 'tool_input', callId: 'c1', toolName: 'f', text: '{"a"' },
    { type: 'tool_input', callId: 'c1', toolName: 'f', text: ':1}' },
    { type: 'text', text: ' no' },
  ]);
  expect(heard.usage).toEqual([REPORTED]);
});

test('the listener gets usage and all output other than text of a Responses answer that fails', async () => {
  const heard = listener();
  const usage = {
    input_tokens: 20,
    output_tokens: 10,
    total_tokens: 30,
    input_tokens_details: { cached_tokens: 16 },
    output_tokens_details: { reasoning_tokens: 4 },
  };
  const failing: Handler = (reply) => {
    reply.events(
      { type: 'response.reasoning_summary_text.delta', delta: 'hm ' },
      { type: 'response.output_item.added', item: { type: 'function_call', id: 'i1', call_id: 'c1', name: 'f', arguments: '' } },
      { type: 'response.function_call_arguments.delta', item_id: 'i1', delta: '{"a":1}' },
      { type: 'response.refusal.delta', delta: ' no' },
      { type: 'response.failed', response: { status: 'failed', error: { code: 'server_error', message: 'sorry' }, usage } },
    );
    reply.end();
  };
  const { code } = await askForError(failing, { options: { api: 'responses' }, context: heard.context });
  expect(code).toBe('model_server_error');
  expect(heard.deltas).toEqual([
    { type: 'reasoning', text: 'hm ' },
    { type: 'tool_input', callId: 'c1', toolName: 'f', text: '' },
    { type: 'tool_input', callId: 'c1', toolName: 'f', text: '{"a":1}' },
    { type: 'text', text: ' no' },
  ]);
  expect(heard.usage).toEqual([REPORTED]);
});

test('reasoning that a server sends under both names is reported once', async () => {
  const heard = listener();
  const call = { index: 0, function: { name: 'f', arguments: { a: 1 } } };
  await ask(chatStream([{ reasoning_content: 'hm', reasoning: 'hm' }, { content: 'A' }, { tool_calls: [call] }]), {
    context: heard.context,
  });
  expect(heard.deltas).toEqual([
    { type: 'reasoning', text: 'hm' },
    { type: 'text', text: 'A' },
    // The server has sent no id.
    { type: 'tool_input', callId: '', toolName: 'f', text: '{"a":1}' },
  ]);
});

test('the listener gets all parts of an answer that is not streamed', async () => {
  const heard = listener();
  const message = { content: 'A', tool_calls: [{ id: 'c1', function: { name: 'f', arguments: '{}' } }], reasoning: 'hm' };
  await ask((reply) => reply.json(200, { choices: [{ message, finish_reason: 'tool_calls' }] }), {
    options: { api: 'chat' },
    context: heard.context,
  });
  const output = [
    { type: 'message', content: [{ type: 'refusal', refusal: 'A' }] },
    { type: 'function_call', call_id: 'c2', name: 'f', arguments: '{}' },
  ];
  await ask((reply) => reply.json(200, { object: 'response', status: 'completed', error: null, output }), {
    options: { api: 'responses' },
    context: heard.context,
  });
  expect(heard.deltas).toEqual([
    { type: 'reasoning', text: 'hm' },
    { type: 'text', text: 'A' },
    { type: 'tool_input', callId: 'c1', toolName: 'f', text: '{}' },
    { type: 'text', text: 'A' },
    { type: 'tool_input', callId: 'c2', toolName: 'f', text: '{}' },
  ]);
});

test('the listener gets the usage of an invalid answer, if the provider reports it', async () => {
  const heard = listener();
  const empty: Handler = (reply) => reply.json(200, { choices: [], usage: CHAT_USAGE });
  await askForError(empty, { options: { api: 'chat' }, context: heard.context });
  expect(heard.usage).toEqual([REPORTED]);
});

test("the listener gets no part of a provider's error", async () => {
  const heard = listener();
  await askForError((reply) => reply.json(429, { error: { message: 'later' } }), { context: heard.context });
  expect(heard).toMatchObject({ deltas: [], usage: [] });
  await ask((reply) => reply.json(200, { choices: [{ message: { content: 'A' }, finish_reason: 'stop' }] }), { context: heard.context });
  expect(heard).toMatchObject({ deltas: [{ type: 'text', text: 'A' }], usage: [] });
});
