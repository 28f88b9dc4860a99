import { expect, test } from 'vitest';
import { connect, fold, memoryStreams, newView, type RunHandle, type StreamItem, type StreamView } from '../../../../src/client/index.ts';
import { callTool, say, scriptedModel, together } from '../../../../src/testing/index.ts';
import { assistant } from '../../testbed/agents.ts';
import { Testbed } from '../../testbed/testbed.ts';

async function streamed(run: RunHandle<unknown>): Promise<StreamItem[]> {
  const items: StreamItem[] = [];
  for await (const item of run.stream()) items.push(item);
  return items;
}

function viewOf(items: readonly StreamItem[]): StreamView {
  return items.reduce(fold, newView());
}

test('pieces of an answer come before its event, and its event takes their place', async () => {
  const streams = memoryStreams();
  await using testbed = await Testbed.open();
  const client = await connect({ address: testbed.address, streams });
  await testbed.work({
    agents: [assistant],
    streams,
    providers: { scripted: scriptedModel([together(say('looking'), callTool('search', { query: 'one' }, 'c1')), say('It is on its way.')]) },
  });
  const run = await client.start(assistant, { input: 'Q', taskQueue: testbed.taskQueue });
  const items = await streamed(run);
  const texts = items.flatMap((item) => (item.type === 'delta' && item.delta.type === 'text' ? [item.delta.text] : []));
  expect(texts.join('')).toBe('lookingIt is on its way.');
  const deltas = items.filter(({ type }) => type === 'delta');
  for (const delta of deltas) {
    const replacing = items.findIndex((item) => item.type === 'event' && delta.type === 'delta' && item.event.id === delta.eventId);
    expect(replacing).toBeGreaterThan(items.indexOf(delta));
  }
  expect(items.filter(({ type }) => type === 'gap' || type === 'reset')).toEqual([]);
  expect(viewOf(items)).toMatchObject({ live: [], status: 'completed' });
  await client.close();
});
