import { afterEach, expect, test, vi } from 'vitest';
import { type Caller, createHandler } from '../../../src/server/index.ts';
import { answer, clientWithRun, send } from '../requests.ts';

afterEach(() => void vi.useRealTimers());

/** Cancels a run as a caller, with a body that names another one. Returns the caller that the run records. */
async function recorded(caller: Partial<Caller>): Promise<unknown> {
  const cancel = vi.fn<(reason: string, by: object) => Promise<string>>(async () => 'requested');
  const handler = createHandler(clientWithRun({ cancel }), {
    authenticate: () => ({ id: 'key-7', principal: 'all', scopes: ['runs:write'], ...caller }),
  });
  await answer(handler, 'POST', '/v1/runs/r/cancel', { body: { reason: 'enough' } });
  return cancel.mock.calls[0]?.[1];
}

test('a run records the user that a caller acts for, or else the id of the caller', async () => {
  expect(await recorded({ principal: { tenant: 'acme', user: 'ada' } })).toEqual({ by: 'ada' });
  expect(await recorded({ principal: { tenant: 'acme' } })).toEqual({ by: 'key-7' });
  expect(await recorded({})).toEqual({ by: 'key-7' });
  expect(await recorded({ name: 'ops' })).toEqual({ by: 'ops (key-7)' });
  expect(await recorded({ name: 'ops', principal: { tenant: 'acme', user: 'ada' } })).toEqual({ by: 'ada' });
  expect(await recorded({ name: 'x'.repeat(300) })).toEqual({ by: `${'x'.repeat(150)} (key-7)` });
});

/** Starts a run with an idempotency key at a service that acts for a tenant itself. Returns the id of the run. */
async function startedFor(tenant: string | undefined): Promise<string> {
  const principal = tenant === undefined ? {} : { principal: { tenant } };
  const start = async (_agent: string, options: { runId: string }): Promise<object> => ({ runId: options.runId });
  const handler = createHandler(clientWithRun({}, { start, ...principal }), {
    authenticate: () => ({ id: 'key-7', principal: 'all', scopes: ['runs:write'] }),
  });
  const request = { body: { agent: 'clerk', input: 'Q' }, headers: { 'idempotency-key': 'order-1' } };
  return (await answer<{ runId: string }>(handler, 'POST', '/v1/runs', request)).body.runId;
}

test('services that act for different tenants derive different ids from the same key', async () => {
  const ids = [await startedFor('acme'), await startedFor('umbrella'), await startedFor(undefined)];
  expect(new Set(ids).size).toBe(3);
  expect(await startedFor('acme')).toBe(ids[0]);
});

test('a stream of a service that acts for a tenant continues when its credentials are verified again', async () => {
  vi.useFakeTimers();
  const signals: AbortSignal[] = [];
  const stream = async function* ({ signal }: { signal: AbortSignal }): AsyncGenerator<object> {
    signals.push(signal);
    yield { type: 'gap', cursor: 'c' };
    await new Promise((resolve) => signal.addEventListener('abort', resolve));
  };
  const authenticate = vi.fn<() => Caller>(() => ({ id: 'key-7', principal: 'all', scopes: ['runs:read'] }));
  const handler = createHandler(clientWithRun({ stream }, { principal: { tenant: 'acme' } }), { authenticate });
  const response = await send(handler, 'GET', '/v1/runs/r/stream');
  await vi.advanceTimersByTimeAsync(100_000);
  expect([authenticate.mock.calls.length, signals.map(({ aborted }) => aborted)]).toEqual([4, [false]]);
  await response.body?.cancel();
});

test('a caller takes no id that a step of a run with a derived id would have', async () => {
  const handler = createHandler(clientWithRun({}), { authenticate: () => ({ id: 'k', principal: 'all', scopes: ['runs:write'] }) });
  const derived = `run-${'0a'.repeat(20)}`;
  for (const runId of [derived, `${derived}/charge`, `chat-${'0a'.repeat(20)}/charge/2`]) {
    const refused = await answer(handler, 'POST', '/v1/runs', { body: { agent: 'clerk', input: 'Q', runId } });
    expect(refused).toMatchObject({ status: 422, body: { errors: [{ pointer: '#/runId' }] } });
  }
});
