import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type * as api from '../../studio/api.ts';

/** What the page has sent: the idempotency key and the credentials. */
interface Sent {
  key: string | null;
  authorization: string | null;
}

const { crypto: whole } = globalThis;

let sent: Sent[] = [];
/** Answers the next request. */
let answer: () => Promise<Response>;

async function opened(): Promise<typeof api> {
  vi.stubGlobal('location', { pathname: '/studio' });
  vi.stubGlobal('sessionStorage', { getItem: () => null, setItem: () => undefined, removeItem: () => undefined });
  vi.stubGlobal('fetch', (_path: string, { headers }: { headers: Headers }) => {
    sent.push({ key: headers.get('idempotency-key'), authorization: headers.get('authorization') });
    return answer();
  });
  vi.resetModules();
  return import('../../studio/api.ts');
}

beforeEach(() => {
  sent = [];
  answer = async () => Response.json({});
});

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

const message = { params: { runId: 'r' }, body: { content: 'Please hurry' } };

test('a change whose answer is lost takes effect once if its reader resends it', async () => {
  const { ask } = await opened();
  answer = () => Promise.reject(new TypeError('network'));
  await ask('POST /v1/runs/{runId}/messages', message).catch(() => undefined);
  answer = async () => Response.json({ code: 'internal', detail: 'Later' }, { status: 503 });
  await ask('POST /v1/runs/{runId}/messages', message).catch(() => undefined);
  answer = async () => Response.json({});
  await ask('POST /v1/runs/{runId}/messages', { ...message, body: { content: 'Another one' } });
  await ask('POST /v1/runs/{runId}/messages', message);
  const [first, second, other, third] = sent.map(({ key }) => key);
  expect([second, third]).toEqual([first, first]);
  expect(other).not.toBe(first);
  // An answered request is over: the same words again are another message.
  await ask('POST /v1/runs/{runId}/messages', message);
  expect(sent.at(-1)?.key).not.toBe(first);
});

test('a change whose answer is cut after its headers takes effect once if its reader resends it', async () => {
  const { ask } = await opened();
  const cut = new ReadableStream({ pull: (controller) => controller.error(new TypeError('network')) });
  answer = async () => new Response(cut);
  await ask('POST /v1/runs/{runId}/messages', message).catch(() => undefined);
  answer = async () => Response.json({});
  await ask('POST /v1/runs/{runId}/messages', message);
  expect(sent[1]?.key).toBe(sent[0]?.key);
});

test('the same words long after an answer was lost are another message, however long the answer took to be lost', async () => {
  vi.useFakeTimers();
  const { ask } = await opened();
  const lost = Promise.withResolvers<Response>();
  answer = () => lost.promise;
  const asking = ask('POST /v1/runs/{runId}/messages', message).catch(() => undefined);
  vi.advanceTimersByTime(100_000);
  lost.reject(new TypeError('network'));
  await asking;
  vi.advanceTimersByTime(10_000);
  await ask('POST /v1/runs/{runId}/messages', message).catch(() => undefined);
  vi.advanceTimersByTime(3_600_000);
  answer = async () => Response.json({});
  await ask('POST /v1/runs/{runId}/messages', message);
  const [first, second, third] = sent.map(({ key }) => key);
  expect(second).toBe(first);
  expect(third).not.toBe(first);
});

test('a setting of a run can be set again after another one, also if the first answer was lost', async () => {
  const { ask } = await opened();
  const params = { runId: 'r' };
  const lose = (): Promise<Response> => Promise.reject(new TypeError('network'));
  const take = async (): Promise<Response> => Response.json({});
  const limits = (steps: number): Promise<unknown> =>
    ask('POST /v1/runs/{runId}/limits', { params, body: { limits: { steps } } }).catch(() => undefined);
  const pause = (): Promise<unknown> => ask('POST /v1/runs/{runId}/pause', { params, body: {} }).catch(() => undefined);
  const resume = (): Promise<unknown> => ask('POST /v1/runs/{runId}/resume', { params, body: {} });
  const say = (): Promise<unknown> => ask('POST /v1/runs/{runId}/messages', message).catch(() => undefined);
  answer = lose;
  await limits(10);
  await pause();
  await say();
  answer = take;
  await limits(20);
  await limits(10);
  await resume();
  await pause();
  await say();
  const [ten, paused, said, , tenAgain, , pausedAgain, saidAgain] = sent.map(({ key }) => key);
  expect(tenAgain).not.toBe(ten);
  expect(pausedAgain).not.toBe(paused);
  // It overtakes nothing: sent again, it is the same message.
  expect(saidAgain).toBe(said);
});

test('a refused change is another one when it is resent', async () => {
  const { ask } = await opened();
  answer = async () => Response.json({ code: 'run_ended', detail: 'No' }, { status: 409 });
  for (let times = 0; times < 2; times += 1) await ask('POST /v1/runs/{runId}/messages', message).catch(() => undefined);
  expect(sent[0]?.key).not.toBe(sent[1]?.key);
});

test('a page that came without encryption from another machine sends changes, too', async () => {
  const { ask } = await opened();
  // `randomUUID` and `subtle` are not there.
  vi.stubGlobal('crypto', { getRandomValues: (bytes: Uint8Array<ArrayBuffer>) => whole.getRandomValues(bytes) });
  await ask('POST /v1/runs/{runId}/messages', message);
  expect(sent[0]?.key).toMatch(/^[\w-]{43}$/);
});

test('the refusal of a key that its reader has changed meanwhile says nothing about the new one', async () => {
  const { ask, needsKey, takeKey } = await opened();
  takeKey('old', { keep: false });
  const late = Promise.withResolvers<Response>();
  answer = () => late.promise;
  const asking = ask('GET /v1/runs', {}).catch(() => undefined);
  takeKey('new', { keep: false });
  late.resolve(Response.json({ code: 'unauthenticated', detail: 'No' }, { status: 401 }));
  await asking;
  expect(needsKey.value).toBe(false);
  answer = async () => Response.json({ code: 'unauthenticated', detail: 'No' }, { status: 401 });
  await ask('GET /v1/runs', {}).catch(() => undefined);
  expect([needsKey.value, sent.map(({ authorization }) => authorization)]).toEqual([true, ['Bearer old', 'Bearer new']]);
});

test('a silent stream is reopened after its cursor, and its reader is notified if it stays silent', async () => {
  vi.useFakeTimers();
  const { follow, connection } = await opened();
  const cursors: (string | null)[] = [];
  let says = ['id: 7\nevent: status\ndata: {"type":"status","status":"running"}\n\n', ': still here\n\n'];
  let isOver = false;
  vi.stubGlobal('fetch', async (_path: string, { headers }: { headers: Headers }) => {
    cursors.push(headers.get('last-event-id'));
    if (isOver) return new Response(null, { status: 204 });
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        for (const [index, text] of says.entries()) setTimeout(() => controller.enqueue(new TextEncoder().encode(text)), 40_000 * index);
      },
    });
    return new Response(body);
  });
  const taken: object[] = [];
  const following = follow('GET /v1/runs/{runId}/stream', { params: { runId: 'r' } }, (items) => taken.push(...items));
  // The comment says that the stream is still there.
  await vi.advanceTimersByTimeAsync(80_000);
  expect(cursors).toEqual([null]);
  says = [];
  await vi.advanceTimersByTimeAsync(10_000);
  expect([cursors, connection.value]).toEqual([[null, '7'], '']);
  await vi.advanceTimersByTimeAsync(46_000);
  expect(connection.value).toBe('lost');
  isOver = true;
  await vi.advanceTimersByTimeAsync(60_000);
  await following;
  expect([cursors.length > 2, ...new Set(cursors)]).toEqual([true, null, '7']);
  expect(taken).toEqual([{ type: 'status', status: 'running' }]);
});
