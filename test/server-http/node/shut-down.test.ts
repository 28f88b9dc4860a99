import { EventSource } from 'eventsource';
import { expect, test } from 'vitest';
import { createHandler } from '../../../src/server/index.ts';
import { type HttpServer, listen, shutDown } from '../../../src/server/node-server.ts';
import { clientWithRun } from '../requests.ts';

/** A run whose stream continues to count after its cursor, until its reader leaves. */
async function* counting({ cursor, signal }: { cursor?: string; signal?: AbortSignal }): AsyncGenerator<object> {
  for (let count = Number(cursor ?? 0) + 1; ; count += 1) {
    await new Promise((resolve) => setTimeout(resolve, 5));
    signal?.throwIfAborted();
    yield { type: 'status', status: 'running', cursor: String(count) };
  }
}

interface Instance {
  server: HttpServer;
  draining: AbortController;
  closing: AbortController;
  url: string;
}

/** Starts an instance of a service that streams the run. */
async function instance(port = 0, methods: object = {}): Promise<Instance> {
  const [draining, closing] = [new AbortController(), new AbortController()];
  const client = clientWithRun({ stream: counting, ...methods }, { checkStreams: async () => undefined });
  const handler = createHandler(client, { draining: draining.signal, closing: closing.signal });
  const server = await listen(handler, { host: '127.0.0.1', port });
  return { server, draining, closing, url: server.url };
}

/** A page that follows the run, with everything that it meets. */
function follow(url: string): { source: EventSource; ids: number[]; cuts: () => number } {
  const source = new EventSource(`${url}/v1/runs/r/stream`);
  const ids: number[] = [];
  let cuts = 0;
  source.addEventListener('status', ({ lastEventId }) => ids.push(Number(lastEventId)));
  source.addEventListener('error', () => (cuts += 1));
  return { source, ids, cuts: () => cuts };
}

async function readiness(url: string): Promise<string> {
  return fetch(`${url}/readyz`).then(
    async (response) => ((await response.json()) as { status: string }).status,
    () => 'refused',
  );
}

test('a draining service is not ready, but keeps streaming, also to new readers; then it accepts nobody, and cuts connections', async () => {
  const { url, ...service } = await instance();
  const early = follow(url);
  await expect.poll(() => early.ids.length).toBeGreaterThan(0);
  let drained = false;
  const down = shutDown({ ...service, drainMs: 700, graceMs: 60_000 }).then(() => (drained = true));
  expect(await readiness(url)).toBe('shutting_down');
  const late = follow(url);
  const before = early.ids.length;
  await expect.poll(() => Math.min(late.ids.length, early.ids.length - before)).toBeGreaterThan(10);
  expect([drained, early.cuts(), late.cuts()]).toEqual([false, 0, 0]);
  await down;
  expect(await readiness(url)).toBe('refused');
  await expect.poll(() => [early.cuts(), late.cuts()]).toEqual([1, 1]);
  early.source.close();
  late.source.close();
});

test('a reader that is cut off continues at the next instance, exactly after what it has got', async () => {
  const first = await instance();
  const { source, ids } = follow(first.url);
  await expect.poll(() => ids.length).toBeGreaterThan(0);
  await shutDown({ ...first, drainMs: 0, graceMs: 60_000 });
  const got = ids.length;
  const second = await instance(Number(new URL(first.url).port));
  await expect.poll(() => ids.length, { timeout: 5_000 }).toBeGreaterThan(got + 3);
  source.close();
  expect(ids).toEqual(ids.map((_, index) => index + 1));
  await shutDown({ ...second, drainMs: 0, graceMs: 60_000 });
});

test('a waiting request keeps waiting while the service drains, and is answered once the service accepts nobody', async () => {
  let began = (): void => undefined;
  const waiting = new Promise<void>((resolve) => {
    began = resolve;
  });
  const result = async ({ signal }: { signal: AbortSignal }): Promise<never> => {
    began();
    return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)));
  };
  const { url, ...service } = await instance(0, { result, status: async () => ({ status: 'running' }) });
  let status = 0;
  const answered = fetch(`${url}/v1/runs/r/result?wait=60s`).then((response) => (status = response.status));
  await waiting;
  const down = shutDown({ ...service, drainMs: 100, graceMs: 60_000 });
  expect([await readiness(url), status]).toEqual(['shutting_down', 0]);
  await Promise.all([down, answered]);
  expect(status).toBe(202);
});
