import { expect, it } from 'vitest';
import { RunFeed } from '../../../src/client/stream/run-feed.ts';
import { streamRun } from '../../../src/client/stream/stream-run.ts';
import { FakeRun } from './fake-run.ts';
import { feedsOf, type StreamItem } from './read-stream.ts';
import type { StreamedAttempt } from '../../../src/core/domain/stream.ts';

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

it('an answer that a page holds is not followed by its pieces', async () => {
  const run = new FakeRun();
  run.record('question', [{ type: 'message', role: 'user', content: 'Hi' }], { author: 'user' });
  const sources = run.sources();
  const of: StreamedAttempt = { executionId: run.executionId, eventId: 'answer', through: 1, activity: 1, attempt: 1 };
  // The answer is recorded after the feed has asked for the end of the record, and before the reader gets the first page.
  const shared: typeof sources.pages.shared = async (place) => {
    if (run.events.length === 1) {
      run.publish({ type: 'attempt', of });
      run.publish({ type: 'delta', of, index: 0, delta: { type: 'text', text: 'Hello' } });
      run.record('answer', [{ type: 'message', role: 'assistant', content: 'Hello' }], { usage: null });
    }
    return sources.pages.read(place);
  };
  const news = { ...sources.news, pauseMs: () => (run.result === undefined ? 1_000 : 1) };
  const feed = new RunFeed({ ...sources, news, pages: { ...sources.pages, shared } });
  const seen: string[] = [];
  for await (const item of streamRun({ follow: () => ({ feed, release: () => undefined }) }, 'run-1', {})) {
    seen.push(item.type === 'event' ? item.event.id : item.type);
    if (item.type === 'status') {
      await pause();
      await pause();
      run.end();
      run.announce();
    }
  }
  expect(seen).not.toContain('delta');
  expect(seen).toEqual(expect.arrayContaining(['question', 'answer', 'end']));
});

function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 5));
}
