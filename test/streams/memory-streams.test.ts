import { afterEach, describe, expect, it, vi } from 'vitest';
import { UsageError } from '../../src/core/domain/errors.ts';
import { streamSinkConformance, textEntries, textEntry } from '../../src/streams/stream-sink-conformance.ts';
import { memoryStreams, type MemoryStreamsOptions } from '../../src/streams/memory-streams.ts';
import type { StreamChannel, StreamRead, StreamSink } from '../../src/streams/stream-sink.ts';
import { sinkContext } from './sink-context.ts';

afterEach(() => {
  vi.useRealTimers();
});

const SINKS: [string, MemoryStreamsOptions][] = [
  ['memoryStreams()', {}],
  ['memoryStreams() with small bounds', { entriesPerRun: 400, bytesPerRun: 3_000_000, bytes: 5_000_000, runs: 20 }],
];

describe.each(SINKS)('%s', (_, options) => {
  it.each(streamSinkConformance)('$name', async ({ run }) => {
    const sink = memoryStreams(options);
    await expect(run({ open: (side) => sink.open(sinkContext(side)) })).resolves.toBeUndefined();
  });
});

/** Counts the timers for idle runs that are set: half of a minute. Others of the process, by files that ran before, are not of this sink. */
function sweepCounter(): Disposable & { count: number } {
  const set = globalThis.setTimeout;
  const counter = { count: 0, [Symbol.dispose]: () => void (globalThis.setTimeout = set) };
  globalThis.setTimeout = Object.assign((...args: Parameters<typeof set>) => {
    if (args[1] === 30_000) counter.count += 1;
    return set(...args);
  }, set);
  return counter;
}

describe('the bounds of memoryStreams()', () => {
  it('keeps the newest entries of a run, and reports that others are missing', async () => {
    const { worker, read } = open(memoryStreams({ entriesPerRun: 3 }));
    publish(worker, 'r', 10);
    expect(await read('r', 4)).toEqual(['lost', 7, 8, 9]);
  });

  it('has nothing left of a run that is removed, and everything of others', async () => {
    const { worker, client, read } = open(memoryStreams());
    for (const runId of ['r', 'other']) publish(worker, runId, 3);
    await client.removeRun('r');
    await client.removeRun('never');
    publish(worker, 'r', 1);
    expect(await read('r', 1)).toEqual([0]);
    expect(await read('other', 3)).toEqual([0, 1, 2]);
  });

  it('drops an entry that is larger than all that a run may keep', async () => {
    const { worker, read } = open(memoryStreams({ bytesPerRun: 5_000 }));
    worker.publish('r', textEntry(0, 'x'.repeat(10_000)));
    worker.publish('r', textEntry(1));
    expect(await read('r', 2)).toEqual(['lost', 1]);
  });

  it('drops the runs that were not published about for the longest time, beyond the number of runs and the bytes of all', async () => {
    for (const options of [{ runs: 2 }, { bytes: 2_500 }]) {
      const { worker, read } = open(memoryStreams(options));
      const [first] = await (publish(worker, 'a', 2), positions(worker, 'a', 2));
      publish(worker, 'b', 2);
      publish(worker, 'a', 1);
      publish(worker, 'c', 2);
      expect(await read('a', 1)).toEqual([0]);
      expect(await read('c', 2)).toEqual([0, 1]);
      publish(worker, 'b', 1);
      publish(worker, 'd', 2);
      // The run no longer exists: its position is unknown.
      publish(worker, 'a', 1);
      expect(await read('a', 2, first)).toEqual(['lost', 0]);
    }
  });

  it('drops the entries of idle runs, which a reader that has read them does not notice', async () => {
    vi.useFakeTimers();
    using sweeps = sweepCounter();
    const { worker, client } = open(memoryStreams({ idleFor: '1m' }));
    publish(worker, 'r', 2);
    const [slow, quick] = [reader(client, 'r'), reader(client, 'r')];
    await slow.next();
    for (let index = 0; index < 2; index += 1) await quick.next();
    await vi.advanceTimersByTimeAsync(120_000);
    worker.publish('r', textEntry(2));
    expect(await quick.next()).toMatchObject({ value: { entry: { index: 2 } } });
    expect(await slow.next()).toMatchObject({ value: { type: 'lost' } });
    expect(await slow.next()).toMatchObject({ value: { entry: { index: 2 } } });
    const before = sweeps.count;
    await vi.advanceTimersByTimeAsync(30_000);
    expect(sweeps.count - before).toBe(1);
  });

  it('keeps no timer for runs without entries', async () => {
    vi.useFakeTimers();
    using sweeps = sweepCounter();
    const { worker } = open(memoryStreams({ idleFor: '1m' }));
    publish(worker, 'r', 2);
    await vi.advanceTimersByTimeAsync(120_000);
    const before = sweeps.count;
    await vi.advanceTimersByTimeAsync(600_000);
    expect(sweeps.count).toBe(before);
  });

  it('refuses invalid bounds', () => {
    expect(() => memoryStreams({ entriesPerRun: 0 })).toThrow('memoryStreams: "entriesPerRun" is 0');
    expect(() => memoryStreams({ idleFor: '1 minute' as '1m' })).toThrow(UsageError);
    expect(() => memoryStreams({ entries: 1 } as MemoryStreamsOptions)).toThrow('unknown option "entries"');
  });
});

describe('the announcements of memoryStreams()', () => {
  it('are made while a worker of the same namespace has opened the sink in this process', async () => {
    const sink = memoryStreams();
    const client = sink.open(sinkContext('client'));
    expect(client.announces).toBe(false);
    const [worker, second] = [sink.open(sinkContext('worker')), sink.open(sinkContext('worker'))];
    const other = sink.open(sinkContext('client', { namespace: 'other' }));
    expect([worker.announces, client.announces, other.announces]).toEqual([true, true, false]);
    await worker.close();
    await worker.close();
    expect(client.announces).toBe(true);
    await second.close();
    expect(client.announces).toBe(false);
  });

  it('end with "lost" for those who wait for one', async () => {
    const { worker, client } = open(memoryStreams());
    publish(worker, 'r', 1);
    const waiting = reader(client, 'r');
    await waiting.next();
    const next = waiting.next();
    await worker.close();
    expect(await next).toMatchObject({ value: { type: 'lost' } });
    expect(client.announces).toBe(false);
  });

  it('do not reach another sink, not even at a position of it', async () => {
    const { worker } = open(memoryStreams());
    publish(worker, 'r', 2);
    const [position] = await positions(worker, 'r', 1);
    const other = open(memoryStreams());
    publish(other.worker, 'r', 2);
    expect(await other.read('r', 3, position)).toEqual(['lost', 0, 1]);
  });
});

function open(sink: StreamSink): {
  worker: StreamChannel;
  client: StreamChannel;
  read: (runId: string, count: number, after?: string) => Promise<unknown[]>;
} {
  const [worker, client] = [sink.open(sinkContext('worker')), sink.open(sinkContext('client'))];
  return {
    worker,
    client,
    read: async (runId, count, after) =>
      (await taken(client, runId, count, after)).map((one) => (one.type === 'lost' ? 'lost' : indexOf(one))),
  };
}

function publish(worker: StreamChannel, runId: string, count: number): void {
  for (const entry of textEntries(count).slice(1)) worker.publish(runId, entry);
}

async function positions(channel: StreamChannel, runId: string, count: number): Promise<string[]> {
  return (await taken(channel, runId, count)).map(({ position }) => position ?? '');
}

async function taken(channel: StreamChannel, runId: string, count: number, after?: string): Promise<StreamRead[]> {
  const reads: StreamRead[] = [];
  const iterator = reader(channel, runId, after);
  for (let index = 0; index < count; index += 1) reads.push((await iterator.next()).value as StreamRead);
  await iterator.return?.();
  return reads;
}

function reader(channel: StreamChannel, runId: string, after?: string): AsyncIterator<StreamRead> {
  const { signal } = new AbortController();
  return channel.read(runId, { signal, ...(after === undefined ? {} : { after }) })[Symbol.asyncIterator]();
}

function indexOf(read: StreamRead): number | undefined {
  return read.type === 'entry' && read.entry.type === 'delta' ? read.entry.index : undefined;
}
