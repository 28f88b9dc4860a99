import { expect, it } from 'vitest';
import { RunFeed } from '../../../src/client/stream/run-feed.ts';
import { streamRun } from '../../../src/client/stream/stream-run.ts';
import type { StreamedAttempt } from '../../../src/core/domain/stream.ts';
import { FakeRun } from './fake-run.ts';

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
