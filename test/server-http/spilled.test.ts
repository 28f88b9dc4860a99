import { expect, test, vi } from 'vitest';
import type { LonghaulClient } from '../../src/client/index.ts';
import { UsageError } from '../../src/core/domain/errors.ts';
import type { JsonValue } from '../../src/core/domain/json.ts';
import { RunTokens } from '../../src/server/auth/run-tokens.ts';
import type { Caller, Handler, HandlerOptions } from '../../src/server/index.ts';
import { checkedHandler } from './checked-handler.ts';
import { answer, clientWithRun, send } from './requests.ts';

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

/** A run whose model has made a file of this type. */
async function serviceWithFile(mediaType: string, options: HandlerOptions = {}): Promise<Handler> {
  const said = async function* () {
    const part = { type: 'image', mediaType, spilled: SPILLED };
    yield { usage: null, content: [{ type: 'message', role: 'assistant', content: [part] }] };
    yield { content: [{ type: 'tool_result', content: ['preview'], spilled: { ...SPILLED, sha256: 'c'.repeat(64) } }] };
  };
  const readSpilled = async ({ sha256 }: { sha256: string }): Promise<JsonValue[]> =>
    sha256 === DIGEST ? [{ type: 'image', mediaType, data: Buffer.from('<b>bytes</b>').toString('base64') }] : ['whole'];
  return checkedHandler(clientWithRun({ events: () => said() }, { readSpilled }), options);
}

test.each([
  ['image/png', 'image/png', 'inline'],
  ['IMAGE/WEBP', 'image/webp', 'inline'],
  ['audio/mpeg', 'audio/mpeg', 'inline'],
  ['image/svg+xml', 'application/octet-stream', 'attachment'],
  ['text/html', 'application/octet-stream', 'attachment'],
  ['application/pdf', 'application/octet-stream', 'attachment'],
  ['image/png\r\nset-cookie: a=b', 'application/octet-stream', 'attachment'],
  ['image/png; charset=x', 'application/octet-stream', 'attachment'],
])('the bytes of a file of type %j are sent as %s, %s: no page can run them', async (mediaType, type, disposition) => {
  const handler = await serviceWithFile(mediaType);
  const response = await send(handler, 'GET', `/v1/runs/r/files/${DIGEST}`);
  expect([response.status, await response.text()]).toEqual([200, '<b>bytes</b>']);
  expect(Object.fromEntries(response.headers)).toMatchObject({
    'content-type': type,
    'content-disposition': disposition,
    'content-security-policy': "default-src 'none'; sandbox",
    'x-content-type-options': 'nosniff',
    'cache-control': 'no-store',
  });
  expect(response.headers.has('set-cookie')).toBe(false);
});

test('only files of models have bytes, and only for a reader of the run', async () => {
  const handler = await serviceWithFile('image/png');
  expect(await answer(handler, 'GET', `/v1/runs/r/files/${'c'.repeat(64)}`)).toMatchObject({
    status: 404,
    body: { code: 'spilled_not_found' },
  });
  expect(await answer(handler, 'GET', `/v1/runs/r/files/${'b'.repeat(64)}`)).toMatchObject({ status: 404 });
  expect(await answer(handler, 'GET', '/v1/runs/r/files/k')).toMatchObject({ status: 422 });
  const writer = await serviceWithFile('image/png', { authenticate: () => ({ id: 'x', principal: 'all', scopes: ['runs:write'] }) });
  expect((await answer(writer, 'GET', `/v1/runs/r/files/${DIGEST}`)).status).toBe(403);
  const nobody = await serviceWithFile('image/png', { authenticate: () => undefined });
  expect((await answer(nobody, 'GET', `/v1/runs/r/files/${DIGEST}`)).status).toBe(401);
});

test('a page names a token of the run in the URL of a file, and of no other content', async () => {
  const secret = 'a secret of thirty-two bytes, or more';
  const handler = await serviceWithFile('image/png', { authenticate: () => undefined, tokenSecrets: [secret] });
  const caller: Caller = { id: 'ada', principal: 'all', scopes: ['runs:read'] };
  const tokens = new RunTokens({ secrets: [secret] });
  const tokenOf = async (runId: string): Promise<string> => (await tokens.make(caller, { runId })).token;
  const path = `/v1/runs/r/files/${DIGEST}`;
  expect((await send(handler, 'GET', `${path}?token=${await tokenOf('r')}`)).status).toBe(200);
  expect((await send(handler, 'GET', `${path}?token=${await tokenOf('other')}`)).status).toBe(404);
  expect((await send(handler, 'GET', `/v1/runs/r/spilled/${DIGEST}?token=${await tokenOf('r')}`)).status).toBe(401);
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
  const caller = { id: 'x', principal: 'all', scopes: ['runs:write'] } as const;
  expect((await answer(await checkedHandler(client, { authenticate: () => caller }), 'DELETE', path)).status).toBe(403);
});
