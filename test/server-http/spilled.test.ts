import { expect, test, vi } from 'vitest';
import type { LonghaulClient } from '../../src/client/index.ts';
import { UsageError } from '../../src/core/domain/errors.ts';
import { checkedHandler } from './checked-handler.ts';
import { answer, clientWithRun } from './requests.ts';

const DIGEST = 'a'.repeat(64);
const SPILLED = { store: 'file', claim: { key: 'k' }, bytes: 9, sha256: DIGEST };

const events = async function* () {
  yield { content: [{ type: 'message', role: 'user', content: 'Q' }] };
  yield { content: [{ type: 'tool_result', content: ['preview'], spilled: SPILLED }] };
};

test('the content of a spilled result is read by its digest, if the run has it', async () => {
  const readSpilled = vi.fn<LonghaulClient['readSpilled']>(async () => ['whole']);
  const handler = await checkedHandler(clientWithRun({ events: () => events() }, { readSpilled }));
  expect(await answer(handler, 'GET', `/v1/runs/r/spilled/${DIGEST}`)).toMatchObject({ status: 200, body: { content: ['whole'] } });
  expect(readSpilled.mock.calls).toEqual([[SPILLED]]);
  expect(await answer(handler, 'GET', `/v1/runs/r/spilled/${'b'.repeat(64)}`)).toMatchObject({
    status: 404,
    body: { code: 'spilled_not_found' },
  });
  expect(await answer(handler, 'GET', '/v1/runs/r/spilled/k')).toMatchObject({ status: 422 });
  expect(readSpilled).toHaveBeenCalledOnce();
});

test('a file that a model has made is read by its digest, and one that a message names is not', async () => {
  const part = (sha256: string): object => ({ type: 'image', mediaType: 'image/png', spilled: { ...SPILLED, sha256 } });
  const said = async function* () {
    yield { content: [{ type: 'message', role: 'user', content: [part('b'.repeat(64))] }] };
    yield { usage: null, content: [{ type: 'message', role: 'assistant', content: [{ type: 'text', text: 'Look.' }, part(DIGEST)] }] };
  };
  const readSpilled = vi.fn<LonghaulClient['readSpilled']>(async () => [{ type: 'image', mediaType: 'image/png', data: 'AAAA' }]);
  const handler = await checkedHandler(clientWithRun({ events: () => said() }, { readSpilled }));
  expect(await answer(handler, 'GET', `/v1/runs/r/spilled/${DIGEST}`)).toMatchObject({
    status: 200,
    body: { content: [{ data: 'AAAA' }] },
  });
  expect(await answer(handler, 'GET', `/v1/runs/r/spilled/${'b'.repeat(64)}`)).toMatchObject({ status: 404 });
});

test('content that a caller has named in an earlier conversation is not read', async () => {
  const given = async function* () {
    yield { given: true, content: [{ type: 'tool_result', content: ['preview'], spilled: SPILLED }] };
  };
  const readSpilled = vi.fn<LonghaulClient['readSpilled']>(async () => ['of another tenant']);
  const handler = await checkedHandler(clientWithRun({ events: () => given() }, { readSpilled }));
  expect(await answer(handler, 'GET', `/v1/runs/r/spilled/${DIGEST}`)).toMatchObject({
    status: 404,
    body: { code: 'spilled_not_found' },
  });
  expect(readSpilled).not.toHaveBeenCalled();
});

test('a service without a payload store says that the content is not available', async () => {
  const readSpilled = async (): Promise<never> => {
    throw new UsageError('the client has no "payloadStore"');
  };
  const handler = await checkedHandler(clientWithRun({ events: () => events() }, { readSpilled }));
  const { status, body } = await answer(handler, 'GET', `/v1/runs/r/spilled/${DIGEST}`);
  expect([status, body.code]).toEqual([410, 'spilled_unavailable']);
});

test('a user is forgotten by an admin alone, with the stores that no worker has', async () => {
  const forget = vi.fn<LonghaulClient['forget']>(async () => ({
    runs: [],
    executions: 0,
    memoryEntries: 0,
    kept: [],
    without: ['memory'],
  }));
  const client = clientWithRun({}, { forget });
  const handler = await checkedHandler(client);
  const path = '/v1/users/ada%2Fl?tenant=acme&without=memory';
  expect((await answer(handler, 'DELETE', path)).status).toBe(200);
  expect((await answer(handler, 'DELETE', `${path}&without=archive`)).status).toBe(200);
  expect(forget.mock.calls).toMatchObject([
    [{ user: 'ada/l', tenant: 'acme', without: ['memory'] }],
    [{ user: 'ada/l', tenant: 'acme', without: ['memory', 'archive'] }],
  ]);
  const caller = { id: 'x', scopes: ['runs:write'] } as const;
  expect((await answer(await checkedHandler(client, { authenticate: () => caller }), 'DELETE', path)).status).toBe(403);
});
