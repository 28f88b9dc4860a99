import { afterEach, beforeAll, beforeEach, describe, expect, it, test, vi } from 'vitest';
import { RunFeeds } from '../../../src/client/stream/run-feeds.ts';
import { streamRun } from '../../../src/client/stream/stream-run.ts';
import { FakeRun } from './fake-run.ts';
import { FakeServer, FakeSink } from './fake-server.ts';
import { feedsOf, type StreamItem } from './read-stream.ts';
import { noUsage } from '../../../src/core/domain/usage.ts';
import type { StreamedAttempt } from '../../../src/core/domain/stream.ts';

describe('a reader that reads slowly', () => {
  const MINUTE_MS = 60_000;

  // No fake clock waits for a module that is loaded when it is used first.
  beforeAll(() => import('../../../src/history/read-run.ts'));
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  /** Readers that have read all that there is of a run, which does nothing from then on. */
  async function idle({ announces = true }: { announces?: boolean } = {}) {
    const run = new FakeRun();
    run.record('question', [{ type: 'message', role: 'user', content: 'Hi' }], { author: 'user' });
    const server = new FakeServer(run);
    const feeds = new RunFeeds(server.client, { sink: new FakeSink(run, { announces }) });
    const items: StreamItem[] = [];
    const leaving = new AbortController();
    const reading = Array.from({ length: 10 }, async () => {
      for await (const item of streamRun(feeds, 'run-1', { signal: leaving.signal })) items.push(item);
    });
    await vi.advanceTimersByTimeAsync(10_000);
    const before = { ...server.requests };
    /** Returns the number of requests of each kind since then. */
    const asked = (): object => ({
      describe: server.requests.describe - before.describe,
      query: server.requests.query - before.query,
      history: server.requests.history - before.history,
    });
    const leave = async (): Promise<void> => {
      leaving.abort(new Error('enough'));
      await Promise.allSettled(reading);
      await feeds.close();
    };
    return { run, server, items, asked, leave };
  }

  test('readers of an idle run look at the server twice a minute, however many they are, and ask no worker', async () => {
    const { server, asked, leave } = await idle();
    // The run is found, looked at, and asked for the end of its record and for its events.
    expect(server.requests).toEqual({ describe: 2, query: 2, history: 0 });
    await vi.advanceTimersByTimeAsync(10 * MINUTE_MS);
    expect(asked()).toEqual({ describe: 20, query: 0, history: 0 });
    await leave();
    await vi.advanceTimersByTimeAsync(10 * MINUTE_MS);
    expect(asked()).toEqual({ describe: 20, query: 0, history: 0 });
  });

  test('news announced after minutes is queried at once, and once for all readers', async () => {
    const { run, items, asked, leave } = await idle();
    await vi.advanceTimersByTimeAsync(5 * MINUTE_MS);
    run.record('answer', [{ type: 'message', role: 'assistant', content: 'Hello' }], { usage: null });
    run.announce();
    await vi.advanceTimersByTimeAsync(100);
    expect(items.filter((item) => item.type === 'event' && item.event.id === 'answer')).toHaveLength(10);
    expect(asked()).toMatchObject({ query: 1, history: 0 });
    await leave();
  });

  test('after minutes, too, the result of a quick tool is asked for together with its call, without a look at the server', async () => {
    const { run, items, asked, leave } = await idle();
    await vi.advanceTimersByTimeAsync(5 * MINUTE_MS);
    run.record('calls', [{ type: 'tool_call', toolCallId: 'look-1', name: 'look', arguments: {} }], { usage: null });
    run.announce();
    await vi.advanceTimersByTimeAsync(5);
    run.record('results', [{ type: 'tool_result', toolCallId: 'look-1', name: 'look', status: 'success', content: ['looked'] }]);
    run.announce();
    await vi.advanceTimersByTimeAsync(100);
    expect(items.filter((item) => item.type === 'event' && item.event.id === 'results')).toHaveLength(10);
    expect(asked()).toEqual({ describe: 10, query: 1, history: 0 });
    await leave();
  });

  test('events recorded without an announcement are found within half a minute', async () => {
    const { run, items, leave } = await idle();
    run.record('answer', [{ type: 'message', role: 'assistant', content: 'Hello' }], { usage: null });
    await vi.advanceTimersByTimeAsync(30_000);
    expect(items.filter((item) => item.type === 'event' && item.event.id === 'answer')).toHaveLength(10);
    await leave();
  });

  test('without announcements, readers of an idle run look at the server once a second, however many they are, and ask no worker', async () => {
    const { asked, leave } = await idle({ announces: false });
    await vi.advanceTimersByTimeAsync(10 * MINUTE_MS);
    expect(asked()).toEqual({ describe: 600, query: 0, history: 0 });
    await leave();
  });

  test('the last events of a run are read from its history: to answer after the end, a worker would replay the run', async () => {
    const { run, items, asked, leave } = await idle();
    run.record('answer', [{ type: 'message', role: 'assistant', content: 'Hello' }], { usage: null });
    run.end();
    run.announce();
    await vi.advanceTimersByTimeAsync(500);
    expect(items.filter(({ type }) => type === 'end')).toHaveLength(10);
    expect(asked()).toMatchObject({ query: 0 });
    await leave();
  });

  test('readers that come after the end ask no worker', async () => {
    const run = new FakeRun();
    run.record('question', [{ type: 'message', role: 'user', content: 'Hi' }], { author: 'user' });
    run.end();
    const server = new FakeServer(run);
    const feeds = new RunFeeds(server.client, { sink: new FakeSink(run) });
    const items = Array.fromAsync(streamRun(feeds, 'run-1', {}));
    await vi.advanceTimersByTimeAsync(1_000);
    expect((await items).at(-1)?.type).toBe('end');
    expect(server.requests.query).toBe(0);
    await feeds.close();
  });

  test('a run whose end was announced, but which continues because its worker was killed before the server knew, is read further', async () => {
    const { run, items, asked, leave } = await idle();
    run.record('answer', [{ type: 'message', role: 'assistant', content: 'Hello' }], { usage: null });
    run.publish({ type: 'recorded', executionId: run.executionId, events: 2, steps: 1, status: 'completed' });
    await vi.advanceTimersByTimeAsync(150);
    expect(asked()).toMatchObject({ query: 0 });
    await vi.advanceTimersByTimeAsync(350);
    expect(items.filter((item) => item.type === 'event' && item.event.id === 'answer')).toHaveLength(10);
    await leave();
  });
});

describe('readers that wait', () => {
  const OF: StreamedAttempt = { executionId: 'execution-1', eventId: 'answer', through: 0, activity: 1, attempt: 1 };

  const turn = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 1));

  afterEach(() => {
    vi.useRealTimers();
    vi.restoreAllMocks();
  });

  /** Reads to the end in the background. */
  function collect(run: FakeRun): StreamItem[] {
    const items: StreamItem[] = [];
    void (async () => {
      for await (const item of feedsOf(run).stream()) items.push(item);
    })();
    return items;
  }

  it('a waiting reader keeps nothing of its past waits', async () => {
    const race = vi.spyOn(Promise, 'race');
    const run = new FakeRun();
    const items = collect(run);
    await turn();
    run.publish({ type: 'attempt', of: OF });
    for (let index = 0; index < 50; index += 1) {
      run.publish({ type: 'delta', of: OF, index, delta: { type: 'text', text: 'x' } });
      await turn();
    }
    run.end();
    await vi.waitFor(() => expect(items.at(-1)?.type).toBe('end'));
    const waits = new Map<unknown, number>();
    for (const [values] of race.mock.calls) for (const value of values) waits.set(value, (waits.get(value) ?? 0) + 1);
    // A promise that stays open keeps every race that it takes part in.
    expect(Math.max(0, ...waits.values())).toBeLessThan(5);
  });

  it('simultaneous announcements are queried once', async () => {
    vi.useFakeTimers();
    const run = new FakeRun({ gatherMs: 15 });
    vi.spyOn(run, 'sources').mockReturnValue({ ...run.sources(), news: { ...run.sources().news, pauseMs: () => 30_000 } });
    const items = collect(run);
    await vi.advanceTimersByTimeAsync(1);
    const before = run.reads;
    run.record('answer', [], { usage: noUsage() });
    run.announce();
    await vi.advanceTimersByTimeAsync(5);
    run.record('results', []);
    run.announce();
    await vi.advanceTimersByTimeAsync(50);
    expect(items.filter(({ type }) => type === 'event')).toHaveLength(2);
    expect(run.reads - before).toBe(1);
  });
});
