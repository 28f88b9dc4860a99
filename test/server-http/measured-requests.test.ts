import { expect, test } from 'vitest';
import { type Caller, createHandler, type Handler, type HandlerOptions } from '../../src/server/index.ts';
import { idGenerator } from '../../src/telemetry/ids.ts';
import { Telemetry } from '../../src/telemetry/telemetry.ts';
import { TAKEN_RUN_IDS } from '../../src/temporal/run-workflow.ts';
import { plainApi, RecordingMeter, RecordingSdk } from '../telemetry/recording-sdk.ts';
import { documentOf } from './checked-handler.ts';
import { answer, clientWithRun } from './requests.ts';

const SCOPES: Caller['scopes'] = ['runs:read', 'runs:write', 'approvals:decide', 'admin'];

interface Measured {
  handler: Handler;
  /** What was measured of the requests so far: method, route and status. */
  measured: () => unknown[][];
}

function service(options: HandlerOptions = {}): Measured {
  const meterProvider = new RecordingMeter();
  const telemetry = new Telemetry(plainApi(new RecordingSdk(idGenerator)), { meterProvider });
  const client = clientWithRun(
    { status: async () => ({ runId: 'r', status: 'running' }), pause: async () => ({ version: 1, paused: true }) },
    { counts: async () => ({ by: 'status', counts: [], total: 0 }) },
  );
  const handler = createHandler(client, {
    telemetry,
    authenticate: () => ({ id: 'ada', principal: 'all', scopes: SCOPES }),
    onError: () => undefined,
    ...options,
  });
  const measured = (): unknown[][] =>
    meterProvider.measured
      .filter(({ name }) => name === 'longhaul.http.duration')
      .map(({ labels }) => ['http.request.method', 'http.route', 'http.response.status_code'].map((label) => labels[label]));
  return { handler, measured };
}

const REQUESTS: [method: string, path: string][] = [
  ['GET', '/v1/runs/counts?by=status'],
  ['DELETE', '/v1/runs/counts'],
  ['POST', '/v1/runs/a/pause'],
  ['POST', '/v1/runs/b/pause'],
  ['GET', '/livez'],
  ['GET', '/v1/runs/a/no/such/path'],
  ['GET', '/nothing'],
  ['PROPFIND', '/nothing'],
];

const MEASURED = [
  ['GET', '/v1/runs/counts', '200'],
  ['DELETE', '/v1/runs/counts', '405'],
  ['POST', '/v1/runs/{runId}/pause', '200'],
  ['POST', '/v1/runs/{runId}/pause', '200'],
  ['GET', '/livez', '200'],
  ['GET', 'none', '404'],
  ['GET', 'none', '404'],
  ['_OTHER', 'none', '404'],
];

test.each(['', '/api'])(
  'a request is measured by the pattern of its route, with the prefix "%s": no path and no method of a caller',
  async (prefix) => {
    const { handler, measured } = service({ prefix });
    for (const [method, path] of REQUESTS) await answer(handler, method, `${prefix}${path}`);
    expect(measured()).toEqual(MEASURED);
    if (prefix !== '') await answer(handler, 'GET', '/outside');
    expect(measured().slice(MEASURED.length)).toEqual(prefix === '' ? [] : [['GET', 'none', '404']]);
  },
);

test('every route that is measured is one of the document', async () => {
  const { handler, measured } = service();
  const { paths } = await documentOf(handler);
  for (const [path, methods] of Object.entries(paths))
    for (const method of Object.keys(methods))
      await answer(handler, method.toUpperCase(), path.replaceAll(/\{\w+\}/g, 'x')).catch(() => undefined);
  const known = new Set(Object.keys(paths));
  const routes = measured().map(([, route]) => String(route));
  expect(routes.length).toBeGreaterThan(50);
  expect(routes.filter((route) => !known.has(route))).toEqual([]);
  expect([...known].filter((path) => !routes.includes(path))).toEqual([]);
});

test('a request without credentials is measured by its route, too, and a path that others read is refused to it with any other method', async () => {
  const { handler, measured } = service({ authenticate: () => undefined });
  for (const method of ['POST', 'DELETE']) expect((await answer(handler, method, '/livez')).status).toBe(401);
  expect((await answer(handler, 'POST', '/v1/runs/a/pause')).status).toBe(401);
  expect(measured().at(-1)).toEqual(['POST', '/v1/runs/{runId}/pause', '401']);
  const open = service();
  const refused = await answer(open.handler, 'POST', '/livez');
  expect([refused.status, refused.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
});

test('no run can begin with an id that is a fixed word in a path of the service', async () => {
  const { paths } = await documentOf(service().handler);
  const words = Object.keys(paths).flatMap((path) => /^\/v1\/(?:runs|sessions)\/(\w+)$/.exec(path)?.[1] ?? []);
  expect(words.toSorted()).toEqual([...TAKEN_RUN_IDS].toSorted());
});
