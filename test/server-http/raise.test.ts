import { expect, test } from 'vitest';
import { createHandler, type Scope } from '../../src/server/index.ts';
import { answer, clientWithRun } from './requests.ts';

const LIMITS = { steps: 10, finalAttempt: false };

/** Raises limits of a run as a caller with these scopes. Returns the status, the code of a refusal, and whether the run was called. */
async function raised(limits: object | undefined, scopes: Scope[]): Promise<[status: number, code: string | undefined, asked: boolean]> {
  let asked = false;
  const raise = async (): Promise<object> => {
    asked = true;
    return { version: 1, id: 'i', status: 'raised', limits: LIMITS };
  };
  const client = clientWithRun({ status: async () => ({ status: 'running', limits }), raise });
  const handler = createHandler(client, { authenticate: () => ({ id: 'c', principal: 'all', scopes }) });
  const { status, body } = await answer(handler, 'POST', '/v1/runs/r/limits', { body: { limits: { steps: 20 } } });
  return [status, body.code, asked];
}

test('a limit where a run asks a person is raised only by callers who may decide', async () => {
  const asking = { ...LIMITS, onLimit: 'ask' };
  expect(await raised(asking, ['runs:read', 'runs:write'])).toEqual([403, 'forbidden', false]);
  expect(await raised(asking, ['runs:write', 'approvals:decide'])).toEqual([200, undefined, true]);
  expect(await raised(asking, ['admin'])).toEqual([200, undefined, true]);
  expect(await raised(asking, ['approvals:decide'])).toEqual([403, 'forbidden', false]);
});

test('a limit where a run ends is raised by callers who may write', async () => {
  expect(await raised(LIMITS, ['runs:write'])).toEqual([200, undefined, true]);
});

test('a run whose agent is not resolved yet says so to a caller who may not decide', async () => {
  expect(await raised(undefined, ['runs:write'])).toEqual([503, 'busy', false]);
  expect(await raised(undefined, ['runs:write', 'approvals:decide'])).toEqual([200, undefined, true]);
});
