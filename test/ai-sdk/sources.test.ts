import { expect, test } from 'vitest';
import type { StreamPart } from '../../activities/models/ai-sdk/language-model.ts';
import type { Source } from '../../src/core/domain/content.ts';
import { type AnyHook, defineAgent, defineHook } from '../../src/index.ts';
import { testAgent } from '../../src/testing/index.ts';
import { aiSdk } from '../../worker/index.ts';
import { context, fakeModel, FINISH, request, type Yielded } from './fake-model.ts';

const page = (name: string, more: object = {}): StreamPart => ({
  type: 'source',
  id: name,
  url: `https://${name}.test/`,
  title: name,
  ...more,
});
const said = (id: string, delta: string, citations?: unknown): StreamPart[] => [
  { type: 'text-start', id },
  { type: 'text-delta', id, delta },
  { type: 'text-end', id, ...(citations === undefined ? {} : { citations }) },
];

async function recorded(parts: Yielded, hooks: readonly AnyHook[] = []): Promise<(Source[] | undefined)[]> {
  const agent = defineAgent({ name: 'clerk', model: 'fake/fake-1', hooks });
  const { events } = await testAgent(agent, { input: 'Q', model: aiSdk(() => fakeModel([parts])) });
  return events.flatMap(({ sources, usage }) => (usage === undefined ? [] : [sources]));
}

test('the sources that the provider has used are recorded with the answer and their places', async () => {
  const cited = { source: page('moon'), startIndex: 0, endIndex: 3, citedText: 'far' };
  const document = { type: 'source', sourceType: 'document', id: 'd', mediaType: 'application/pdf', title: 'Notes', filename: 'n.pdf' };
  const parts = [page('moon'), page('sun'), document, ...said('0', 'Hello. '), ...said('1', 'Far away.', [cited]), FINISH];
  expect(await recorded(parts)).toEqual([
    [
      { url: 'https://sun.test/', title: 'sun' },
      { title: 'Notes', mediaType: 'application/pdf', filename: 'n.pdf' },
      { url: 'https://moon.test/', title: 'moon', start: 7, end: 10 },
    ],
  ]);
});

test('an answer without sources records none', async () => {
  expect(await recorded([...said('0', 'A'), FINISH])).toEqual([undefined]);
  expect(await aiSdk(() => fakeModel([[...said('0', 'A'), FINISH]])).call(request(), context())).not.toHaveProperty('sources');
});

test('a text that a hook has replaced keeps its sources, without their places', async () => {
  const cited = { source: page('moon'), startIndex: 0, endIndex: 3 };
  const hook = defineHook({ name: 'h', on: 'post_response', run: () => ({ modify: { text: 'Other.' } }) });
  expect(await recorded([...said('0', 'Far.', [cited]), FINISH], [hook])).toEqual([[{ url: 'https://moon.test/', title: 'moon' }]]);
});
