import { defaultPayloadConverter } from '@temporalio/common';
import { expect, test } from 'vitest';
import type { JsonObject } from '../../src/core/domain/json.ts';
import { LonghaulError } from '../../src/core/domain/errors.ts';
import { type Caller, createHandler } from '../../src/server/index.ts';
import { requestDigest, runIdOfKey } from '../../src/server/requests.ts';
import { answer, clientWithRun } from './requests.ts';

/** The requested starts of a client: the id, and the action if it is taken. */
type Starts = [runId: string | undefined, ifExists: string][];

interface Taken {
  body: JsonObject;
  path?: string;
  caller?: Partial<Caller>;
  /** The digest in the memo of the run that has the id. Absent: the id is free. */
  digest?: string;
  /** The run with the id is of another agent. */
  isOther?: boolean;
  key?: string;
}

/** Sends a start. Returns the status, the code of a refusal, and the starts that it led to. */
async function startedWith({
  body,
  path = '/v1/runs',
  caller,
  digest,
  isOther = false,
  key,
}: Taken): Promise<{ status: number; code: string | undefined; starts: Starts }> {
  const starts: Starts = [];
  const start = async (_: unknown, { runId, ifExists }: { runId?: string; ifExists: string }): Promise<{ runId: string }> => {
    starts.push([runId, ifExists]);
    if (digest !== undefined && (isOther || ifExists === 'fail')) throw new LonghaulError('run_exists', 'taken');
    return { runId: runId ?? 'made' };
  };
  const session = (_: unknown, { id }: { id: string }): object => ({
    open: () => start(undefined, { runId: id, ifExists: 'fail' }),
    send: () => start(undefined, { runId: id, ifExists: 'fail' }),
  });
  const fields = { longhaulRequest: defaultPayloadConverter.toPayload(digest) };
  const temporal = {
    options: { namespace: 'default', loadedDataConverter: { payloadConverter: defaultPayloadConverter, payloadCodecs: [] } },
    workflowService: { describeWorkflowExecution: async () => ({ workflowExecutionInfo: { memo: { fields } } }) },
  };
  const send = async (): Promise<never> => {
    throw new LonghaulError('run_not_found', 'none');
  };
  const client = clientWithRun({ send }, { start, startProgram: start, session, temporal });
  const whole: Caller = { id: 'c', principal: 'all', scopes: ['runs:write'], ...caller };
  const handler = createHandler(client, { authenticate: () => whole, onError: () => undefined });
  const headers: Record<string, string> = key === undefined ? {} : { 'idempotency-key': key };
  const { status, body: problem } = await answer(handler, 'POST', path, { body, headers });
  return { status, code: problem.code, starts };
}

test('a failed run is restarted only by the same request: another body with its key restarts nothing', async () => {
  const body = { agent: 'clerk', input: 'Q', ifExists: 'restartFailed' };
  const id = runIdOfKey(undefined, 'k');
  const digest = requestDigest('startRun', 'k', body);
  const again = await startedWith({ body, digest, key: 'k' });
  expect(again.starts).toEqual(['fail', 'return', 'restartFailed'].map((ifExists) => [id, ifExists]));
  expect(again.status).toBe(200);
  expect(await startedWith({ body: { ...body, input: 'R' }, digest, key: 'k' })).toEqual({
    status: 422,
    code: 'key_reused',
    starts: [
      [id, 'fail'],
      [id, 'return'],
    ],
  });
  const own = { ...body, runId: 'own' };
  expect(await startedWith({ body: own, digest, key: 'k' })).toMatchObject({ status: 409, code: 'run_exists' });
  expect((await startedWith({ body: own, digest })).starts.at(-1)).toEqual(['own', 'restartFailed']);
});

test('a key that has started a run of another agent is refused like any other request with the key; an id of the caller is taken', async () => {
  const body = { agent: 'clerk', input: 'Q' };
  const taken = { digest: 'other', isOther: true };
  expect(await startedWith({ body, ...taken, key: 'k' })).toMatchObject({ status: 422, code: 'key_reused' });
  const own = { ...body, runId: 'own', ifExists: 'return' };
  expect(await startedWith({ body: own, ...taken })).toMatchObject({ status: 409, code: 'run_exists' });
  expect(await startedWith({ body: own, ...taken, key: 'k' })).toMatchObject({ status: 409, code: 'run_exists' });
});

test('the same key is another run for each tenant that a caller without a principal names', async () => {
  const ids: unknown[] = [];
  for (const tenant of ['acme', 'umbrella', undefined]) {
    const whom = tenant === undefined ? {} : { principal: { tenant, user: 'ada' } };
    for (const path of ['/v1/runs', '/v1/sessions']) {
      const { starts } = await startedWith({
        path,
        key: 'k',
        body: { agent: 'clerk', ...(path === '/v1/runs' ? { input: 'Q' } : {}), ...whom },
      });
      ids.push(starts[0]?.[0]);
    }
  }
  expect(new Set(ids).size).toBe(3);
  // A user of that tenant has separate keys.
  expect(ids).not.toContain(runIdOfKey({ tenant: 'acme', user: 'ada' }, 'k'));
  expect(ids).not.toContain(runIdOfKey({ tenant: 'acme' }, 'k'));
});

test.each([runIdOfKey({ tenant: 'acme' }, 'k'), `chat-${'0'.repeat(40)}`])(
  "an id in the form of the service's own ids is refused for a start: %s",
  async (id) => {
    const refused = { status: 422, code: 'invalid_request', starts: [] };
    const run = { agent: 'clerk', input: 'Q' };
    expect(await startedWith({ body: { ...run, runId: id } })).toEqual(refused);
    expect(await startedWith({ path: '/v1/programs', body: { program: 'note', runId: id } })).toEqual(refused);
    expect(await startedWith({ path: '/v1/sessions', body: { agent: 'clerk', id } })).toEqual(refused);
    const unknown = { status: 404, code: 'run_not_found', starts: [] };
    expect(await startedWith({ path: `/v1/sessions/${id}/messages`, body: { agent: 'clerk', content: 'Hi' } })).toEqual(unknown);
    for (const other of ['chat-7', `${id}0`, `x${id}`]) expect((await startedWith({ body: { ...run, runId: other } })).status).toBe(201);
  },
);

test("a caller that acts for a principal cannot take an id in the form of a child run's id", async () => {
  const id = 'order-43/u.C';
  const refused = { status: 422, code: 'invalid_request', starts: [] };
  const unknown = { status: 404, code: 'run_not_found', starts: [] };
  const starts = [
    { path: '/v1/runs', body: { agent: 'clerk', input: 'Q', runId: id }, outcome: refused },
    { path: '/v1/programs', body: { program: 'note', runId: id }, outcome: refused },
    { path: '/v1/sessions', body: { agent: 'clerk', id }, outcome: refused },
    { path: `/v1/sessions/${encodeURIComponent(id)}/messages`, body: { agent: 'clerk', content: 'Hi' }, outcome: unknown },
  ];
  for (const { path, body, outcome } of starts) {
    expect(await startedWith({ path, body, caller: { principal: { tenant: 'acme', user: 'ada' } } })).toEqual(outcome);
    expect((await startedWith({ path, body })).starts.at(-1)?.[0]).toBe(id);
  }
});

const PLACE = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
const OWN = '00-1af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';

test.each([
  ['the header of a tracer is taken', { path: '/v1/runs', body: { agent: 'clerk', input: 'Q' }, header: PLACE, expected: PLACE }],
  [
    'a body that names another place counts',
    { path: '/v1/runs', body: { agent: 'clerk', input: 'Q', traceparent: OWN }, header: PLACE, expected: OWN },
  ],
  ['an invalid header is ignored', { path: '/v1/runs', body: { agent: 'clerk', input: 'Q' }, header: 'a trace', expected: undefined }],
  ['a program takes it, too', { path: '/v1/programs', body: { program: 'errand' }, header: PLACE, expected: PLACE }],
])('the place of a caller in a trace: %s', async (_, { path, body, header, expected }) => {
  const given: (string | undefined)[] = [];
  const start = async (__: unknown, { traceparent }: { traceparent?: string }): Promise<{ runId: string }> => {
    given.push(traceparent);
    return { runId: 'made' };
  };
  const client = clientWithRun({}, { start, startProgram: start });
  const handler = createHandler(client, {
    authenticate: () => ({ id: 'c', principal: 'all', scopes: ['runs:write'] }),
    onError: () => undefined,
  });
  await answer(handler, 'POST', path, { body, headers: { traceparent: header } });
  expect(given).toEqual([expected]);
});
