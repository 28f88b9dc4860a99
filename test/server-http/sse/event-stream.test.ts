import { afterEach, expect, it, vi } from 'vitest';
import { eventStream, type StreamMessage } from '../../../src/server/streams.ts';

afterEach(() => void vi.useRealTimers());

it('an idle stream is kept open by comments, and they add no listeners to the awaited message', async () => {
  const waiting = new Promise<IteratorResult<StreamMessage>>(() => undefined);
  // Each listener of a promise that stays open stays in memory.
  const listen = vi.spyOn(waiting, 'then');
  const messages = (async function* none(): AsyncGenerator<StreamMessage> {})();
  messages.next = () => waiting;
  const reader = eventStream(messages, { commentMs: 1 }).body?.getReader();
  const chunks: string[] = [];
  for (let index = 0; index < 20; index += 1) chunks.push(new TextDecoder().decode((await reader?.read())?.value));
  expect(chunks.slice(1)).toEqual(Array.from({ length: 19 }, () => ': the stream continues\n\n'));
  expect(listen.mock.calls.length).toBeLessThanOrEqual(1);
  await reader?.cancel();
});

it('an idle stream has a comment after 15 seconds, and another one after each further 15 seconds', async () => {
  vi.useFakeTimers();
  const messages = (async function* none(): AsyncGenerator<StreamMessage> {
    await new Promise(() => undefined);
    yield { data: '' };
  })();
  const reader = eventStream(messages).body?.getReader();
  const chunks: string[] = [];
  const reading = (async () => {
    for (;;) {
      const got = await reader?.read();
      if (got === undefined || got.done) return;
      chunks.push(new TextDecoder().decode(got.value));
    }
  })();
  await vi.advanceTimersByTimeAsync(14_999);
  expect(chunks).toEqual(['retry: 1000\n\n']);
  await vi.advanceTimersByTimeAsync(1);
  expect(chunks.slice(1)).toEqual([': the stream continues\n\n']);
  await vi.advanceTimersByTimeAsync(14_999);
  expect(chunks).toHaveLength(2);
  await vi.advanceTimersByTimeAsync(1);
  expect(chunks).toHaveLength(3);
  await reader?.cancel();
  await reading;
});

it.each([
  ['an EventSource is told when to come back', false, 'retry: 1000\n\ndata: 1\n\n'],
  ['a client of another protocol is sent its messages alone', true, 'data: 1\n\n'],
])('%s', async (_, breaksIfCut, sent) => {
  const messages = (async function* one(): AsyncGenerator<StreamMessage> {
    yield { data: '1' };
  })();
  expect(await eventStream(messages, { breaksIfCut }).text()).toBe(sent);
});

it('messages that are there at the same time are sent together, and a later one separately', async () => {
  const later = Promise.withResolvers<void>();
  const messages = (async function* some(): AsyncGenerator<StreamMessage> {
    for (const data of ['1', '2', '3']) yield { data };
    await later.promise;
    yield { data: '4' };
  })();
  const reader = eventStream(messages, { breaksIfCut: true }).body?.getReader();
  const next = async (): Promise<string> => new TextDecoder().decode((await reader?.read())?.value);
  expect(await next()).toBe('data: 1\n\ndata: 2\n\ndata: 3\n\n');
  later.resolve();
  expect(await next()).toBe('data: 4\n\n');
  expect(await reader?.read()).toMatchObject({ done: true });
});

it('messages that are ready before the source fails are sent, and then the connection breaks', async () => {
  const messages = (async function* some(): AsyncGenerator<StreamMessage> {
    yield { data: '1' };
    yield { data: '2' };
    throw new Error('lost');
  })();
  const reader = eventStream(messages, { breaksIfCut: true }).body?.getReader();
  expect(new TextDecoder().decode((await reader?.read())?.value)).toBe('data: 1\n\ndata: 2\n\n');
  await expect(reader?.read()).rejects.toThrow('the stream was cut');
});

it('a client that does not read holds back a bounded part of a source that has everything at once', async () => {
  let taken = 0;
  const messages = (async function* endless(): AsyncGenerator<StreamMessage> {
    for (;;) {
      taken += 1;
      yield { data: 'x'.repeat(1_000) };
    }
  })();
  const reader = eventStream(messages).body?.getReader();
  await reader?.read();
  await reader?.read();
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(taken).toBeLessThan(200);
  await reader?.cancel();
});
