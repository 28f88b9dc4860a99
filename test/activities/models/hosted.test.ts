import { expect, test } from 'vitest';
import type { HostedTool } from '../../../src/core/domain/content.ts';
import type { ModelDelta } from '../../../src/core/domain/stream.ts';
import { hosted } from '../../../src/index.ts';
import { outputMessage, responsesStream } from '../../fakes/openai-answers.ts';
import { fakeProvider, SEARCH } from './fake-provider.ts';

const { server, ask, askForError } = fakeProvider();
const over = { options: { api: 'responses' as const } };
const reasoning = (id: string): Record<string, unknown> => ({ type: 'reasoning', id, summary: [], encrypted_content: `E${id}` });
const search = { type: 'web_search_call', id: 'ws_1', status: 'completed', action: { type: 'search', query: 'moon' } };
const code = { type: 'code_interpreter_call', id: 'ci_1', status: 'failed', code: '1 + 1', container_id: 'c', outputs: null };
const image = { type: 'image_generation_call', id: 'ig_1', status: 'completed', result: 'AAAA', revised_prompt: 'A moon' };

test('the hosted tools of Responses come after the functions, with their options', async () => {
  const tools: HostedTool[] = [
    hosted('openai.web_search', { search_context_size: 'low' }),
    hosted('openai.file_search', { vector_store_ids: ['v'] }),
    hosted('openai.code_interpreter'),
    hosted('openai.image_generation'),
  ];
  await ask(responsesStream([outputMessage('hi')]), { ...over, request: { tools: [SEARCH], hosted: tools } });
  await ask(responsesStream([outputMessage('hi')]), {
    options: { ...over.options, capabilities: { strictSchema: false } },
    request: { hosted: tools.slice(2) },
  });
  expect(server().requests.map(({ body }) => body['tools'])).toEqual([
    [
      { type: 'function', ...SEARCH },
      { type: 'web_search', search_context_size: 'low' },
      { type: 'file_search', vector_store_ids: ['v'] },
      { type: 'code_interpreter', container: { type: 'auto' } },
      { type: 'image_generation' },
    ],
    [{ type: 'code_interpreter', container: { type: 'auto' } }, { type: 'image_generation' }],
  ]);
});

test.each<[id: string, api: 'chat' | 'responses']>([
  ['openai.web_search', 'chat'],
  ['openai.moon_search', 'responses'],
  ['anthropic.web_search_20250305', 'responses'],
])('the tool "%s" is unknown to %s, and nothing is sent', async (id, api) => {
  const failure = await askForError(responsesStream([outputMessage('hi')]), { options: { api }, request: { hosted: [hosted(id)] } });
  expect(failure).toMatchObject({ code: 'model_bad_request', message: expect.stringContaining(`"${id}" of model "gpt-x"`) });
  expect(server().requests).toEqual([]);
});

test('calls of the provider are reported and recorded as such, and go back to it in their places, but images', async () => {
  const deltas: ModelDelta[] = [];
  const output = [reasoning('r1'), search, reasoning('r2'), image, code, outputMessage('Far.')];
  const answer = await ask(responsesStream(output), { ...over, context: { onDelta: (delta) => deltas.push(delta) } });
  expect(answer).toMatchObject({
    content: 'Far.',
    toolCalls: [],
    hosted: [
      { name: 'web_search', input: '{"type":"search","query":"moon"}' },
      { name: 'image_generation', input: '{"prompt":"A moon"}' },
      { name: 'code_interpreter', input: '{"code":"1 + 1"}', isError: true },
    ],
    files: [{ mediaType: 'image/png', data: 'AAAA' }],
    providerItems: [{ t: 'item', item: reasoning('r1') }, { t: 'item', item: search }, { t: 'item', item: code }, { t: 'text' }],
  });
  const marked = deltas.filter((delta) => delta.type === 'tool_input');
  expect(marked).toMatchObject([
    { callId: 'ws_1', toolName: 'web_search', hosted: true },
    { callId: 'ig_1', toolName: 'image_generation', hosted: true },
    { callId: 'ci_1', toolName: 'code_interpreter', hosted: true },
  ]);
});
