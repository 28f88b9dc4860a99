import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { z } from 'zod';
import type { StreamPart } from '../../../activities/models/ai-sdk/language-model.ts';
import { connect, fold, newView, type StreamItem } from '../../../src/client/index.ts';
import type { ContentItem, SpilledContent } from '../../../src/core/domain/content.ts';
import { defineAgent, defineTool } from '../../../src/index.ts';
import { createHandler } from '../../../src/server/index.ts';
import { aiSdk, fileStore, memoryStreams } from '../../../worker/index.ts';
import { fakeModel, FINISH, textParts } from '../../ai-sdk/fake-model.ts';
import { Testbed } from '../testbed/testbed.ts';

const directory = await mkdtemp(join(tmpdir(), 'longhaul-files-shown-'));
afterAll(() => rm(directory, { recursive: true, force: true }));

const look = defineTool({ name: 'look', description: 'L', parameters: z.object({}), execute: () => 'seen' });
const DATA = Buffer.alloc(100_000, 'the Moon ').toString('base64');
const drawn: StreamPart[] = [
  ...textParts('Look.').slice(0, 3),
  { type: 'source', id: 's', url: 'https://moon.test/', title: 'Moon' },
  { type: 'file', mediaType: 'image/png', data: { type: 'data', data: DATA } },
  { type: 'tool-call', toolCallId: 'c1', toolName: 'look', input: '{}' },
  FINISH,
];

/** The files in messages of the model. */
function filesOf(contents: readonly ContentItem[][]): { type: string; mediaType?: string; spilled?: SpilledContent }[] {
  const messages = contents.flat().flatMap((item) => (item.type === 'message' && item.role === 'assistant' ? [item.content] : []));
  return messages.flatMap((content) => (typeof content === 'string' ? [] : content.filter(({ type }) => type !== 'text')));
}

test('a file of a model is a part of its message wherever a run is shown: in events, over HTTP, in a stream and its view, and in an export', async () => {
  await using testbed = await Testbed.open();
  const [payloadStore, streams] = [fileStore({ directory }), memoryStreams()];
  const agent = defineAgent({ name: 'painter', model: 'fake/fake-1', tools: [look] });
  const model = fakeModel([drawn, textParts('Done.')]);
  await testbed.work({ agents: [agent], providers: { fake: aiSdk(() => model) }, payloadStore, streams });
  const { namespace } = testbed.client.temporal.options;
  const client = await connect({ address: testbed.address, namespace, payloadStore, streams });
  try {
    const run = await client.start(agent, { input: 'Q', taskQueue: testbed.taskQueue });
    let view = newView();
    const items: StreamItem[] = [];
    for await (const item of run.stream()) {
      items.push(item);
      view = fold(view, item);
    }
    expect(await run.result()).toMatchObject({ status: 'completed', output: 'Done.' });

    const events = await Array.fromAsync(run.events());
    const expected = filesOf(events.map(({ content }) => content));
    expect(expected).toEqual([
      { type: 'image', mediaType: 'image/png', spilled: expect.objectContaining({ store: 'files', sha256: expect.any(String) }) },
    ]);
    const places = {
      stream: filesOf(items.flatMap((item) => (item.type === 'event' ? [item.event.content] : []))),
      view: filesOf(view.events.map(({ content }) => content)),
      export: filesOf((await Array.fromAsync(run.export())).flatMap((line) => (line.type === 'event' ? [line.content] : []))),
      http: filesOf(await contentsOverHttp(client, run.runId)),
    };
    expect(places).toEqual({ stream: expected, view: expected, export: expected, http: expected });
    expect(JSON.stringify([events, items])).not.toContain(DATA.slice(0, 100));
    expect(events.flatMap(({ sources = [] }) => sources)).toEqual([{ url: 'https://moon.test/', title: 'Moon' }]);

    const [{ spilled } = {}] = expected;
    expect(spilled && (await client.readSpilled(spilled))).toEqual([{ type: 'image', mediaType: 'image/png', data: DATA }]);
    const file = await createHandler(client)(new Request(`http://localhost/v1/runs/${run.runId}/files/${spilled?.sha256}`));
    expect([file.headers.get('content-type'), Buffer.from(await file.arrayBuffer()).toString('base64')]).toEqual(['image/png', DATA]);
  } finally {
    await client.close();
  }
});

/** Returns the content of each event that the service shows: of its list, which its stream has to agree with. */
async function contentsOverHttp(client: Awaited<ReturnType<typeof connect>>, runId: string): Promise<ContentItem[][]> {
  const handler = createHandler(client);
  const get = async (path: string): Promise<string> => (await handler(new Request(`http://localhost/v1/runs/${runId}/${path}`))).text();
  const { events } = JSON.parse(await get('events')) as { events: { content: ContentItem[] }[] };
  const listed = events.map(({ content }) => content);
  const lines = (await get('stream')).split('\n').filter((line) => line.startsWith('data: {'));
  const items = lines.map((line) => JSON.parse(line.slice('data: '.length)) as { event?: { content: ContentItem[] } });
  expect(filesOf(items.flatMap(({ event }) => (event === undefined ? [] : [event.content])))).toEqual(filesOf(listed));
  return listed;
}
