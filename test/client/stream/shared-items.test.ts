import { expect, test, vi } from 'vitest';
import { FakeRun } from './fake-run.ts';
import { feedsOf, type StreamItem } from './read-stream.ts';

/** Begins to read, and returns the items so far. */
function reading(stream: AsyncGenerator<StreamItem>): StreamItem[] {
  const items: StreamItem[] = [];
  void (async () => {
    for await (const item of stream) items.push(item);
  })().catch(() => undefined);
  return items;
}

test('readers at the same place of a run get the same items, and a reader that begins elsewhere gets its own', async () => {
  const run = new FakeRun();
  run.record('question', [{ type: 'message', role: 'user', content: 'Hi' }], { author: 'user' });
  const feeds = feedsOf(run);
  const leaving = new AbortController();
  const [one, other] = [reading(feeds.stream(undefined, leaving.signal)), reading(feeds.stream(undefined, leaving.signal))];
  await vi.waitFor(() => expect([one.length, other.length]).toEqual([2, 2]));
  run.record('answer', [{ type: 'message', role: 'assistant', content: 'Hello' }], { usage: null });
  run.announce();
  await vi.waitFor(() => expect([one.length > 2, other.length]).toEqual([true, one.length]));
  expect(other.slice(2).every((item, index) => item === one[index + 2])).toBe(true);
  // A reader that continues after the first event gets the rest, with its own cursors.
  const late = reading(feeds.stream(one[0]?.cursor, leaving.signal));
  const content = ({ cursor: _, ...item }: StreamItem): object => item;
  await vi.waitFor(() =>
    expect(late.filter(({ type }) => type === 'event').map(content)).toEqual(
      one
        .filter((item) => item.type === 'event')
        .slice(one[0]?.type === 'event' ? 1 : 0)
        .map(content),
    ),
  );
  expect(new Set([...one, ...late].map(({ cursor }) => cursor)).size).toBe(one.length + late.length);
  leaving.abort(new Error('enough'));
});
