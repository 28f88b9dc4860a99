import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { FakeResources } from './fake-resources.ts';

let fakes: FakeResources;
beforeEach(() => {
  vi.useFakeTimers();
  fakes = new FakeResources();
});
afterEach(() => vi.useRealTimers());

/** How long a health check is valid. */
const HELD = 30_000;

test('resources that are not lazy are opened in order before the worker polls, and closed in reverse order after it has drained', async () => {
  const pool = fakes.pool({
    db: fakes.resource('db'),
    flags: { beta: true },
    web: fakes.resource('web', { lazy: true }),
    mail: fakes.resource('mail'),
  });
  await pool.open();
  expect(fakes.take()).toEqual(['open db', 'open mail']);
  await pool.close();
  expect(fakes.take()).toEqual(['close mail 1', 'close db 1']);
});

test('opening gets secrets, and a signal that is aborted after the time limit', async () => {
  let signal: AbortSignal | undefined;
  const pool = fakes.pool({
    db: fakes.resource('db', { open: async ({ secret }) => ({ id: await secret('db-password') }) }),
    slow: fakes.resource('slow', {
      open: (context) => ((signal = context.signal), new Promise(() => undefined)),
      timeout: '2s',
      lazy: true,
    }),
  });
  await pool.open();
  expect(await pool.use(['db'])).toEqual({ db: { id: 'the value of db-password' } });
  const failure = pool.use(['slow']).catch((thrown: unknown) => thrown);
  expect(signal?.aborted).toBe(false);
  await vi.advanceTimersByTimeAsync(2_000);
  expect(await failure).toMatchObject({
    code: 'resource_unavailable',
    message: 'Resource "slow" of the worker cannot be opened: it took more than 2 s',
  });
  expect(signal?.aborted).toBe(true);
});

test('an object that is opened after the time limit is closed', async () => {
  let give = (_: { id: string }): void => undefined;
  const late = new Promise<{ id: string }>((resolve) => (give = resolve));
  const pool = fakes.pool({ slow: fakes.resource('slow', { open: () => late, timeout: '2s', lazy: true }) });
  await pool.open();
  const failure = pool.use(['slow']).catch((thrown: unknown) => thrown);
  await vi.advanceTimersByTimeAsync(2_000);
  expect(await failure).toMatchObject({ code: 'resource_unavailable' });
  give({ id: 'late' });
  await vi.advanceTimersByTimeAsync(0);
  expect(fakes.take()).toEqual(['close late']);
});

test('a resource that cannot be opened keeps the worker from starting: the error names it, and the resources before it are closed', async () => {
  fakes.failing.set('web', new Error('connect ECONNREFUSED postgres://me:hunter2@db'));
  const pool = fakes.pool({
    db: fakes.resource('db'),
    mail: fakes.resource('mail'),
    web: fakes.resource('web'),
    last: fakes.resource('last'),
  });
  const error = await pool.open().catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({
    code: 'resource_unavailable',
    message:
      'Resource "web" of the worker cannot be opened: connect ECONNREFUSED postgres://me:[secret "password"]@db. ' +
      'The worker does not start without it: check what its "open" needs, or make it lazy',
  });
  const { cause } = error as { cause: Error };
  expect(cause.message).toBe('connect ECONNREFUSED postgres://me:[secret "password"]@db');
  expect(cause.stack).toContain('resource-pool.test.ts');
  expect(cause.stack).not.toContain('hunter2');
  expect(fakes.take()).toEqual(['open db', 'open mail', 'open web', 'close mail 1', 'close db 1']);
});

describe('a tool sees', () => {
  test('all plain and all non-lazy resources if it names none, and otherwise those that it names', async () => {
    const flags = { beta: true };
    const pool = fakes.pool({ db: fakes.resource('db'), flags, web: fakes.resource('web', { lazy: true }) });
    await pool.open();
    const shared = await pool.use();
    expect(shared).toEqual({ db: { id: 'db 1' }, flags });
    expect(shared['flags']).toBe(flags);
    expect(await pool.use(['web', 'flags'])).toEqual({ web: { id: 'web 1' }, flags });
    expect(fakes.take()).toEqual(['open db', 'open web']);
  });

  test('an error if it reads a lazy resource, or a resource that it does not name', async () => {
    const pool = fakes.pool({ db: fakes.resource('db'), web: fakes.resource('web', { lazy: true }) });
    await pool.open();
    const shared = await pool.use();
    expect(() => shared['web']).toThrow(
      'Resource "web" of the worker is lazy: it is opened for tools that name it. Write "web" into "resources" of the tool',
    );
    const named = await pool.use(['web']);
    expect(() => named['db']).toThrow(
      'Resource "db" of the worker is not among those that the tool names. Write "db" into "resources" of the tool',
    );
    expect(named['nothing']).toBeUndefined();
  });

  test('resources whose names are also members of every object', async () => {
    const given = Object.fromEntries([['__proto__', { polluted: true }]]);
    const shared = await fakes.pool(given).use();
    expect(Object.getOwnPropertyNames(shared)).toEqual(['__proto__']);
    expect(shared['polluted']).toBeUndefined();
  });

  test('the same object in each use, without a check, while all resources are open and recently checked', async () => {
    const pool = fakes.pool({ db: fakes.resource('db') });
    await pool.open();
    const names = ['db'];
    const [shared, named] = [await pool.use(), await pool.use(names)];
    await vi.advanceTimersByTimeAsync(HELD - 1);
    fakes.take();
    expect(pool.use()).toBe(pool.use());
    expect(await pool.use()).toBe(shared);
    expect(await pool.use(names)).toBe(named);
    expect(fakes.take()).toEqual([]);
  });
});

describe('a lazy resource', () => {
  test('is opened once for all uses at the same time, and closed with the others', async () => {
    const pool = fakes.pool({ db: fakes.resource('db'), web: fakes.resource('web', { lazy: true }) });
    await pool.open();
    const uses = await Promise.all([pool.use(['web']), pool.use(['web', 'db']), pool.use(['web'])]);
    expect(uses.map((one) => one['web'])).toEqual([{ id: 'web 1' }, { id: 'web 1' }, { id: 'web 1' }]);
    await pool.close();
    expect(fakes.take()).toEqual(['open db', 'open web', 'close web 1', 'close db 1']);
  });

  test('that could not be opened is retried by the next use', async () => {
    fakes.failing.set('web', new Error('no browser'));
    const pool = fakes.pool({ web: fakes.resource('web', { lazy: true }) });
    await pool.open();
    await expect(pool.use(['web'])).rejects.toMatchObject({
      code: 'resource_unavailable',
      message: 'Resource "web" of the worker cannot be opened: no browser',
    });
    fakes.failing.clear();
    expect(await pool.use(['web'])).toEqual({ web: { id: 'web 1' } });
  });
});

describe('closing', () => {
  test('continues after a resource that fails or takes too long, which is logged', async () => {
    const pool = fakes.pool({
      db: fakes.resource('db'),
      stuck: fakes.resource('stuck', { close: () => new Promise(() => undefined), timeout: '3s' }),
      mail: fakes.resource('mail', { close: () => Promise.reject(new Error('no goodbye for hunter2')) }),
    });
    await pool.open();
    const closing = pool.close();
    await vi.advanceTimersByTimeAsync(3_000);
    await closing;
    expect(fakes.logged).toEqual([
      'Resource "mail" has not closed: no goodbye for [secret "password"]',
      'Resource "stuck" has not closed: it took more than 3 s',
    ]);
    expect(fakes.take()).toContain('close db 1');
  });

  test('happens when the last worker closes the pool, and the pool can be opened again', async () => {
    const pool = fakes.pool({ db: fakes.resource('db') });
    await Promise.all([pool.open(), pool.open()]);
    await pool.close();
    expect(fakes.take()).toEqual(['open db']);
    await pool.close();
    await pool.close();
    await pool.open();
    expect(fakes.take()).toEqual(['close db 1', 'open db']);
    expect(await pool.use()).toEqual({ db: { id: 'db 2' } });
  });

  test('ends an opening in progress, and a later use fails because the worker does not run', async () => {
    let reason: unknown;
    const pool = fakes.pool({
      slow: fakes.resource('slow', {
        open: ({ signal }) => new Promise((_, reject) => signal.addEventListener('abort', () => reject((reason = signal.reason)))),
        lazy: true,
      }),
    });
    await pool.open();
    const failure = pool.use(['slow']).catch((thrown: unknown) => thrown);
    await pool.close();
    expect(await failure).toMatchObject({ message: 'Resource "slow" of the worker cannot be opened: the worker is closing its resources' });
    expect(reason).toMatchObject({ message: 'the worker is closing its resources' });
    await expect(pool.use(['slow'])).rejects.toMatchObject({
      code: 'resource_unavailable',
      message: 'Resource "slow" of the worker is not open: the worker does not run, or is about to open it again',
    });
  });
});

test('an unknown name is refused, and the error lists the names of the worker', () => {
  const pool = fakes.pool({ db: fakes.resource('db'), flags: {} });
  expect(() => pool.require('tool "pay"', ['flags', 'ledger'])).toThrow(
    'tool "pay" needs the resource "ledger", but the worker has no resource of that name (it has: "db", "flags"): add it to "resources"',
  );
  expect(() => fakes.pool({}).require('tool "pay"', ['db'])).toThrow('(it has: none)');
  expect(() => pool.require('tool "pay"', ['flags'])).not.toThrow();
});
