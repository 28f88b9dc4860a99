import { Client } from '@temporalio/client';
import { temporal } from '@temporalio/proto';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { FeedItem } from '../../src/client/feed-item.ts';
import { runFeed } from '../../src/client/run-news.ts';
import type { StreamRead } from '../../src/streams/stream-sink.ts';
import { Bell } from '../../src/streams/waits.ts';

const { ListWorkflowExecutionsResponse } = temporal.api.workflowservice.v1;

beforeEach(() => void vi.useFakeTimers({ now: 1_900_000_000_000 }));
afterEach(() => void vi.useRealTimers());

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

/** Follows all runs of a server whose lists are set. `announce` does what a sink does. */
async function followed(): Promise<{
  executions: object[];
  news: string[];
  announce: (runId?: string) => void;
  asked: () => number;
  stop: () => void;
}> {
  const state = { executions: [waiting('r')], news: [] as string[] };
  const listWorkflowExecutions = vi.fn<() => Promise<object>>(async () =>
    ListWorkflowExecutionsResponse.fromObject({ executions: state.executions }),
  );
  const client = new Client({ connection: { workflowService: { listWorkflowExecutions }, plugins: [] } as never });
  const bell = new Bell();
  const stop = new AbortController();
  let announced = '';
  const waits = async function* (signal: AbortSignal): AsyncGenerator<StreamRead> {
    for (; !signal.aborted;) {
      await bell.next(signal);
      const totals = { events: 1, steps: 1, status: 'pending_confirmation' } as const;
      yield { type: 'entry', position: '1', entry: { type: 'recorded', executionId: `execution of ${announced}`, ...totals } };
    }
  };
  const announce = (runId = 'another'): void => {
    announced = runId;
    bell.ring();
  };
  const read = async (items: AsyncIterable<FeedItem>): Promise<void> => {
    for await (const { type } of items) state.news.push(type);
  };
  read(runFeed(client, { waits }, { signal: stop.signal })).catch(() => undefined);
  await vi.advanceTimersByTimeAsync(0);
  const rest = { announce, asked: () => listWorkflowExecutions.mock.calls.length, stop: () => stop.abort() };
  return Object.assign(state, rest);
}

test('an announcement is followed by two questions, before the next usual one', async () => {
  const feed = await followed();
  expect([feed.asked(), feed.news]).toEqual([1, ['waiting']]);
  feed.announce();
  await vi.advanceTimersByTimeAsync(600);
  expect(feed.asked()).toBe(2);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(feed.asked()).toBe(3);
  feed.stop();
});

test('a run that waits for the same tool again is said to wait once more if the sink announces it', async () => {
  const feed = await followed();
  // The list looks as before: between two questions the first call was decided, and the next one has begun to wait.
  feed.announce('r');
  await vi.advanceTimersByTimeAsync(600);
  expect(feed.news).toEqual(['waiting', 'waiting']);
  await vi.advanceTimersByTimeAsync(10_000);
  expect(feed.news).toEqual(['waiting', 'waiting']);
  feed.stop();
});

test('a run that some lists lack for a moment has not been decided', async () => {
  const feed = await followed();
  feed.executions = [];
  feed.announce();
  await vi.advanceTimersByTimeAsync(1_600);
  expect(feed.asked()).toBe(3);
  feed.executions = [waiting('r')];
  await vi.advanceTimersByTimeAsync(4_000);
  expect(feed.news).toEqual(['waiting']);
  feed.executions = [];
  await vi.advanceTimersByTimeAsync(6_000);
  expect(feed.news).toEqual(['waiting', 'decided']);
  feed.stop();
});
