import { expect, test } from 'vitest';
import type { LonghaulClient } from '../../src/client/index.ts';
import { LonghaulError } from '../../src/core/domain/errors.ts';
import { createHandler, type Handler } from '../../src/server/index.ts';
import type { Caller } from '../../src/server/index.ts';
import { answer, clientWithRun } from './requests.ts';

/** A service whose timelines take until they are released, and have a number that grows with each reading. */
function slowService(): { handler: Handler; read: () => number; release: () => void; fail: (error: Error) => void } {
  let reads = 0;
  let waiting = Promise.withResolvers<void>();
  const timeline = async ({ from = 0 }: { from?: number }): Promise<object> => {
    reads += 1;
    const own = reads;
    await waiting.promise;
    return { runId: 'r', from, spans: [], ms: { own } };
  };
  const next = (): typeof waiting => {
    const before = waiting;
    waiting = Promise.withResolvers<void>();
    waiting.promise.catch(() => undefined);
    return before;
  };
  return {
    handler: createHandler(clientWithRun({ timeline }), { limits: false }),
    read: () => reads,
    release: () => next().resolve(),
    fail: (error) => next().reject(error),
  };
}

const turn = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 5));
const ask = (handler: Handler, query = ''): Promise<{ status: number; body: { ms: { own: number }; code?: string } }> =>
  answer(handler, 'GET', `/v1/runs/r/timeline${query}`);

test('many simultaneous readers of a run are answered by two reads: the one in progress, and one that began after their requests', async () => {
  const { handler, read, release } = slowService();
  const first = ask(handler);
  await turn();
  const others = Array.from({ length: 19 }, () => ask(handler));
  await turn();
  expect(read()).toBe(1);
  release();
  expect((await first).body.ms.own).toBe(1);
  await turn();
  // Who asks now does not get the answer that is being made: something may have happened since it was begun.
  const late = ask(handler);
  await turn();
  expect(read()).toBe(2);
  release();
  expect((await Promise.all(others)).map(({ body }) => body.ms.own)).toEqual(Array(19).fill(2));
  await turn();
  release();
  expect((await late).body.ms.own).toBe(3);
  await turn();
  const alone = ask(handler);
  await turn();
  release();
  expect((await alone).body.ms.own).toBe(4);
});

test('another question is another answer', async () => {
  const { handler, read, release } = slowService();
  const both = [ask(handler), ask(handler, '?from=7')];
  await turn();
  expect(read()).toBe(2);
  release();
  expect((await Promise.all(both)).map(({ status }) => status)).toEqual([200, 200]);
});

test('a failure goes to the callers who were waiting, and the next ones get a new answer', async () => {
  const { handler, release, fail } = slowService();
  const first = ask(handler);
  await turn();
  const second = ask(handler);
  await turn();
  fail(new LonghaulError('history_removed', 'gone'));
  expect((await first).body.code).toBe('history_removed');
  await turn();
  release();
  expect((await second).status).toBe(200);
});

/**
 * A service with several callers, whose timelines name the caller that they were read for. A request's credentials are its caller's name.
 */
function serviceOf(callers: Record<string, Omit<Caller, 'id'>>): { handler: Handler; read: string[]; release: () => void } {
  const read: string[] = [];
  const released = Promise.withResolvers<void>();
  const clientOf = (owner: string): LonghaulClient => {
    const timeline = async (): Promise<object> => {
      read.push(owner);
      await released.promise;
      return { runId: 'r', from: 0, spans: [], ms: { owner } };
    };
    return clientWithRun({ timeline }, { as: (principal: object) => clientOf(JSON.stringify(principal)) });
  };
  const authenticate = (request: Request): Caller | undefined => {
    const id = request.headers.get('authorization')?.replace('Bearer ', '') ?? '';
    const caller = callers[id];
    return caller && { id, ...caller };
  };
  return { handler: createHandler(clientOf('all'), { authenticate, limits: false }), read, release: () => released.resolve() };
}

test('callers with another principal, or with other claims, never get the answer that was made for somebody else', async () => {
  const scopes = ['runs:read' as const];
  const { handler, read, release } = serviceOf({
    ada: { scopes, principal: { tenant: 'a' } },
    alsoAda: { scopes, principal: { tenant: 'a' } },
    bob: { scopes, principal: { tenant: 'b' } },
    user: { scopes, principal: { user: 'a' } },
    claims: { scopes, principal: { tenant: 'a', claims: { team: 'x' } } },
    operator: { principal: 'all', scopes },
  });
  const names = ['ada', 'alsoAda', 'bob', 'user', 'claims', 'operator'];
  const all = names.map((name) =>
    answer<{ ms: { owner: string } }>(handler, 'GET', '/v1/runs/r/timeline', { headers: { authorization: `Bearer ${name}` } }),
  );
  await turn();
  release();
  const owners = (await Promise.all(all)).map(({ body }) => body.ms.owner);
  const [ada, bob, user] = [{ tenant: 'a' }, { tenant: 'b' }, { user: 'a' }].map((principal) => JSON.stringify(principal));
  expect(owners).toEqual([ada, ada, bob, user, JSON.stringify({ tenant: 'a', claims: { team: 'x' } }), 'all']);
  // The two that act for the same principal get the answer in progress and the next one.
  expect(read.filter((owner) => owner === ada)).toHaveLength(2);
});

test('an answer in progress is not shared with a caller without the right to it, or with a token for another run', async () => {
  const principal = { tenant: 'a' };
  const { handler, read, release } = serviceOf({
    reader: { scopes: ['runs:read'], principal },
    starter: { scopes: ['runs:write'], principal },
    other: { scopes: ['runs:read'], principal, runId: 'another' },
  });
  const asked = (name: string): Promise<{ status: number }> =>
    answer(handler, 'GET', '/v1/runs/r/timeline', { headers: { authorization: `Bearer ${name}` } });
  const first = asked('reader');
  await turn();
  expect([(await asked('starter')).status, (await asked('other')).status, (await asked('nobody')).status]).toEqual([403, 404, 401]);
  release();
  expect((await first).status).toBe(200);
  expect(read).toHaveLength(1);
});
