import OpenAI from 'openai';
import { afterEach, expect, test } from 'vitest';
import { openai } from '../../activities/models/openai/openai.ts';
import { errorCode } from '../../src/core/domain/errors.ts';
import type { ConversationEvent, ModelRequest, ModelResponse } from '../../src/core/domain/model.ts';
import { calculator, searchWeb, searchWikipedia } from '../../examples/kipchoge/tools.ts';
import { QUESTION, type ScriptedModel, startScriptedModel } from '../../examples/kipchoge/scripted-model.ts';

let running: ScriptedModel | undefined;

afterEach(async () => {
  await running?.stop();
  running = undefined;
});

/** Calls the model as the worker does, with a result for each call, until it answers. */
async function converse(api: 'chat' | 'responses', question: string): Promise<ModelResponse[]> {
  running = await startScriptedModel();
  const client = openai({ apiKey: 'none', baseURL: running.baseURL, api });
  const tools = [searchWeb, searchWikipedia, calculator].map(({ name, description, providerSchema, strict }) => {
    return { name, description, parameters: providerSchema, strict };
  });
  const conversation: ConversationEvent[] = [{ author: 'user', content: [{ type: 'message', role: 'user', content: question }] }];
  const request: ModelRequest = { model: 'gpt-5-mini', instructions: ['Answer.'], conversation, tools, settings: {} };
  const responses: ModelResponse[] = [];
  for (;;) {
    const response = await client.call(request, { signal: new AbortController().signal });
    responses.push(response);
    const [call] = response.toolCalls;
    if (call === undefined) return responses;
    const [toolCallId, name] = [String(call.id), String(call.name)];
    conversation.push(
      {
        author: 'kipchoge',
        content: [
          { type: 'message', role: 'assistant', content: response.content },
          { type: 'tool_call', toolCallId, name, arguments: JSON.parse(String(call.arguments)) },
        ],
      },
      { author: 'kipchoge', content: [{ type: 'tool_result', toolCallId, name, status: 'success', content: ['found'] }] },
    );
  }
}

test.each(['chat', 'responses'] as const)(
  'over the %s API it thinks, calls the three tools in order, and answers, with usage',
  async (api) => {
    const responses = await converse(api, QUESTION);

    expect(responses.map(({ toolCalls }) => toolCalls[0]?.name)).toEqual(['search_web', 'search_wikipedia', 'calculator', undefined]);
    expect(responses.map(({ finishReason }) => finishReason)).toEqual(['tool_calls', 'tool_calls', 'tool_calls', 'stop']);
    for (const { content, usage } of responses) {
      expect(content).not.toBe('');
      expect(usage?.totalTokens).toBe((usage?.promptTokens ?? 0) + (usage?.completionTokens ?? 0));
      expect(usage?.completionTokens).toBeGreaterThan(0);
    }
    expect(responses.at(-1)?.content).toContain('Approximately 17,000 hours');
    const prompts = responses.map(({ usage }) => usage?.promptTokens ?? 0);
    expect(prompts).toEqual(prompts.toSorted((one, other) => one - other));
  },
);

test('the answer to another question says that this model is scripted', async () => {
  const [only, ...more] = await converse('chat', 'What is the capital of France?');
  expect(more).toEqual([]);
  expect(only?.content).toContain('scripted model');
});

test('it streams an answer in more than one piece', async () => {
  running = await startScriptedModel();
  const client = new OpenAI({ apiKey: 'none', baseURL: running.baseURL });
  const stream = await client.chat.completions.create({ model: 'x', stream: true, messages: [{ role: 'user', content: QUESTION }] });
  const pieces: string[] = [];
  for await (const chunk of stream) pieces.push(chunk.choices[0]?.delta.content ?? '');
  expect(pieces.filter((piece) => piece !== '').length).toBeGreaterThan(1);
});

test('stopping cuts off the answer in progress, and may be repeated', async () => {
  const model = await startScriptedModel({ pauseMs: 600_000 });
  const asked = openai({ apiKey: 'none', baseURL: model.baseURL }).call(
    { model: 'x', instructions: [], conversation: [], tools: [], settings: {} },
    { signal: new AbortController().signal },
  );
  const failure = asked.catch((error: unknown) => error);
  await new Promise((resolve) => setTimeout(resolve, 100));
  await model.stop();
  await model.stop();
  expect(errorCode(await failure)).toBe('model_unreachable');
});
