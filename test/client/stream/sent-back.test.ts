import { expect, test } from 'vitest';
import { fold, newView, type StreamView } from '../../../src/client/stream/stream-view.ts';
import { RunFeed } from '../../../src/client/stream/run-feed.ts';
import { streamRun } from '../../../src/client/stream/stream-run.ts';
import type { StreamedAttempt } from '../../../src/core/domain/stream.ts';
import { FakeRun } from './fake-run.ts';
import { feedsOf, type Readers, type StreamItem } from './read-stream.ts';

function answer(run: FakeRun, id: string): void {
  run.record(id, [{ type: 'message', role: 'assistant', content: id }], { usage: null });
  run.announce();
}

/** Sends a run back, as `retry` does: another execution takes the place of the newest one. */
function sendBack(run: FakeRun, offset: number, step: number): void {
  run.events.length = offset;
  run.steps.length = step;
  run.executions.splice(-1, 1, `retried-${run.executions.length}-${offset}`);
  run.result = undefined;
  run.status = 'running';
}

async function read(readers: Readers, cursor?: string, most = Infinity): Promise<StreamItem[]> {
  const items: StreamItem[] = [];
  for await (const item of readers.stream(cursor)) {
    items.push(item);
    if (items.length === most) break;
  }
  return items;
}

const viewOf = (items: readonly StreamItem[], before: StreamView = newView()): StreamView => items.reduce(fold, before);
const soon = (ms = 20): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

test('a reader that is connected while a run is reset discards what it has, and reads the new state of the run', async () => {
  const run = new FakeRun();
  for (const id of ['R1', 'R2', 'R3']) answer(run, id);
  const reading = read(feedsOf(run));
  await soon();
  sendBack(run, 1, 1);
  for (const id of ['N2', 'N3', 'N4', 'N5']) answer(run, id);
  await soon();
  run.end();
  run.announce();
  const items = await reading;
  expect(items.filter(({ type }) => type === 'reset')).toMatchObject([{ offset: 0 }]);
  expect(viewOf(items).events.map(({ id }) => id)).toEqual(['R1', 'N2', 'N3', 'N4', 'N5']);
  expect(viewOf(items).steps).toEqual(run.steps);
});

test('a cursor after a failed call belongs to the run before its retry', async () => {
  const run = new FakeRun();
  answer(run, 'R1');
  run.record('F', [], { usage: null, failed: { code: 'model_server_error' } });
  run.end();
  const before = await read(feedsOf(run));
  sendBack(run, 1, 1);
  answer(run, 'R2');
  run.end();
  for (const [index, { cursor }] of before.entries()) {
    const view = viewOf(await read(feedsOf(run), cursor), viewOf(before.slice(0, index + 1)));
    expect([index, view.events.map(({ id }) => id), view.result?.output]).toEqual([index, ['R1', 'R2'], 'done']);
  }
});

test('output that comes all the time does not keep a reader from the record', async () => {
  const run = new FakeRun();
  const of: StreamedAttempt = { executionId: run.executionId, eventId: 'A', callId: 'main.A', activity: 1, attempt: 1 };
  const items: StreamItem[] = [];
  const feed = new RunFeed({ ...run.sources(), announced: () => false, news: { ...run.sources().news, pauseMs: () => 30 } });
  const leaving = new AbortController();
  const reading = (async () => {
    const feeds = { follow: () => ({ feed, release: () => undefined }) };
    for await (const item of streamRun(feeds, 'run-1', { signal: leaving.signal })) items.push(item);
  })();
  await soon();
  run.record('B', [{ type: 'message', role: 'assistant', content: 'B' }], { usage: null });
  for (let index = 0; index < 20; index += 1) {
    run.publish({ type: 'delta', of, index, delta: { type: 'text', text: '.' } });
    await soon(10);
  }
  leaving.abort(new Error('enough'));
  await expect(reading).rejects.toThrow('enough');
  expect(items.filter(({ type }) => type === 'event')).toHaveLength(1);
});

test('a client that is closed ends its readers with an error', async () => {
  const run = new FakeRun();
  const feed = new RunFeed(run.sources());
  const feeds = { follow: () => ({ feed, release: () => undefined }) };
  const reading = (async () => {
    for await (const _ of streamRun(feeds, 'run-1', {}));
  })();
  await soon();
  feed.stop(new Error('The client is closed'));
  await expect(reading).rejects.toThrow('The client is closed');
});

test('the answer of an attempt whose output was not carried discards the output of the previous attempt', async () => {
  const run = new FakeRun();
  const reading = read(feedsOf(run));
  const of: StreamedAttempt = { executionId: run.executionId, eventId: 'A1', through: 0, activity: 1, attempt: 1 };
  run.publish({ type: 'attempt', of });
  run.publish({ type: 'delta', of, index: 0, delta: { type: 'text', text: 'half a sen' } });
  await soon();
  answer(run, 'A2');
  await soon();
  run.status = 'idle';
  run.announce();
  await soon();
  run.end();
  run.announce();
  const items = await reading;
  const beforeEnd = viewOf(
    items.slice(
      0,
      items.findIndex((item) => item.type === 'status' && item.status === 'idle'),
    ),
  );
  expect(beforeEnd).toMatchObject({ events: [{ id: 'A2' }], live: [] });
  expect(items.map(({ type }) => type).filter((type) => type === 'reset')).toHaveLength(1);
});

test('a cursor after the end ends its stream without the record, also while no worker answers', async () => {
  const run = new FakeRun();
  answer(run, 'R1');
  run.end();
  const cursor = (await read(feedsOf(run))).at(-1)?.cursor ?? '';
  const { pages, ...sources } = run.sources();
  const unanswered = (): Promise<never> => new Promise(() => undefined);
  const feed = new RunFeed({ ...sources, pages: { ...pages, end: unanswered, read: unanswered, shared: unanswered } });
  const stream = streamRun({ follow: () => ({ feed, release: () => undefined }) }, 'run-1', { cursor });
  expect(await Promise.race([stream.next(), soon(1_000)])).toEqual({ done: true, value: undefined });

  sendBack(run, 0, 0);
  answer(run, 'N1');
  run.end();
  const after = await read(feedsOf(run), cursor);
  expect(after.filter(({ type }) => type === 'reset')).toHaveLength(1);
  expect(viewOf(after).events.map(({ id }) => id)).toEqual(['N1']);
});
