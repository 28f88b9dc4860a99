import { expect, test } from 'vitest';
import { CHAT_USAGE, chatChunk } from '../../fakes/openai-answers.ts';
import type { Handler } from '../../fakes/openai-server.ts';
import type { UsageStats } from '../../../src/core/domain/model/usage.ts';
import { fakeProvider } from './fake-provider.ts';

const { ask, askForError } = fakeProvider();

/** The parts of an answer that the listener received. */
interface Heard {
  output: string;
  usage: UsageStats[];
  context: { onOutput: (delta: string) => void; onUsage: (usage: UsageStats) => void };
}

function listener(): Heard {
  const heard: Heard = {
    output: '',
    usage: [],
    context: { onOutput: (delta) => (heard.output += delta), onUsage: (usage) => heard.usage.push(usage) },
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
  expect(heard.output).toBe('hm f{"a":1} no');
  expect(heard.usage).toEqual([REPORTED]);
});

test('the listener gets usage and all output beside text of a Responses answer that fails', async () => {
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
      { type: 'response.function_call_arguments.delta', delta: '{"a":1}' },
      { type: 'response.refusal.delta', delta: ' no' },
      { type: 'response.failed', response: { status: 'failed', error: { code: 'server_error', message: 'sorry' }, usage } },
    );
    reply.end();
  };
  const { code } = await askForError(failing, { options: { api: 'responses' }, context: heard.context });
  expect(code).toBe('model_server_error');
  expect(heard.output).toBe('hm {"a":1} no');
  expect(heard.usage).toEqual([REPORTED]);
});

test('the listener gets the usage of an invalid answer, if the provider reports it', async () => {
  const heard = listener();
  const empty: Handler = (reply) => reply.json(200, { choices: [], usage: CHAT_USAGE });
  await askForError(empty, { options: { api: 'chat' }, context: heard.context });
  expect(heard.usage).toEqual([REPORTED]);
});

test('the listener gets nothing of an error of the provider', async () => {
  const heard = listener();
  await askForError((reply) => reply.json(429, { error: { message: 'later' } }), { context: heard.context });
  expect(heard).toMatchObject({ output: '', usage: [] });
  await ask((reply) => reply.json(200, { choices: [{ message: { content: 'A' }, finish_reason: 'stop' }] }), { context: heard.context });
  expect(heard).toMatchObject({ output: '', usage: [] });
});
