import { expect, test } from 'vitest';
import { LonghaulError } from '../../../src/core/domain/errors.ts';
import { type Caller, createHandler, type HandlerOptions } from '../../../src/server/index.ts';
import { answer, clientWithRun, send } from '../requests.ts';

const EVENT = { runId: 'r', offset: 0, event: { id: 'e' } };

async function* endless(): AsyncGenerator<object> {
  for (;;) yield EVENT;
}

async function* failing(): AsyncGenerator<object> {
  yield { type: 'status', status: 'running', cursor: 'c' };
  throw new Error('the disk is full');
}

/** A handler that lets each caller have one stream, and the errors that it has reported. */
function handlerOf(run: object, options: HandlerOptions = {}) {
  const reported: unknown[] = [];
  const onError: HandlerOptions['onError'] = (error, occurrence) => void reported.push([(error as Error).message, occurrence.path]);
  return { handler: createHandler(clientWithRun(run), { limits: { streams: 1 }, onError, ...options }), reported };
}

test.each(['/v1/runs/r/export', '/v1/runs/r/tree/events'])('%s takes a place among the streams of its caller', async (path) => {
  const { handler } = handlerOf({ export: endless, events: endless });
  const first = await send(handler, 'GET', path);
  const reader = first.body?.getReader();
  await reader?.read();
  const second = await answer(handler, 'GET', path);
  expect([second.status, second.headers.has('retry-after')]).toEqual([429, true]);
  await reader?.cancel();
  expect((await send(handler, 'GET', path)).status).toBe(200);
});

test('the lines of an export break off when the credentials of the caller expire', async () => {
  async function* slow(): AsyncGenerator<object> {
    yield EVENT;
    await new Promise(() => undefined);
  }
  const caller: Caller = { id: 'k', principal: 'all', scopes: ['runs:read'], expiresAt: Date.now() + 100 };
  const { handler, reported } = handlerOf({ export: slow }, { authenticate: () => caller });
  const response = await send(handler, 'GET', '/v1/runs/r/export');
  await expect(response.text()).rejects.toThrow('the stream was cut');
  expect(reported).toEqual([]);
});

test('a wait for a result takes a place while it lasts', async () => {
  const { promise, resolve } = Promise.withResolvers<object>();
  const { handler } = handlerOf({ result: () => promise, status: async () => ({ status: 'running' }) });
  const waiting = send(handler, 'GET', '/v1/runs/r/result?wait=30s');
  await Promise.resolve();
  expect((await send(handler, 'GET', '/v1/runs/r/result?wait=30s')).status).toBe(429);
  // Who does not wait needs no place.
  expect((await send(handler, 'GET', '/v1/runs/r/result')).status).toBe(202);
  resolve({ status: 'completed' });
  expect((await waiting).status).toBe(200);
  expect((await send(handler, 'GET', '/v1/runs/r/result?wait=30s')).status).toBe(200);
});

test('an ask without a place is refused before its message is sent', async () => {
  const sent: string[] = [];
  const run = {
    stream: endless,
    send: async () => void sent.push('message'),
  };
  const { handler } = handlerOf(run);
  const open = await send(handler, 'GET', '/v1/runs/r/stream');
  const { status } = await send(handler, 'POST', '/v1/sessions/r/ask', { body: { content: 'Q' } });
  expect([status, sent]).toEqual([429, []]);
  await open.body?.cancel();
});

test.each([
  ['/v1/runs/r/stream', { stream: failing }],
  ['/v1/runs/r/export', { export: failing }],
])('a failure inside %s is reported once, with the path of its request', async (path, run) => {
  const { handler, reported } = handlerOf(run);
  const response = await send(handler, 'GET', path);
  await response.text().catch(() => undefined);
  expect(reported).toEqual([['the disk is full', path]]);
});

test('a reader that leaves, and a terminated run, are not failures of the service', async () => {
  async function* terminated(): AsyncGenerator<object> {
    yield { type: 'status', status: 'running', cursor: 'c' };
    throw new LonghaulError('run_terminated', 'Run "r" was terminated');
  }
  const { handler, reported } = handlerOf({ stream: terminated, export: endless });
  await (await send(handler, 'GET', '/v1/runs/r/stream')).text();
  await (await send(handler, 'GET', '/v1/runs/r/export')).body?.cancel();
  expect(reported).toEqual([]);
});

test.each([
  ['/v1/runs/r/stream', 'no-store, no-transform'],
  ['/v1/runs/r/export', 'no-store, no-transform'],
  ['/v1/runs/r', 'no-store'],
])('the cache-control of %s is "%s"', async (path, expected) => {
  const { handler } = handlerOf({ stream: endless, export: endless, status: async () => ({}) });
  const response = await send(handler, 'GET', path);
  expect(response.headers.get('cache-control')).toBe(expected);
  await response.body?.cancel();
});

test.each(['/v1/runs/r/stream', '/v1/sessions/r/stream'])('%s is an event stream that proxies do not hold back', async (path) => {
  const { handler } = handlerOf({ stream: endless });
  const { status, headers, body } = await send(handler, 'GET', path);
  expect([status, headers.get('content-type'), headers.get('x-accel-buffering')]).toEqual([200, 'text/event-stream; charset=utf-8', 'no']);
  await body?.cancel();
});
