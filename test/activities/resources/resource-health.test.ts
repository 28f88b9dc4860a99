import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { ResourcePool } from '../../../activities/resources/resource-pool.ts';
import { FakeResources, type Opened } from './fake-resources.ts';
import type { ResourceOptions } from '../../../src/define/resources.ts';

let fakes: FakeResources;
beforeEach(() => {
  vi.useFakeTimers();
  fakes = new FakeResources();
});
afterEach(() => vi.useRealTimers());

/** A pool with an open database whose health check is out of date. */
async function stale(more: Partial<ResourceOptions<Opened>> = {}): Promise<ResourcePool> {
  const pool = fakes.pool({ db: fakes.resource('db', more) });
  await pool.open();
  fakes.take();
  await vi.advanceTimersByTimeAsync(30_000);
  return pool;
}

test.each([
  ['by name', ['db']],
  ['without names', undefined],
])('a use %s checks each resource whose last check is old, once for all uses meanwhile', async (_, names) => {
  const pool = await stale();
  await Promise.all([pool.use(names), pool.use(names)]);
  await pool.use(names);
  expect(fakes.take()).toEqual(['check db 1']);
  await vi.advanceTimersByTimeAsync(30_000);
  await pool.use(names);
  expect(fakes.take()).toEqual(['check db 1']);
});

test('each resource has its own interval, and a resource without a health check is never checked', async () => {
  const pool = fakes.pool({ db: fakes.resource('db', { healthEvery: '1h' }), rest: { plain: true } });
  await pool.open();
  fakes.take();
  await vi.advanceTimersByTimeAsync(3_599_999);
  await pool.use();
  expect(fakes.take()).toEqual([]);
  await vi.advanceTimersByTimeAsync(1);
  await pool.use();
  expect(fakes.take()).toEqual(['check db 1']);
});

describe('an unhealthy resource is closed and opened again, once', () => {
  test.each<[string, Partial<ResourceOptions<Opened>>, string]>([
    ['that says false', { health: () => false }, 'its "health" says false'],
    ['that throws', { health: () => Promise.reject(new Error('gone, hunter2')) }, 'gone, [secret "password"]'],
    ['that does not answer in time', { health: () => new Promise(() => undefined), timeout: '1s' }, 'it took more than 1 s'],
  ])('%s', async (_, more, problem) => {
    const pool = await stale(more);
    const use = pool.use(['db']);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(await use).toEqual({ db: { id: 'db 2' } });
    expect(fakes.take()).toEqual(['close db 1', 'open db']);
    expect(fakes.logged).toEqual([`Resource "db" is unhealthy (${problem}): it is closed and opened again`]);
  });

  test('an object that a tool already holds is replaced by the new one', async () => {
    const pool = await stale();
    const held = await pool.use();
    await vi.advanceTimersByTimeAsync(30_000);
    fakes.unhealthy.add('db');
    await pool.use();
    expect(held).toEqual({ db: { id: 'db 2' } });
  });
});

describe('a resource that cannot be opened again', () => {
  async function lost(): Promise<ResourcePool> {
    const pool = await stale();
    fakes.unhealthy.add('db');
    fakes.failing.set('db', new Error('ECONNREFUSED'));
    return pool;
  }
  const message = 'Resource "db" of the worker cannot be opened: ECONNREFUSED';

  test('fails the uses that name it, and each use tries again', async () => {
    const pool = await lost();
    const names = ['db'];
    await expect(pool.use(names)).rejects.toMatchObject({ code: 'resource_unavailable', message });
    await expect(pool.use(names)).rejects.toMatchObject({ code: 'resource_unavailable', message });
    expect(fakes.take()).toEqual(['check db 1', 'close db 1', 'open db', 'open db']);
    fakes.failing.clear();
    expect(await pool.use(names)).toEqual({ db: { id: 'db 2' } });
  });

  test('fails other uses when they read it, and is retried after five seconds', async () => {
    const pool = await lost();
    const shared = await pool.use();
    expect(() => shared['db']).toThrow(message);
    await vi.advanceTimersByTimeAsync(4_999);
    await pool.use();
    expect(fakes.take()).toEqual(['check db 1', 'close db 1', 'open db']);
    fakes.failing.clear();
    await vi.advanceTimersByTimeAsync(1);
    expect(await pool.use()).toEqual({ db: { id: 'db 2' } });
  });
});

describe('the state of each resource', () => {
  test('is closed, open or failed, with the reason', async () => {
    const pool = fakes.pool({ db: fakes.resource('db'), web: fakes.resource('web', { lazy: true }), flags: {} });
    expect(await pool.health()).toEqual({ db: { state: 'closed' }, web: { state: 'closed' } });
    await pool.open();
    fakes.failing.set('web', new Error('no browser'));
    await expect(pool.use(['web'])).rejects.toThrow('no browser');
    expect(await pool.health()).toEqual({
      db: { state: 'open' },
      web: { state: 'failed', message: 'Resource "web" of the worker cannot be opened: no browser' },
    });
    await pool.close();
    expect(await pool.health()).toEqual({ db: { state: 'closed' }, web: { state: 'closed' } });
  });

  test('is updated by a request for it: open resources are checked, failed ones are retried, and no other is opened', async () => {
    const pool = fakes.pool({ db: fakes.resource('db'), web: fakes.resource('web', { lazy: true }) });
    await pool.open();
    fakes.unhealthy.add('db');
    fakes.failing.set('db', new Error('ECONNREFUSED'));
    fakes.take();
    expect(await pool.health()).toMatchObject({ db: { state: 'open' } });
    await vi.advanceTimersByTimeAsync(30_000);
    expect(await pool.health()).toMatchObject({ db: { state: 'failed' } });
    fakes.failing.clear();
    await vi.advanceTimersByTimeAsync(5_000);
    expect(await pool.health()).toMatchObject({ db: { state: 'open' } });
    expect(fakes.take()).toEqual(['check db 1', 'close db 1', 'open db', 'open db']);
  });
});
