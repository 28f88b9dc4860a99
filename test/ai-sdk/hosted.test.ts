import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { ModelDelta } from '../../src/core/domain/stream.ts';
import { defineAgent, defineTool, hosted } from '../../src/index.ts';
import { say, scriptedModel, testAgent } from '../../src/testing/index.ts';
import { aiSdk, type AiSdkModel } from '../../worker/index.ts';
import { ANTHROPIC, PAGE } from './families.ts';
import { context, fakeModel, request, textParts } from './fake-model.ts';
import { FakeServer } from './fake-server.ts';
import { PACKAGES } from './packages.ts';

const server = new FakeServer();
let url = '';
beforeAll(async () => {
  url = await server.start();
});
afterAll(() => server.close());

const SEARCH = hosted('anthropic.web_search_20250305', { maxUses: 3 });
const lookUp = defineTool({ name: 'look_up', description: 'Finds', parameters: z.object({}), execute: () => 'found' });

/** The chunks of an answer of Anthropic's Messages with these blocks, each with its deltas. */
function anthropicAnswer(
  stop_reason: string,
  ...blocks: [block: object, ...deltas: object[]][]
): { family: typeof ANTHROPIC; chunks: Buffer[] } {
  const usage = { input_tokens: 100, output_tokens: 1, server_tool_use: { web_search_requests: 1 } };
  const message = {
    id: 'm',
    type: 'message',
    role: 'assistant',
    model: 'claude',
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage,
  };
  const events: { type: string; [name: string]: unknown }[] = [
    { type: 'message_start', message },
    ...blocks.flatMap(([content_block, ...deltas], index) => [
      { type: 'content_block_start', index, content_block },
      ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
      { type: 'content_block_stop', index },
    ]),
    { type: 'message_delta', delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: 50 } },
    { type: 'message_stop' },
  ];
  return { family: ANTHROPIC, chunks: events.map((one) => Buffer.from(`event: ${one.type}\ndata: ${JSON.stringify(one)}\n\n`)) };
}

const FOUND = { type: 'web_search_result', ...PAGE, encrypted_content: 'ENC', page_age: null };
const used = { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: {} };
const found = { type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1', content: [FOUND] };
const failed = { ...found, content: { type: 'web_search_tool_result_error', error_code: 'max_uses_exceeded' } };
const input = { type: 'input_json_delta', partial_json: '{"query":"moon"}' };
const calls = (result: object) =>
  anthropicAnswer('tool_use', [used, input], [result], [{ type: 'tool_use', id: 'toolu_1', name: 'look_up', input: {} }]);
const DONE = anthropicAnswer('end_turn', [
  { type: 'text', text: '' },
  { type: 'text_delta', text: 'Far.' },
]);

describe.each(PACKAGES.filter(({ name }) => name === 'anthropic'))('a search by $name of $spec', ({ model, modelId }) => {
  const agent = defineAgent({ name: 'scout', model: `anthropic/${modelId}`, tools: [lookUp, SEARCH], limits: { toolCalls: 1 } });

  test('is offered to the provider, recorded with its step and its sources, and sent back, and is not a call of the run', async () => {
    server.script(calls(found), DONE);
    const { result, steps, events } = await testAgent(agent, { input: 'Q', model: aiSdk((id) => model(url, id)) });
    expect(result).toMatchObject({ status: 'completed', toolCallsTotal: 1, output: 'Far.' });
    expect(steps.map((step) => step.hosted)).toEqual([[{ name: 'web_search', input: '{"query":"moon"}' }], undefined]);
    expect(steps[0]?.toolCalls.map(({ toolName }) => toolName)).toEqual(['look_up']);
    expect(events.flatMap(({ sources = [] }) => sources)).toEqual([{ url: 'https://moon.test/', title: 'Moon' }]);
    const [first, second] = server.requests.map(({ body }) => body);
    expect(first?.['tools']).toEqual([
      expect.objectContaining({ name: 'look_up' }),
      expect.objectContaining({ type: 'web_search_20250305', name: 'web_search', max_uses: 3 }),
    ]);
    const sent = (second?.['messages'] as { content: object[] }[] | undefined)?.[1]?.content;
    expect(sent).toMatchObject([
      { type: 'server_tool_use', id: 'srvtoolu_1', input: { query: 'moon' } },
      { type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1', content: [{ encrypted_content: 'ENC' }] },
      { type: 'tool_use', name: 'look_up' },
    ]);
  });

  test('between whose calls the provider pauses is continued in the next step, from the unchanged answer', async () => {
    const paused = anthropicAnswer('pause_turn', [used, input], [found]);
    server.script(
      paused,
      anthropicAnswer('pause_turn', [{ ...used, id: 'srvtoolu_2' }, input], [{ ...found, tool_use_id: 'srvtoolu_2' }]),
      DONE,
    );
    const { result, steps } = await testAgent(agent, { input: 'Q', model: aiSdk((id) => model(url, id)) });
    expect(result).toMatchObject({ status: 'completed', output: 'Far.', toolCallsTotal: 0 });
    expect(steps.map(({ finishReason }) => finishReason)).toEqual(['pause_turn', 'pause_turn', 'stop']);
    const sent = server.last['messages'] as { role: string; content: { type: string }[] }[];
    expect(sent.map(({ role }) => role).at(-1)).toBe('assistant');
    expect(sent.flatMap(({ content }) => content.map(({ type }) => type))).toEqual([
      'text',
      'server_tool_use',
      'web_search_tool_result',
      'server_tool_use',
      'web_search_tool_result',
    ]);
  });

  test('that a provider never ends is ended by the limit of steps', async () => {
    server.script(...Array.from({ length: 4 }, () => anthropicAnswer('pause_turn', [used, input], [found])));
    const bounded = defineAgent({ name: 'scout', model: `anthropic/${modelId}`, tools: [SEARCH], limits: { steps: 3 } });
    const { result } = await testAgent(bounded, { input: 'Q', model: aiSdk((id) => model(url, id)) });
    expect(result).toMatchObject({ status: 'max_iterations_reached', stopReason: 'step_limit' });
  });

  test('that has failed says so, and its pieces are marked', async () => {
    server.script(calls(failed), DONE);
    const deltas: ModelDelta[] = [];
    const client = aiSdk((id) => model(url, id));
    const asked = request({ model: modelId, hosted: [SEARCH] });
    const { hosted: made } = await client.call(asked, context({ onDelta: (delta) => deltas.push(delta) }));
    expect(made).toEqual([{ name: 'web_search', input: '{"query":"moon"}', isError: true }]);
    const searches = deltas.filter((delta) => delta.type === 'tool_input' && delta.toolName === 'web_search');
    expect(searches.every((delta) => 'hosted' in delta)).toBe(true);
    expect(searches.map(({ text }) => text).join('')).toBe('{"query":"moon"}');
    expect(deltas.some((delta) => delta.type === 'tool_input' && delta.toolName === 'look_up' && !('hosted' in delta))).toBe(true);
  });
});

/** The searches of providers, and what each records of one. Gemini has no separate call: it grounds its text. */
const SEARCHES = {
  anthropic: { tool: SEARCH, step: [{ name: 'web_search', input: '{"query":"moon"}' }], sources: [PAGE] },
  google: { tool: hosted('google.google_search'), step: undefined, sources: [PAGE] },
  openai: {
    tool: hosted('openai.web_search'),
    step: [{ name: 'web_search', input: '{"type":"search","query":"moon"}' }],
    sources: [{ url: PAGE.url }],
  },
};

describe.each(PACKAGES.filter(({ name }) => name in SEARCHES))('a search by $name ($spec)', (one) => {
  const { tool, step, sources } = SEARCHES[one.name as keyof typeof SEARCHES];

  test('is recorded with its pages, and the parts that the provider wants back are sent back', async () => {
    const call = { call: 'look_up', id: one.family.id(1), input: '{}' };
    server.script({ parts: [{ search: 'moon' }, { text: 'Far.' }, call] }, { parts: [{ text: 'Done.' }] });
    const agent = defineAgent({ name: 'scout', model: `p/${one.modelId}`, tools: [lookUp, tool] });
    const { result, steps, events } = await testAgent(agent, { input: 'Q', model: aiSdk((id) => one.model(url, id)) });
    expect(server.refused).toEqual([]);
    expect(result).toMatchObject({ status: 'completed', output: 'Done.', toolCallsTotal: 1 });
    expect(steps[0]?.hosted).toEqual(step);
    expect(events.find(({ usage }) => usage !== undefined)?.sources).toEqual(sources);
    expect(JSON.stringify(server.last)).toContain('Far.');
  });
});

describe('a provider that does not know a hosted tool', () => {
  const ask = (model: AiSdkModel) => aiSdk(() => model).call(request({ hosted: [SEARCH] }), context());

  test('is not asked', async () => {
    const model = fakeModel([textParts('A')]);
    const message = expect.stringMatching(/"fake\.chat".*"anthropic\.web_search_20250305"/);
    await expect(ask(model)).rejects.toMatchObject({ code: 'model_bad_request', message });
    expect(model.calls).toEqual([]);
  });

  test.each(['anthropic.messages', 'vertex.anthropic.messages', 'gateway', 'amazon-bedrock'])('is not "%s"', async (provider) => {
    const model = fakeModel([textParts('A')], { provider, modelId: 'eu.anthropic.claude-sonnet' });
    expect(await ask(model)).toMatchObject({ content: 'A' });
    expect(model.calls[0]?.tools).toEqual([
      { type: 'provider', id: 'anthropic.web_search_20250305', name: 'web_search', args: { maxUses: 3 } },
    ]);
  });

  test.each([
    [
      { type: 'unsupported', feature: 'provider-defined tool anthropic.web_search_20250305' },
      /does not take .*"anthropic\.web_search_20250305"$/,
    ],
    [
      { type: 'unsupported', feature: 'web_search_20250305 tool', details: 'Not on Bedrock.' },
      /"anthropic\.web_search_20250305": Not on Bedrock\./,
    ],
  ])('may say so in its answer, which is not accepted: %j', async (warning, says) => {
    const model = fakeModel([[{ type: 'stream-start', warnings: [warning] }, ...textParts('A')]], { provider: 'anthropic.messages' });
    await expect(ask(model)).rejects.toMatchObject({ code: 'model_bad_request', message: expect.stringMatching(says) });
  });

  test('ends the run with both names, whichever client it has', async () => {
    const { capabilities, call } = scriptedModel([say('A')]);
    const agent = defineAgent({ name: 'scout', model: 'mine/m', tools: [SEARCH] });
    const { result } = await testAgent(agent, { input: 'Q', model: { capabilities, call } });
    expect(result).toMatchObject({ status: 'error', errorCode: 'model_bad_request' });
    expect(result.error).toMatch(/"mine\/m" does not know the hosted tool "anthropic\.web_search_20250305"/);
  });

  test('is skipped in a list of models', async () => {
    const [bare, knowing] = [fakeModel([textParts('A')]), fakeModel([textParts('B')], { provider: 'anthropic.messages' })];
    const agent = defineAgent({ name: 'scout', model: ['other/a', 'anthropic/b'], tools: [SEARCH] });
    const model = { 'other/a': aiSdk(() => bare), 'anthropic/b': aiSdk(() => knowing) } as const;
    const { result, steps } = await testAgent(agent, { input: 'Q', model });
    expect(result.output).toBe('B');
    expect(steps).toMatchObject([{ answeredBy: 'anthropic/b', skipped: [{ model: 'other/a', reason: 'no_hosted_tool' }] }]);
    expect(bare.calls).toEqual([]);
  });
});
