import { Client } from '@temporalio/client';
import { temporal } from '@temporalio/proto';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { FeedItem } from '../../src/client/feed-item.ts';
import { runFeed } from '../../src/client/run-news.ts';
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
async function followed(): Promise<{ executions: object[]; news: string[]; announce: () => void; asked: () => number; stop: () => void }> {
  const state = { executions: [waiting('r')], news: [] as string[] };
  const listWorkflowExecutions = vi.fn<() => Promise<object>>(async () =>
    ListWorkflowExecutionsResponse.fromObject({ executions: state.executions }),
  );
  const client = new Client({ connection: { workflowService: { listWorkflowExecutions }, plugins: [] } as never });
  const bell = new Bell();
  const stop = new AbortController();
  const waits = async function* (signal: AbortSignal): AsyncGenerator<void> {
    for (; !signal.aborted; yield) await bell.next(signal);
  };
  const read = async (items: AsyncIterable<FeedItem>): Promise<void> => {
    for await (const { type } of items) state.news.push(type);
  };
  read(runFeed(client, { waits }, { signal: stop.signal })).catch(() => undefined);
  await vi.advanceTimersByTimeAsync(0);
  const rest = { announce: () => bell.ring(), asked: () => listWorkflowExecutions.mock.calls.length, stop: () => stop.abort() };
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
