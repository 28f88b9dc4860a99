import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type * as api from '../../studio/api.ts';
import type * as caller from '../../studio/caller.ts';

type CallerModule = typeof caller;
type ApiModule = typeof api;

interface Asked {
  path: string;
  signal: AbortSignal | undefined;
}

/** A service that answers when told to, and the page's side of it. */
interface World {
  caller: CallerModule;
  api: ApiModule;
  asked: Asked[];
  /** The paths that were asked for since the last look. */
  news: () => string[];
  /** While it is set, listings wait for it. */
  held: { until?: Promise<void> };
  /** Sends an item of the feed. */
  feed: (item: object) => void;
  /** True: the service takes no key. */
  refuses: boolean;
}

const ME = { id: 'ann', scopes: ['admin'], namespace: 'default', versions: { longhaul: '1' }, features: {} };
const json = (body: object, status = 200): Response => Response.json(body, { status });

async function opened(): Promise<World> {
  const store = new Map<string, string>();
  vi.stubGlobal('location', { pathname: '/studio' });
  vi.stubGlobal('sessionStorage', {
    getItem: (key: string) => store.get(key) ?? null,
    setItem: (key: string, value: string) => void store.set(key, value),
    removeItem: (key: string) => void store.delete(key),
  });
  vi.stubGlobal('document', Object.assign(new EventTarget(), { hidden: false }));
  let feed: ReadableStreamDefaultController<Uint8Array> | undefined;
  let seen = 0;
  const asked: Asked[] = [];
  const world: Omit<World, 'caller' | 'api'> = {
    asked,
    held: {},
    refuses: false,
    news: () => asked.slice(seen, (seen = asked.length)).map(({ path }) => path),
    feed: (item) => feed?.enqueue(new TextEncoder().encode(`id: 1\nevent: item\ndata: ${JSON.stringify(item)}\n\n`)),
  };
  vi.stubGlobal('fetch', async (path: string, { signal }: RequestInit) => {
    asked.push({ path, signal: signal ?? undefined });
    if (world.refuses) return json({ code: 'unauthenticated', detail: 'No' }, 401);
    if (path === '/v1/me') return json(ME);
    if (path === '/v1/feed') {
      const body = new ReadableStream<Uint8Array>({ start: (controller) => (feed = controller) });
      // As the service does, so that the stream is known to be there.
      const own = feed;
      const comments = setInterval(() => own?.enqueue(new TextEncoder().encode(': here\n\n')), 15_000);
      signal?.addEventListener('abort', () => {
        clearInterval(comments);
        own?.error(new Error('aborted'));
      });
      return new Response(body);
    }
    await world.held.until;
    signal?.throwIfAborted();
    if (path.startsWith('/v1/approvals')) return json({ approvals: [approval('r1')] });
    return json({ about: {}, pending: [approval(decodeURIComponent(path.split('/')[3] ?? ''))] });
  });
  vi.resetModules();
  const [caller, api] = await Promise.all([import('../../studio/caller.ts'), import('../../studio/api.ts')]);
  await begin(caller);
  return Object.assign(world, { caller, api });
}

/** Begins, and waits for the first listing. Without a feed's end, `begin` does not return. */
async function begin(caller: CallerModule): Promise<void> {
  void caller.begin();
  await vi.waitFor(() => {
    if (caller.waiting.peek() === undefined) throw new Error('Nothing was listed');
  });
}

function approval(runId: string): object {
  return { runId, callId: 'c', toolName: 'refund', digest: 'd', arguments: {}, requestedAt: '2026-11-01T00:00:00Z' };
}

const moved = (runId: string): object => ({ type: 'waiting', cursor: '1', run: { runId, waitingFor: ['refund'], startTime: '' } });
const ofRun = (runId: string): string => `/v1/runs/${runId}/approvals`;
const ALL = '/v1/approvals?limit=200';

beforeEach(() => void vi.useFakeTimers({ now: 1_900_000_000_000 }));
afterEach(() => void vi.useRealTimers());

test('once the key is taken away, nothing is known of the caller, and there are no more requests', async () => {
  const { caller, api, asked, news } = await opened();
  const forgotten = vi.fn<() => void>();
  caller.onEnd(forgotten);
  const [until, feed] = [caller.untilOther(), asked.find(({ path }) => path === '/v1/feed')];
  await caller.listDecided('r1', until);
  expect([caller.me.value?.id, caller.waiting.value?.length, feed?.signal?.aborted]).toEqual(['ann', 1, false]);
  news();

  api.takeKey(undefined, { keep: false });
  expect([caller.me.value, caller.meError.value, caller.waiting.value, caller.waitingError.value]).toEqual(
    Array.from({ length: 4 }, () => undefined),
  );
  expect([feed?.signal?.aborted, until.aborted, forgotten.mock.calls.length]).toEqual([true, true, 1]);
  // What the page still does with a decision that it has sent.
  await caller.listDecided('r1', until);
  await caller.listWaiting();
  await vi.advanceTimersByTimeAsync(600_000);
  expect([news(), caller.waiting.value]).toEqual([[], undefined]);

  // The next caller lists once, without queries for the previous one.
  api.takeKey('other', { keep: false });
  await begin(caller);
  await caller.listDecided('r1', until);
  await vi.advanceTimersByTimeAsync(9_000);
  expect(news()).toEqual(['/v1/me', ALL, '/v1/feed']);
  caller.end();
});

test('a service that no longer accepts the key ends all work for its caller', async () => {
  const world = await opened();
  world.refuses = true;
  await world.caller.listRun('r1');
  const { caller, asked } = world;
  expect(world.api.needsKey.value).toBe(true);
  expect([caller.me.value, caller.waiting.value, caller.waitingError.value]).toEqual([undefined, undefined, undefined]);
  expect(asked.find(({ path }) => path === '/v1/feed')?.signal?.aborted).toBe(true);
});

test('a run that begins to wait is queried soon and once again, and no more often', async () => {
  const { caller, news, feed } = await opened();
  await vi.advanceTimersByTimeAsync(1_000);
  news();
  feed(moved('r2'));
  await vi.advanceTimersByTimeAsync(600);
  expect(news()).toEqual([ofRun('r2')]);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(news()).toEqual([ofRun('r2')]);
  caller.end();
});

test('while a listing is in progress, changed runs join the next one, including repeated queries', async () => {
  const { caller, news, feed, held } = await opened();
  await vi.advanceTimersByTimeAsync(1_000);
  news();
  const release = Promise.withResolvers<void>();
  held.until = release.promise;
  feed({ type: 'gap', cursor: '1' });
  await vi.advanceTimersByTimeAsync(1_000);
  for (let second = 0; second < 8; second += 1) {
    for (let run = 0; run < 30; run += 1) feed(moved(`s${run}`));
    await vi.advanceTimersByTimeAsync(1_000);
  }
  expect(news()).toEqual([ALL]);
  void caller.listWaiting();
  void caller.listWaiting();
  release.resolve();
  await vi.advanceTimersByTimeAsync(400);
  // One listing serves the feed and the callers who have asked for it.
  expect(news()).toEqual([ALL]);
  await vi.advanceTimersByTimeAsync(2_000);
  expect(news()).toEqual([]);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(news()).toEqual([ALL]);
  caller.end();
});
