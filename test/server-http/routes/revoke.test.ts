import { expect, test, vi } from 'vitest';
import type { RunHandle } from '../../../src/client/index.ts';
import { LonghaulError } from '../../../src/core/domain/errors.ts';
import { checkedHandler } from '../checked-handler.ts';
import { answer, clientWithRun } from '../requests.ts';

test('a remembered decision is ended by its id, by callers who may decide', async () => {
  const revoke = vi.fn<RunHandle['revoke']>(async (id) => ({ version: 1, revoked: id === 'd/1' }));
  const client = clientWithRun({ revoke });
  const path = '/v1/runs/r/remembered/';
  const handler = await checkedHandler(client, { authenticate: () => ({ id: 'ops', principal: 'all', scopes: ['approvals:decide'] }) });
  expect(await answer<object>(handler, 'DELETE', `${path}d%2F1`)).toMatchObject({ status: 200, body: { version: 1, revoked: true } });
  expect(await answer<object>(handler, 'DELETE', `${path}other`)).toMatchObject({ status: 200, body: { version: 1, revoked: false } });
  const writer = await checkedHandler(client, { authenticate: () => ({ id: 'w', principal: 'all', scopes: ['runs:read', 'runs:write'] }) });
  expect((await answer(writer, 'DELETE', `${path}d%2F1`)).status).toBe(403);
  expect(revoke.mock.calls).toEqual([['d/1'], ['other']]);
});

test('a run that has ended keeps its remembered decisions', async () => {
  const revoke = async (): Promise<never> => {
    throw new LonghaulError('run_ended', 'Run "r" has ended');
  };
  const handler = await checkedHandler(clientWithRun({ revoke }));
  expect(await answer(handler, 'DELETE', '/v1/runs/r/remembered/d')).toMatchObject({ status: 409, body: { code: 'run_ended' } });
});
