import { expect, test } from 'vitest';
import { connect, fold, heartbeatStreams, newView, type StreamItem } from '../../../../src/client/index.ts';
import { say, scriptedModel } from '../../../../src/testing/index.ts';
import { assistant } from '../../testbed/agents.ts';
import { Testbed } from '../../testbed/testbed.ts';

/** An answer of three seconds: several heartbeats. */
const SLOW = say('one two three four five six', { chunks: 15, every: 200 });

async function streamed(live: boolean): Promise<StreamItem[]> {
  await using testbed = await Testbed.open();
  const client = await connect({ address: testbed.address, streams: heartbeatStreams({ everyMs: 200 }) });
  await testbed.work({ agents: [assistant], providers: { scripted: scriptedModel([SLOW]) }, streams: heartbeatStreams({ everyMs: 200 }) });
  const run = await client.start(assistant, { input: 'Q', taskQueue: testbed.taskQueue, ...(live ? { live: true } : {}) });
  const items: StreamItem[] = [];
  for await (const item of run.stream()) items.push(item);
  await client.close();
  return items;
}

test('a live run shows its answer through heartbeats, with nothing else to run, and its event takes the place of the pieces', async () => {
  const items = await streamed(true);
  const deltas = items.filter(({ type }) => type === 'delta');
  expect(deltas.length).toBeGreaterThan(3);
  const lastDelta = items.findLastIndex(({ type }) => type === 'delta');
  expect(items.findIndex((item) => item.type === 'event' && item.event.usage !== undefined)).toBeGreaterThan(lastDelta);
  expect(items.reduce(fold, newView())).toMatchObject({ live: [], result: { output: 'one two three four five six' } });
});

test('a run that was not started live sends no heartbeats for its readers, and shows its record', async () => {
  const items = await streamed(false);
  expect(items.filter(({ type }) => type === 'delta')).toEqual([]);
  expect(items.at(-1)).toMatchObject({ type: 'end', result: { output: 'one two three four five six' } });
});
