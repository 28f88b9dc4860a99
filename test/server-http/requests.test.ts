import { expect, test, vi } from 'vitest';
import { GRPC } from '../../src/temporal/server-calls.ts';
import { ERROR_CODES, LonghaulError, UsageError } from '../../src/core/domain/errors.ts';
import { createHandler, type ReportError } from '../../src/server/index.ts';
import { httpStatusOf } from '../../src/server/problems.ts';
import { checkedHandler } from './checked-handler.ts';
import { answer, clientWithRun, send } from './requests.ts';

const quiet = clientWithRun({});

test('every code of the error table has a status of HTTP', () => {
  const codes = Object.keys(ERROR_CODES) as (keyof typeof ERROR_CODES)[];
  expect(codes.filter((code) => !(httpStatusOf(code) >= 400 && httpStatusOf(code) < 600))).toEqual([]);
});

test('invalid JSON is refused with 400', async () => {
  const handler = await checkedHandler(quiet);
  for (const body of ['{', '{"agent":}', 'agent=clerk', '\uFFFE']) {
    const request = { method: 'POST', body, headers: { 'content-type': 'application/json' } };
    const response = await handler(new Request('http://localhost/v1/runs', request));
    expect([response.status, await response.json()]).toMatchObject([400, { code: 'malformed_request', status: 400 }]);
  }
  const bytes = new Uint8Array([0x22, 0xff, 0x22]);
  const request = { method: 'POST', body: bytes, headers: { 'content-type': 'application/json' } };
  expect((await handler(new Request('http://localhost/v1/runs', request))).status).toBe(400);
});

test.each(['text/plain', 'application/x-www-form-urlencoded', 'application/jsonp', 'application/json; charset=latin1', ''])(
  'a body of type "%s" is refused with 415',
  async (type) => {
    const handler = await checkedHandler(quiet);
    const response = await send(handler, 'POST', '/v1/runs', { body: { agent: 'clerk' }, headers: { 'content-type': type } });
    expect(response.status).toBe(415);
  },
);

test('a body that middleware has read before is reported to the developer, with what to do', async () => {
  const reported: unknown[] = [];
  const handler = createHandler(clientWithRun({}), { onError: (error) => reported.push(error) });
  const request = new Request('http://localhost/v1/runs', { method: 'POST', body: '{}', headers: { 'content-type': 'application/json' } });
  await request.text();
  expect((await handler(request)).status).toBe(500);
  expect(String(reported[0])).toContain('mount the handler before middleware that reads bodies, such as express.json()');
});

test.each(['application/json', 'application/json;charset=utf-8', 'application/json; charset="UTF-8"', 'application/problem+json'])(
  'a body of type "%s" is read',
  async (type) => {
    const handler = await checkedHandler(quiet);
    const response = await send(handler, 'POST', '/v1/runs', { body: {}, headers: { 'content-type': type } });
    expect([response.status, await response.json()]).toMatchObject([422, { code: 'invalid_request' }]);
  },
);

test('a body with an encoding is refused with 415', async () => {
  const handler = await checkedHandler(quiet);
  const headers = { 'content-type': 'application/json', 'content-encoding': 'gzip' };
  expect((await send(handler, 'POST', '/v1/runs', { body: {}, headers })).status).toBe(415);
});

test('a body over 1 MB is refused with 413 while it is read, also without a length', async () => {
  const handler = await checkedHandler(quiet);
  let sent = 0;
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      sent += 1;
      controller.enqueue(new Uint8Array(100_000).fill(0x20));
    },
  });
  const request = { method: 'POST', body, duplex: 'half', headers: { 'content-type': 'application/json' } } as const;
  const response = await handler(new Request('http://localhost/v1/runs', request));
  expect([response.status, await response.json()]).toMatchObject([413, { code: 'body_too_large' }]);
  expect(sent).toBeLessThan(15);
});

test('a body with a declared length over 1 MB is refused with 413 before it is read', async () => {
  const handler = await checkedHandler(quiet);
  const headers = { 'content-type': 'application/json', 'content-length': '1000001' };
  expect((await send(handler, 'POST', '/v1/runs', { body: {}, headers })).status).toBe(413);
});

test('a body that is longer than it says is refused with 413 as well', async () => {
  const handler = await checkedHandler(quiet);
  const headers = { 'content-type': 'application/json', 'content-length': '2' };
  const body = { agent: 'clerk', input: 'x'.repeat(1_000_000) };
  expect((await send(handler, 'POST', '/v1/runs', { body, headers })).status).toBe(413);
});

test('a body that the framework has read before is an error of the service, which the operator reads', async () => {
  const onError = vi.fn<ReportError>();
  const handler = await checkedHandler(quiet, { onError });
  for (const headers of [{ 'content-length': '2' }, {}]) {
    const request = new Request('http://localhost/v1/runs', {
      method: 'POST',
      body: '{}',
      headers: { 'content-type': 'application/json', ...headers },
    });
    await request.text();
    expect((await handler(request)).status).toBe(500);
  }
  expect(onError).toHaveBeenCalledTimes(2);
});

test('a body that is nested too deeply is refused with 422', async () => {
  const handler = await checkedHandler(quiet);
  const body = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
  const request = { method: 'POST', body, headers: { 'content-type': 'application/json' } };
  const response = await handler(new Request('http://localhost/v1/runs', request));
  expect([response.status, await response.json()]).toMatchObject([422, { code: 'invalid_request', errors: [{ pointer: '#' }] }]);
});

test('an invalid body is refused with 422, and the pointer of each problem', async () => {
  const handler = await checkedHandler(quiet);
  const body = { agent: '', input: [{ type: 'text' }], limits: { steps: 0, 'a/b~c': 1 }, ünknown: true };
  const { status, body: problem } = await answer(handler, 'POST', '/v1/runs', { body });
  expect(status).toBe(422);
  expect(problem.errors?.map(({ pointer }) => pointer).toSorted()).toEqual([
    '#/%C3%BCnknown',
    '#/agent',
    '#/input/0/text',
    '#/limits/a~1b~0c',
    '#/limits/steps',
  ]);
});

test('an invalid query parameter is refused with 422 and its name', async () => {
  const handler = await checkedHandler(quiet);
  for (const query of ['wait=soon', 'steps=1', 'wait=1s&wait=2s', 'unknown=1']) {
    const { status, body } = await answer(handler, 'GET', `/v1/runs/r/result?${query}`);
    expect({ query, status, errors: body.errors }).toMatchObject({
      query,
      status: 422,
      errors: [{ parameter: expect.any(String) as string }],
    });
  }
});

test('a path that no route has is refused with 404, and another method of a route with 405 and those that it takes', async () => {
  const handler = await checkedHandler(quiet);
  expect((await answer(handler, 'GET', '/v1/nothing')).body).toMatchObject({ status: 404, code: 'route_not_found' });
  const { status, body, headers } = await answer(handler, 'PATCH', '/v1/runs/a%2Fb');
  expect([status, body.code, headers.get('allow')]).toEqual([405, 'method_not_allowed', 'GET, HEAD, DELETE']);
});

test.each(['a/b', 'ü ñ', 'a%2Fb', '100%', '..a', 'a?b#c', 'x\ny', 'a+b', '😀', '%E0%A4', String.raw`a\b`, ';:@&=', 'run/0/1'])(
  'the id %j in a path reaches the client unchanged',
  async (id) => {
    const asked: string[] = [];
    const pause = { pause: async () => ({ version: 1, paused: true }) };
    const client = clientWithRun({}, { handle: (runId: string) => (asked.push(runId), { runId, ...pause }) });
    const handler = await checkedHandler(client);
    expect((await send(handler, 'POST', `/v1/runs/${encodeURIComponent(id)}/pause`)).status).toBe(200);
    expect(asked).toEqual([id]);
  },
);

test('an error without a code is logged under an id, and the caller reads the id alone', async () => {
  const onError = vi.fn<ReportError>();
  const thrown = [
    new Error('password=hunter2'),
    new TypeError('x is not a function'),
    'a text',
    undefined,
    new LonghaulError('internal', 'hunter2'),
  ];
  for (const error of thrown) {
    const status = async (): Promise<never> => {
      throw error;
    };
    const handler = await checkedHandler(clientWithRun({ status }), { onError });
    const { status: code, body } = await answer(handler, 'GET', '/v1/runs/r');
    expect([code, body.code]).toEqual([500, 'internal']);
    expect(JSON.stringify(body)).not.toMatch(/hunter2|function|\.ts:\d+/);
    const [reported, { id }] = onError.mock.lastCall ?? [undefined, { id: '' }];
    expect(body.instance).toBe(`urn:uuid:${id}`);
    expect(body.detail).toContain(id);
    expect(reported).toBe(error);
  }
});

test('errors of the client become problems with the status of their row, and 429 and 503 say when to try again', async () => {
  const cases: [unknown, number, string, boolean][] = [
    [new LonghaulError('run_not_found', 'Namespace "secret" has no run "r"'), 404, 'run_not_found', false],
    [new LonghaulError('run_ended', 'Run "r" has ended'), 409, 'run_ended', false],
    [new LonghaulError('queue_full', 'Too many'), 429, 'queue_full', true],
    [new LonghaulError('busy', 'busy'), 503, 'busy', true],
    [new LonghaulError('server_unreachable', 'The Temporal server at "10.0.0.1:7233" does not answer'), 503, 'server_unreachable', true],
    [new UsageError('"limits.steps" is 0'), 422, 'invalid_input', false],
    [Object.assign(new Error('rpc'), { code: GRPC.resourceExhausted, details: 'limit', metadata: {} }), 503, 'busy', true],
  ];
  for (const [error, status, code, hasWait] of cases) {
    const fail = async (): Promise<never> => {
      throw error;
    };
    const handler = await checkedHandler(clientWithRun({ send: fail }), { onError: () => undefined });
    const found = await answer(handler, 'POST', '/v1/runs/r/messages', { body: { content: 'Hello' } });
    expect([found.status, found.body.code, found.headers.has('retry-after')]).toEqual([status, code, hasWait]);
    expect(JSON.stringify(found.body)).not.toMatch(/10\.0\.0\.1|secret|rpc/);
  }
});
