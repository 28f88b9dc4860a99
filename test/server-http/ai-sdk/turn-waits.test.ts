import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { RunningCall } from '../../../src/core/protocol.ts';
import { toUIMessageStream } from '../../../src/server/protocols/ai-sdk/index.ts';
import type { UiChunk } from '../../../src/server/protocols/ai-sdk/ui-message.ts';
import { FakeChat } from './fake-chat.ts';
import { asks, ended, item, says } from './recorded-turn.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
afterEach(() => void vi.useRealTimers());

/** A chat whose turn has begun, and the chunks that its page has got so far. */
async function following(...running: RunningCall[]): Promise<{ session: FakeChat; chunks: UiChunk[]; read: Promise<void> }> {
  const session = new FakeChat();
  session.isNew = false;
  session.beginTurn();
  session.publish(item({ type: 'status', status: 'running' }), asks(0, 'Hi'));
  session.progress = { running };
  const stream = await toUIMessageStream(session.client().session('clerk', { id: 'c1' }));
  const chunks: UiChunk[] = [];
  const read = (async () => {
    for await (const chunk of stream ?? []) chunks.push(chunk);
  })();
  return { session, chunks, read };
}

const wait = (data: object): object => ({ type: 'data-longhaul-wait', id: 'c1-turn-1', data, transient: true });

const refused = (times: number): RunningCall => ({
  name: 'callModel',
  attempt: times + 1,
  lastFailure: 'No answer of 10.0.0.7',
  refused: { code: 'model_unavailable', times, nextAttemptAt: `2026-11-26T10:00:0${times}.000Z`, givesUpAt: '2026-11-26T10:10:00.000Z' },
});

test('a page hears once of each further attempt of a model call, without the message of its error, and then gets the answer', async () => {
  const { session, chunks, read } = await following(refused(1));
  await vi.advanceTimersByTimeAsync(10_000);
  session.progress = { running: [refused(2)] };
  await vi.advanceTimersByTimeAsync(10_000);
  const facts = { code: 'model_unavailable', givesUpAt: '2026-11-26T10:10:00.000Z' };
  expect(chunks.slice(1)).toEqual([
    wait({ waitsFor: 'model', attempt: 2, ...facts, nextAttemptAt: '2026-11-26T10:00:01.000Z' }),
    wait({ waitsFor: 'model', attempt: 3, ...facts, nextAttemptAt: '2026-11-26T10:00:02.000Z' }),
  ]);
  session.publish(says(1, 'e1', 'Hello'), ended(2));
  await vi.advanceTimersByTimeAsync(1_000);
  await read;
  expect(chunks.at(-1)).toMatchObject({ type: 'finish', finishReason: 'stop' });
});

test.each<[string, Partial<FakeChat['progress']>, object]>([
  ['another attempt of a tool call', { running: [{ name: 'refund', attempt: 3 }] }, { waitsFor: 'tool', toolName: 'refund', attempt: 3 }],
  [
    'a batch of its provider',
    { running: [{ name: 'callModel', attempt: 2, waitsForBatch: { collector: 'batch-1', since: '2026-11-26T10:00:00.000Z' } }] },
    { waitsFor: 'batch', since: '2026-11-26T10:00:00.000Z' },
  ],
  [
    'a worker',
    { waitingTask: { kind: 'workflow', taskQueue: 'q', since: new Date(0) } },
    { waitsFor: 'worker', since: '1970-01-01T00:00:00.000Z' },
  ],
])('a page hears that its turn waits for %s', async (_, progress, data) => {
  const { session, chunks } = await following();
  Object.assign(session.progress, progress);
  await vi.advanceTimersByTimeAsync(4_000);
  expect(chunks.slice(1)).toEqual([wait(data)]);
});

test('a turn that sends something is not asked about, and a quiet one less and less often', async () => {
  const { session, chunks } = await following({ name: 'callModel', attempt: 1 });
  await vi.advanceTimersByTimeAsync(2_900);
  expect(session.looks).toBe(0);
  await vi.advanceTimersByTimeAsync(120_000);
  expect(session.looks).toBeGreaterThan(8);
  expect(session.looks).toBeLessThan(14);
  expect(chunks.slice(1)).toEqual([]);
});
