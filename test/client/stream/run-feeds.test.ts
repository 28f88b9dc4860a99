import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { LonghaulClient } from '../../../src/client/index.ts';
import { RunFeed } from '../../../src/client/stream/run-feed.ts';
import { RunFeeds } from '../../../src/client/stream/run-feeds.ts';
import { streamRun } from '../../../src/client/stream/stream-run.ts';
import type { StreamedAttempt } from '../../../src/core/domain/stream.ts';
import { FakeRun } from './fake-run.ts';
import { FakeServer, FakeSink } from './fake-server.ts';
import type { StreamItem } from './read-stream.ts';

const OF: StreamedAttempt = { executionId: 'execution-1', eventId: 'answer', through: 0, activity: 1, attempt: 1 };

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A run on a server, the sink of its workers, and the feeds of one client. */
function stage(): { run: FakeRun; server: FakeServer; sink: FakeSink; feeds: RunFeeds } {
  const run = new FakeRun();
  const server = new FakeServer(run);
  const sink = new FakeSink(run);
  return { run, server, sink, feeds: new RunFeeds(server.client, { sink }) };
}

/** Reads a stream to its end. */
async function all(stream: AsyncIterable<StreamItem>): Promise<StreamItem[]> {
  return Array.fromAsync(stream);
}

/** Lets everything happen that is due within this many milliseconds. */
const pass = async (ms: number): Promise<void> => void (await vi.advanceTimersByTimeAsync(ms));

function answer(run: FakeRun): void {
  run.publish({ type: 'attempt', of: OF });
  run.publish({ type: 'delta', of: OF, index: 0, delta: { type: 'text', text: 'Hello' } });
  run.record('answer', [{ type: 'message', role: 'assistant', content: 'Hello' }], { usage: null });
  run.announce();
}

function end(run: FakeRun): void {
  run.end();
  run.announce();
}

const typesOf = (items: readonly StreamItem[]): string[] => items.map(({ type }) => type);

describe('the readers of a run in one process', () => {
  it('share one reading of the sink and one of the record, and each gets the whole stream', async () => {
    const { run, server, sink, feeds } = stage();
    const reading = Array.from({ length: 20 }, () => all(streamRun(feeds, 'run-1', {})));
    await pass(10);
    answer(run);
    await pass(100);
    end(run);
    await pass(100);
    for (const items of await Promise.all(reading)) expect(typesOf(items)).toEqual(['status', 'delta', 'event', 'step', 'status', 'end']);
    expect([sink.open.mock.calls.length, sink.runs]).toEqual([1, ['run-1']]);
    // The previous end of the record, the announced events, and the rest once the run has ended.
    expect(server.requests.query).toBeLessThanOrEqual(5);
  });

  it('share only the sink with the readers of another run', async () => {
    const { sink, feeds } = stage();
    for (const runId of ['run-1', 'run-2', 'run-1', 'run-2']) await feeds.follow(runId).feed.start();
    expect([sink.open.mock.calls.length, sink.runs]).toEqual([1, ['run-1', 'run-2']]);
  });

  it('share it also as clients of principals, and clients of another principal reach nothing', async () => {
    const run = new FakeRun();
    const ada = { tenant: 'acme', user: 'ada' };
    const sink = new FakeSink(run);
    const client = new LonghaulClient(new FakeServer(run, ada).client, { streams: sink });
    const clients = [client, client.as(ada), client.as(ada)];
    const reading = clients.map((one) => all(one.handle('run-1').stream()));
    const foreign = all(client.as({ tenant: 'umbrella' }).handle('run-1').stream());
    await expect(foreign).rejects.toMatchObject({ code: 'run_not_found' });
    await pass(10);
    expect([sink.open.mock.calls.length, sink.runs]).toEqual([1, ['run-1']]);
    end(run);
    await pass(100);
    for (const items of await Promise.all(reading)) expect(items.at(-1)?.type).toBe('end');
    await client.close();
  });
});

describe('the feed of a run', () => {
  it('continues while it has a reader, and for two seconds after its last one', async () => {
    const { sink, feeds } = stage();
    const [one, other] = [feeds.follow('run-1'), feeds.follow('run-1')];
    await one.feed.start();
    one.release();
    await pass(60_000);
    expect(sink.reading).toBe(1);
    other.release();
    await pass(1_999);
    expect(sink.reading).toBe(1);
    await pass(1);
    expect([sink.reading, one.feed.isOver]).toEqual([0, true]);
  });

  it('is the same for a reader that comes back within that time, and another one afterwards', async () => {
    const { sink, feeds } = stage();
    const before = feeds.follow('run-1');
    await before.feed.start();
    before.release();
    await pass(1_500);
    const again = feeds.follow('run-1');
    expect(again.feed).toBe(before.feed);
    await pass(60_000);
    expect([sink.reading, sink.runs]).toEqual([1, ['run-1']]);
    again.release();
    await pass(2_000);
    const later = feeds.follow('run-1');
    await later.feed.start();
    expect(later.feed).not.toBe(before.feed);
    expect([sink.reading, sink.runs]).toEqual([1, ['run-1', 'run-1']]);
  });

  it('continues for two seconds after its last reader, also if that reader came back shortly before', async () => {
    const { sink, feeds } = stage();
    const before = feeds.follow('run-1');
    await before.feed.start();
    before.release();
    await pass(1_500);
    feeds.follow('run-1').release();
    await pass(1_999);
    expect(sink.reading).toBe(1);
    await pass(1);
    expect(sink.reading).toBe(0);
  });

  it('is replaced once it is over: a reader that comes after the end reads the run from the beginning', async () => {
    const { run, server, feeds } = stage();
    const { feed } = feeds.follow('run-1');
    const reading = all(streamRun(feeds, 'run-1', {}));
    await pass(10);
    answer(run);
    end(run);
    await pass(100);
    await reading;
    const before = server.requests.history;
    expect(feed.isOver).toBe(true);
    expect(feeds.follow('run-1').feed).not.toBe(feed);
    const later = all(streamRun(feeds, 'run-1', {}));
    await pass(100);
    // It reads from history, which the server of this test does not have.
    expect(typesOf(await later)).toEqual(['status', 'end']);
    expect(server.requests.history - before).toBeGreaterThan(1);
    const whole = all(streamRun({ follow: () => ({ feed: new RunFeed(run.sources()), release: () => undefined }) }, 'run-1', {}));
    await pass(100);
    expect(typesOf(await whole)).toEqual(['event', 'step', 'status', 'end']);
  });

  it('is another one if it could not begin', async () => {
    const { run, server, feeds } = stage();
    server.isAway = true;
    await expect(all(streamRun(feeds, 'run-1', {}))).rejects.toThrow('The server is away');
    server.isAway = false;
    end(run);
    const later = all(streamRun(feeds, 'run-1', {}));
    await pass(100);
    expect((await later).at(-1)?.type).toBe('end');
  });
});

describe('the feeds of a client that is closed', () => {
  it('end their readers with an error, and the reading of the sink', async () => {
    const { sink, feeds } = stage();
    const reading = ['run-1', 'run-1', 'run-2'].map(async (runId) => all(streamRun(feeds, runId, {})).catch((error: unknown) => error));
    await pass(10);
    expect(sink.reading).toBe(2);
    await feeds.close();
    expect((await Promise.all(reading)).map(String)).toEqual(
      Array.from({ length: 3 }, () => expect.stringContaining('The client is closed') as string),
    );
    expect([sink.reading, sink.close.mock.calls.length]).toEqual([0, 1]);
    await feeds.close();
    expect(sink.close).toHaveBeenCalledTimes(1);
    expect(() => feeds.follow('run-1')).toThrow('The client is closed');
    await expect(feeds.health()).rejects.toThrow('The client is closed');
    expect(sink.open).toHaveBeenCalledTimes(1);
  });

  it('close nothing that was not opened', async () => {
    const { sink, feeds } = stage();
    await feeds.close();
    expect([sink.open.mock.calls.length, sink.close.mock.calls.length]).toEqual([0, 0]);
  });
});

describe('the health of the feeds', () => {
  it("is the sink's health: the sink is opened once for it and for readers", async () => {
    const { sink, feeds } = stage();
    await expect(feeds.health()).resolves.toBeUndefined();
    sink.health.mockRejectedValueOnce(new Error('Redis is away'));
    await expect(feeds.health()).rejects.toThrow('Redis is away');
    await feeds.follow('run-1').feed.start();
    expect(sink.open).toHaveBeenCalledTimes(1);
  });

  it('is good without a sink', async () => {
    await expect(new RunFeeds(new FakeServer(new FakeRun()).client).health()).resolves.toBeUndefined();
  });
});
