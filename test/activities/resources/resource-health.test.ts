import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { ResourcePool } from '../../../activities/resources/resource-pool.ts';
import { Happenings, type Opened } from './pooled.ts';
import type { ResourceOptions } from '../../../src/define/resource.ts';

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

/** A pool with a database that is open, and whose check holds no more. */
async function stale(seen: Happenings, more: Partial<ResourceOptions<Opened>> = {}): Promise<ResourcePool> {
  const pool = seen.pool({ db: seen.resource('db', more) });
  await pool.open();
  seen.take();
  await vi.advanceTimersByTimeAsync(30_000);
  return pool;
}

test.each([
  ['by name', ['db']],
  ['without names', undefined],
])('a use %s checks what was not checked for long, once for all that come meanwhile', async (_, names) => {
  const seen = new Happenings();
  const pool = await stale(seen);
  await Promise.all([pool.use(names), pool.use(names)]);
  await pool.use(names);
  expect(seen.take()).toEqual(['check db 1']);
  await vi.advanceTimersByTimeAsync(30_000);
  await pool.use(names);
  expect(seen.take()).toEqual(['check db 1']);
});

test("the interval of checks is the resource's, and one without health is never checked", async () => {
  const seen = new Happenings();
  const pool = seen.pool({ db: seen.resource('db', { healthEvery: '1h' }), rest: { plain: true } });
  await pool.open();
  seen.take();
  await vi.advanceTimersByTimeAsync(3_599_999);
  await pool.use();
  expect(seen.take()).toEqual([]);
  await vi.advanceTimersByTimeAsync(1);
  await pool.use();
  expect(seen.take()).toEqual(['check db 1']);
});

describe('one that is unhealthy is closed and opened again, once', () => {
  test.each<[string, Partial<ResourceOptions<Opened>>, string]>([
    ['that says false', { health: () => false }, 'its "health" says false'],
    ['that throws', { health: () => Promise.reject(new Error('gone, hunter2')) }, 'gone, [secret "password"]'],
    ['that does not answer in time', { health: () => new Promise(() => undefined), timeout: '1s' }, 'it took more than 1 s'],
  ])('%s', async (_, more, problem) => {
    const seen = new Happenings();
    const pool = await stale(seen, more);
    const use = pool.use(['db']);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(await use).toEqual({ db: { id: 'db 2' } });
    expect(seen.take()).toEqual(['close db 1', 'open db']);
    expect(seen.logged).toEqual([`Resource "db" is unhealthy (${problem}): it is closed and opened again`]);
  });

  test('what a tool holds already becomes the new one', async () => {
    const seen = new Happenings();
    const pool = await stale(seen);
    const held = await pool.use();
    await vi.advanceTimersByTimeAsync(30_000);
    seen.unhealthy.add('db');
    await pool.use();
    expect(held).toEqual({ db: { id: 'db 2' } });
  });
});

describe('one that cannot be opened again', () => {
  async function lost(seen: Happenings): Promise<ResourcePool> {
    const pool = await stale(seen);
    seen.unhealthy.add('db');
    seen.failing.set('db', new Error('ECONNREFUSED'));
    return pool;
  }
  const message = 'Resource "db" of the worker cannot be opened: ECONNREFUSED';

  test('fails the use of those that name it, each of which tries again', async () => {
    const seen = new Happenings();
    const pool = await lost(seen);
    const names = ['db'];
    await expect(pool.use(names)).rejects.toMatchObject({ code: 'resource_unavailable', message });
    await expect(pool.use(names)).rejects.toMatchObject({ code: 'resource_unavailable', message });
    expect(seen.take()).toEqual(['check db 1', 'close db 1', 'open db', 'open db']);
    seen.failing.clear();
    expect(await pool.use(names)).toEqual({ db: { id: 'db 2' } });
  });

  test('fails the others where they read it, who try again after five seconds', async () => {
    const seen = new Happenings();
    const pool = await lost(seen);
    const shared = await pool.use();
    expect(() => shared['db']).toThrow(message);
    await vi.advanceTimersByTimeAsync(4_999);
    await pool.use();
    expect(seen.take()).toEqual(['check db 1', 'close db 1', 'open db']);
    seen.failing.clear();
    await vi.advanceTimersByTimeAsync(1);
    expect(await pool.use()).toEqual({ db: { id: 'db 2' } });
  });
});

describe('the state of each', () => {
  test('is closed, open or failed, and a failure says why', async () => {
    const seen = new Happenings();
    const pool = seen.pool({ db: seen.resource('db'), web: seen.resource('web', { lazy: true }), flags: {} });
    expect(await pool.health()).toEqual({ db: { state: 'closed' }, web: { state: 'closed' } });
    await pool.open();
    seen.failing.set('web', new Error('no browser'));
    await expect(pool.use(['web'])).rejects.toThrow('no browser');
    expect(await pool.health()).toEqual({
      db: { state: 'open' },
      web: { state: 'failed', message: 'Resource "web" of the worker cannot be opened: no browser' },
    });
    await pool.close();
    expect(await pool.health()).toEqual({ db: { state: 'closed' }, web: { state: 'closed' } });
  });

  test('is looked after by whoever asks: what is open is checked, what has failed is tried again, nothing else is opened', async () => {
    const seen = new Happenings();
    const pool = seen.pool({ db: seen.resource('db'), web: seen.resource('web', { lazy: true }) });
    await pool.open();
    seen.unhealthy.add('db');
    seen.failing.set('db', new Error('ECONNREFUSED'));
    seen.take();
    expect(await pool.health()).toMatchObject({ db: { state: 'open' } });
    await vi.advanceTimersByTimeAsync(30_000);
    expect(await pool.health()).toMatchObject({ db: { state: 'failed' } });
    seen.failing.clear();
    await vi.advanceTimersByTimeAsync(5_000);
    expect(await pool.health()).toMatchObject({ db: { state: 'open' } });
    expect(seen.take()).toEqual(['check db 1', 'close db 1', 'open db', 'open db']);
  });
});
