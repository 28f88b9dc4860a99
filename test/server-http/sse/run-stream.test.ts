import { afterEach, expect, test, vi } from 'vitest';
import { beginning, cursorAt, tagOf } from '../../../src/client/stream/stream-item.ts';
import { runStreamResponse } from '../../../src/server/streams.ts';
import type { StreamItem } from '../../../src/client/index.ts';
import { LonghaulError } from '../../../src/core/domain/errors.ts';

const STATUS: StreamItem = { type: 'status', status: 'running', cursor: 'c1' };

/** A run that sends nothing until its reader has left. */
async function* silent(_cursor: string | undefined, signal: AbortSignal): AsyncGenerator<StreamItem> {
  await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
  if (signal.aborted) throw new Error('the reader has gone');
  yield STATUS;
}

async function* failing(error: unknown, ...items: StreamItem[]): AsyncGenerator<StreamItem> {
  yield* items;
  throw error;
}

const open = { cursor: undefined, signal: new AbortController().signal, report: () => undefined, path: '/v1/runs/r/stream' };

afterEach(() => void vi.useRealTimers());

test('a client that leaves before anything has come causes no error, and frees its place', async () => {
  const unhandled: unknown[] = [];
  const note = (error: unknown): void => void unhandled.push(error);
  process.on('unhandledRejection', note);
  let closed = 0;
  const { body } = await runStreamResponse(silent, { ...open, closed: () => (closed += 1) });
  await body?.cancel();
  await new Promise((resolve) => setTimeout(resolve, 20));
  process.off('unhandledRejection', note);
  expect([unhandled, closed]).toEqual([[], 1]);
});

test('a stream that cannot begin is refused, and a stream with nothing after the end is empty', async () => {
  const refusal = new LonghaulError('invalid_cursor', 'no cursor');
  await expect(runStreamResponse(() => failing(refusal), { ...open, closed: () => undefined })).rejects.toBe(refusal);
  async function* nothing(): AsyncGenerator<StreamItem> {}
  expect((await runStreamResponse(nothing, { ...open, closed: () => undefined })).status).toBe(204);
});

test('a run that can no longer be followed ends its stream with a problem, and an outage only cuts it', async () => {
  const over = new LonghaulError('run_terminated', 'Run "r" was terminated');
  const text = await (await runStreamResponse(() => failing(over, STATUS), { ...open, closed: () => undefined })).text();
  expect(text).toContain('id: c1\nevent: status\ndata: {"type":"status","status":"running"}\n\n');
  expect(text).toContain('event: problem\ndata: {');
  const down = new LonghaulError('server_unreachable', 'away');
  expect(await (await runStreamResponse(() => failing(down, STATUS), { ...open, closed: () => undefined })).text()).not.toContain(
    'problem',
  );
});

test('a client that goes while an item waits for it lets go of the run', async () => {
  let released = 0;
  async function* endless(): AsyncGenerator<StreamItem> {
    try {
      for (;;) yield STATUS;
    } finally {
      released += 1;
    }
  }
  const { body } = await runStreamResponse(endless, { ...open, closed: () => undefined });
  const reader = body?.getReader();
  await reader?.read();
  await reader?.read();
  await reader?.cancel();
  await new Promise((resolve) => setTimeout(resolve, 10));
  expect(released).toBe(1);
});

test('a client that connects while the service is about to end is sent away at once, to reconnect', async () => {
  let closed = 0;
  const response = await runStreamResponse(silent, { ...open, signal: AbortSignal.abort(), closed: () => (closed += 1) });
  expect([response.status, await response.text(), closed]).toEqual([200, 'retry: 1000\n\n', 1]);
});

test('a cursor after the end is decided, however long that takes: an EventSource would reconnect forever', async () => {
  const ended = cursorAt('run-1', { ...beginning(), ended: tagOf('execution-1') });
  async function* late(): AsyncGenerator<StreamItem> {
    await new Promise((resolve) => setTimeout(resolve, 500));
    yield* [];
  }
  expect((await runStreamResponse(late, { ...open, cursor: ended, closed: () => undefined })).status).toBe(204);
  // Every other cursor may be one of a run that does nothing for days.
  const idle = cursorAt('run-1', beginning());
  const { status, body } = await runStreamResponse(late, { ...open, cursor: idle, closed: () => undefined });
  expect(status).toBe(200);
  await body?.cancel();
});

test('a service that ends while it decides sends the client away, to come back', async () => {
  const ended = cursorAt('run-1', { ...beginning(), ended: tagOf('execution-1') });
  const closing = new AbortController();
  let closed = 0;
  const response = runStreamResponse(silent, { ...open, cursor: ended, signal: closing.signal, closed: () => (closed += 1) });
  closing.abort();
  expect([(await response).status, await (await response).text(), closed]).toEqual([200, 'retry: 1000\n\n', 1]);
});

test('an unknown run is reported, although the stream is closed with it', async () => {
  const ended = new AbortController();
  const unknown = (): AsyncGenerator<StreamItem> => failing(new LonghaulError('run_not_found', 'There is no such run'));
  const response = runStreamResponse(unknown, { ...open, signal: ended.signal, closed: () => ended.abort() });
  await expect(response).rejects.toMatchObject({ code: 'run_not_found' });
});

test('a refusal that comes after a quarter of a second is a problem in the stream, which it ends', async () => {
  vi.useFakeTimers();
  const refusal = new LonghaulError('history_removed', 'The events are gone');
  const refusedAfter = (ms: number) =>
    async function* refused(): AsyncGenerator<StreamItem> {
      await new Promise((resolve) => setTimeout(resolve, ms));
      yield* failing(refusal);
    };
  let closed = 0;
  const options = { ...open, closed: () => (closed += 1) };

  const early = runStreamResponse(refusedAfter(249), options).catch((error: unknown) => error);
  await vi.advanceTimersByTimeAsync(249);
  expect([await early, closed]).toEqual([refusal, 1]);

  const late = runStreamResponse(refusedAfter(251), options);
  await vi.advanceTimersByTimeAsync(250);
  const response = await late;
  expect([response.status, response.headers.get('content-type'), closed]).toEqual([200, 'text/event-stream; charset=utf-8', 1]);
  const text = response.text();
  await vi.advanceTimersByTimeAsync(1);
  const [retry, problem, ...others] = (await text).split('\n\n');
  expect([retry, others, closed]).toEqual(['retry: 1000', [''], 2]);
  const [event, data] = problem?.split('\n') ?? [];
  expect(event).toBe('event: problem');
  expect(JSON.parse(data?.replace('data: ', '') ?? '')).toMatchObject({
    status: 410,
    code: 'history_removed',
    detail: 'The events are gone',
  });
});
