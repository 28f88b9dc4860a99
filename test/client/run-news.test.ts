import { Client } from '@temporalio/client';
import type { LoadedDataConverter } from '@temporalio/common';
import { temporal } from '@temporalio/proto';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { runFeed } from '../../src/client/run-news.ts';
import { WAITS_STREAM } from '../../src/core/domain/stream.ts';
import { memoryStreams } from '../../src/streams/memory-streams.ts';
import type { ReadStreamOptions, StreamRead } from '../../src/streams/stream-sink.ts';

const { ListWorkflowExecutionsResponse } = temporal.api.workflowservice.v1;

beforeEach(() => {
  // Values that are kept for a time keep the clock that they were created with.
  vi.spyOn(performance, 'now').mockImplementation(() => Date.now());
  vi.useFakeTimers({ now: 1_900_000_000_000 });
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

/** An execution that waits for a decision, as a list of the server has it. */
function waiting(runId: string): object {
  const keyword = (value: unknown, type: string): object => ({
    metadata: { encoding: Buffer.from('json/plain'), type: Buffer.from(type) },
    data: Buffer.from(JSON.stringify(value)),
  });
  return {
    execution: { workflowId: runId, runId: `execution of ${runId}` },
    type: { name: 'agentRun' },
    status: 1,
    startTime: { seconds: 1_800_000_000, nanos: 0 },
    historyLength: 5,
    searchAttributes: {
      indexedFields: { LonghaulStatus: keyword('pending_confirmation', 'Keyword'), LonghaulWaitingFor: keyword(['refund'], 'KeywordList') },
    },
  };
}

interface Followed {
  executions: object[];
  news: string[];
  /** Does what a worker does when a run begins to wait. */
  announce: (runId?: string, events?: number) => void;
  asked: () => number;
  /** Says that the sink may have lost announcements. */
  lose: () => void;
  /** The questions to the server. */
  queries: () => string[];
  /** Adds a reader that knows nothing yet, and returns its news. */
  listen: () => Promise<{ news: string[]; stop: () => void }>;
  stop: () => void;
}

/** Follows all runs of a server with set lists, with a sink that keeps announcements. `kept`: earlier ones, by run and events. */
async function followed(kept: readonly [runId: string, events: number][] = []): Promise<Followed> {
  const state = { executions: [waiting('r')] };
  const listWorkflowExecutions = vi.fn<(request: { query: string }) => Promise<object>>(async () =>
    ListWorkflowExecutionsResponse.fromObject({ executions: state.executions }),
  );
  const client = new Client({ connection: { workflowService: { listWorkflowExecutions }, plugins: [] } as never });
  const context = { namespace: 'default', dataConverter: {} as LoadedDataConverter, log: () => undefined };
  const channel = memoryStreams().open(context);
  let lose = (): void => undefined;
  async function* waits(options: ReadStreamOptions): AsyncGenerator<StreamRead> {
    const reads = channel.read(WAITS_STREAM, options)[Symbol.asyncIterator]();
    let read = reads.next();
    for (;;) {
      const isLost = new Promise<'lost'>((resolve) => (lose = () => resolve('lost')));
      const first = await Promise.race([read, isLost]);
      if (first === 'lost') yield { type: 'lost' };
      else if (first.done === true) return;
      else {
        read = reads.next();
        yield first.value;
      }
    }
  }
  const announce = (runId = 'another', events = (recorded += 1)): void => {
    const totals = { events, steps: 1, status: 'pending_confirmation' } as const;
    channel.publish(WAITS_STREAM, { type: 'recorded', executionId: `execution of ${runId}`, ...totals });
  };
  let recorded = 100;
  for (const [runId, events] of kept) announce(runId, events);
  const listen = async (): Promise<{ news: string[]; stop: () => void }> => {
    const news: string[] = [];
    const stopped = new AbortController();
    const read = async (): Promise<void> => {
      for await (const { type } of runFeed(client, { waits }, { signal: stopped.signal })) news.push(type);
    };
    read().catch(() => undefined);
    await vi.advanceTimersByTimeAsync(0);
    return { news, stop: () => stopped.abort() };
  };
  const queries = (): string[] => listWorkflowExecutions.mock.calls.map(([{ query }]) => query);
  const { news, stop } = await listen();
  return Object.assign(state, { news, stop, listen, announce, lose: () => lose(), asked: () => queries().length, queries });
}

test('an announced run is queried twice by its id, and then with everything, before the next usual query', async () => {
  const feed = await followed();
  expect([feed.asked(), feed.news]).toEqual([1, ['waiting']]);
  feed.announce();
  await vi.advanceTimersByTimeAsync(600);
  expect(feed.queries().map((query) => query.includes("RunId IN ('execution of another')"))).toEqual([false, true, true]);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(feed.asked()).toBe(4);
  expect(feed.queries().at(-1)).not.toContain('RunId');
  feed.stop();
});

test('an announced run is reported as waiting as soon as the lists have it, and is no longer queried', async () => {
  const feed = await followed();
  await vi.advanceTimersByTimeAsync(2_500);
  const before = feed.asked();
  feed.announce('s');
  await vi.advanceTimersByTimeAsync(200);
  expect(feed.news).toEqual(['waiting']);
  feed.executions = [waiting('r'), waiting('s')];
  await vi.advanceTimersByTimeAsync(300);
  expect([feed.news, feed.asked() - before]).toEqual([['waiting', 'waiting'], 2]);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(feed.asked() - before).toBe(2);
  await vi.advanceTimersByTimeAsync(10_000);
  expect(feed.news).toEqual(['waiting', 'waiting']);
  feed.stop();
});

test('continuous announcements do not prevent full queries of the lists', async () => {
  const feed = await followed();
  for (let time = 0; time < 10_000; time += 50) {
    feed.announce('another', 1_000 + time);
    await vi.advanceTimersByTimeAsync(50);
  }
  const all = feed.queries().filter((query) => !query.includes('RunId IN')).length;
  expect(all).toBeGreaterThanOrEqual(5);
  expect(feed.asked()).toBeLessThan(80);
  feed.stop();
});

test('a run that waits for the same tool again is reported as waiting again if the sink announces it', async () => {
  const feed = await followed([['r', 3]]);
  await vi.advanceTimersByTimeAsync(2_500);
  // The list looks as before: between two questions the first call was decided, and the next one has begun to wait.
  feed.announce('r');
  await vi.advanceTimersByTimeAsync(600);
  expect(feed.news).toEqual(['waiting', 'waiting']);
  await vi.advanceTimersByTimeAsync(10_000);
  expect(feed.news).toEqual(['waiting', 'waiting']);
  feed.stop();
});

test('an announcement that a sink has kept from before is not news of a run that waits already', async () => {
  // It has waited, was decided, and waits again since.
  const feed = await followed([
    ['r', 3],
    ['r', 7],
  ]);
  await vi.advanceTimersByTimeAsync(10_000);
  expect(feed.news).toEqual(['waiting']);
  feed.announce('r', 7);
  await vi.advanceTimersByTimeAsync(10_000);
  expect(feed.news).toEqual(['waiting']);
  feed.announce('r', 9);
  await vi.advanceTimersByTimeAsync(10_000);
  expect(feed.news).toEqual(['waiting', 'waiting']);
  feed.stop();
});

test('a reader after a time without readers gets no wait a second time, but each new wait', async () => {
  const feed = await followed();
  feed.executions = [waiting('r'), waiting('s')];
  feed.announce('s', 3);
  await vi.advanceTimersByTimeAsync(10_000);
  expect(feed.news).toEqual(['waiting', 'waiting']);
  for (const meanwhile of [undefined, 8]) {
    feed.stop();
    await vi.advanceTimersByTimeAsync(10_000);
    if (meanwhile !== undefined) feed.announce('s', meanwhile);
    const second = await feed.listen();
    await vi.advanceTimersByTimeAsync(10_000);
    expect(second.news).toEqual(meanwhile === undefined ? ['waiting', 'waiting'] : ['waiting', 'waiting', 'waiting']);
    feed.stop = second.stop;
  }
  feed.stop();
});

test('old announcements to others cause no query by id: the lists are queried for everything when the sink has lost something', async () => {
  const feed = await followed();
  feed.announce('not of this tenant');
  await vi.advanceTimersByTimeAsync(40_000);
  const before = feed.asked();
  feed.lose();
  await vi.advanceTimersByTimeAsync(700);
  const asked = feed.queries().slice(before);
  expect(asked.length).toBeGreaterThan(0);
  expect(asked.filter((query) => query.includes('RunId IN'))).toEqual([]);
  feed.stop();
});

test('a run is asked for by its id also after much was announced to others, and the questions end once the lists have it', async () => {
  const feed = await followed();
  for (let index = 0; index < 60; index += 1) feed.announce(`not of this tenant ${index}`);
  await vi.advanceTimersByTimeAsync(41_000);
  const before = feed.asked();
  feed.executions = [waiting('r'), waiting('s')];
  feed.announce('s');
  await vi.advanceTimersByTimeAsync(1_500);
  expect(feed.queries().slice(before)).toEqual([expect.stringContaining("RunId IN ('execution of s') AND")]);
  expect(feed.news).toEqual(['waiting', 'waiting']);
  feed.stop();
});

test('a query for everything makes up for what a sink has lost, also if an announcement follows', async () => {
  const feed = await followed();
  await vi.advanceTimersByTimeAsync(2_500);
  const before = feed.asked();
  feed.executions = [waiting('r'), waiting('s'), waiting('t')];
  feed.lose();
  await vi.advanceTimersByTimeAsync(10);
  feed.announce('s');
  await vi.advanceTimersByTimeAsync(700);
  expect(feed.queries()[before]).not.toContain('RunId IN');
  expect(feed.news).toEqual(['waiting', 'waiting', 'waiting']);
  feed.stop();
});

test('a run that some lists lack for a moment has not been decided', async () => {
  const feed = await followed();
  feed.executions = [];
  feed.announce();
  await vi.advanceTimersByTimeAsync(1_600);
  expect(feed.asked()).toBe(4);
  feed.executions = [waiting('r')];
  await vi.advanceTimersByTimeAsync(4_000);
  expect(feed.news).toEqual(['waiting']);
  feed.executions = [];
  await vi.advanceTimersByTimeAsync(6_000);
  expect(feed.news).toEqual(['waiting', 'decided']);
  feed.stop();
});
