import { expect, it } from 'vitest';
import { RunFeed } from '../../../src/client/stream/run-feed.ts';
import { streamRun } from '../../../src/client/stream/stream-run.ts';
import { FakeRun } from './fake-run.ts';
import { feedsOf, type StreamItem } from './read-stream.ts';

const settled = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 20));

it('shows no output of a call whose result the reader has read in another process, which knew of it earlier', async () => {
  const run = new FakeRun();
  run.record('e1', [{ type: 'tool_call', toolCallId: 'look-1', name: 'look', arguments: {} }], { usage: null });

  // The announcement of the result does not reach the process that the reader comes to.
  let pauseMs = 60_000;
  const sources = run.sources();
  const feed = new RunFeed({ ...sources, news: { ...sources.news, pauseMs: () => pauseMs } });
  await feed.start();
  const result = { type: 'tool_result', toolCallId: 'look-1', name: 'look', status: 'success', content: ['looked'] } as const;
  run.record('e2', [{ ...result, content: ['looked'] }]);
  let cursor = '';
  for await (const item of feedsOf(run).stream()) {
    cursor = item.cursor;
    if (item.type === 'event' && item.offset === 1) break;
  }

  const items: StreamItem[] = [];
  const reading = (async () => {
    for await (const item of streamRun({ follow: () => ({ feed, release: () => undefined }) }, 'run-1', { cursor })) items.push(item);
  })();
  await settled();
  const of = { executionId: run.executionId, eventId: 'e1', callId: 'look-1', through: 1, activity: 2, attempt: 1 };
  run.publish({ type: 'delta', of, index: 0, delta: { type: 'data', callId: 'look-1', name: 'part', data: 1 } });
  await settled();
  pauseMs = 1;
  run.end();
  run.announce();
  await reading;
  expect(items.filter(({ type }) => type === 'delta')).toEqual([]);
  expect(items.at(-1)?.type).toBe('end');
});
