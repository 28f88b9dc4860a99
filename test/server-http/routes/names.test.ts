import { describe, expect, test } from 'vitest';
import { UsageError } from '../../../src/core/domain/errors.ts';
import { createHandler } from '../../../src/server/index.ts';
import { answer, clientWithRun } from '../requests.ts';

/** Half of the pair that is one emoji: UTF-8 has no form for it. */
const HALF = 'a\ud83d';

/** A client that must not be asked for anything. */
const untouched = new Proxy(clientWithRun({}), {
  get: (target, name) => {
    if (name === 'as' || name === 'temporal' || name === 'principal') return Reflect.get(target, name) as unknown;
    throw new Error(`the client was asked for "${String(name)}"`);
  },
});

const start = { agent: 'clerk', input: 'Q' };
const part = { type: 'text', text: 'Hi' };
const message = { id: 'm', role: 'user', parts: [part] };

describe('a name with a NUL character is refused before the request has an effect', () => {
  const NUL = 'x\0y';
  test.each<[string, object]>([
    ['/v1/runs', { ...start, runId: NUL }],
    ['/v1/runs', { ...start, tags: [NUL] }],
    ['/v1/programs', { program: NUL }],
    ['/v1/sessions', { agent: 'clerk', id: NUL }],
  ])('POST %s %o', async (path, body) => {
    const refused = await answer(createHandler(untouched), 'POST', path, { body });
    expect(refused).toMatchObject({ status: 422, body: { code: 'invalid_request' } });
  });
});

describe('a request with half of a surrogate pair in a name is refused before it has an effect', () => {
  test.each<[string, string, object]>([
    ['POST', '/v1/runs', { ...start, runId: HALF }],
    ['POST', '/v1/runs', { ...start, agent: HALF }],
    ['POST', '/v1/runs', { ...start, previousRunId: HALF }],
    ['POST', '/v1/runs', { ...start, principal: { tenant: HALF } }],
    ['POST', '/v1/runs', { ...start, principal: { user: HALF } }],
    ['POST', '/v1/runs', { ...start, tags: [HALF] }],
    ['POST', '/v1/programs', { program: HALF }],
    ['POST', '/v1/programs', { program: 'note', resume: { run: HALF } }],
    ['POST', '/v1/sessions', { agent: 'clerk', id: HALF }],
    ['POST', '/v1/sessions/s/messages', { content: 'Hi', id: HALF }],
    ['POST', '/v1/sessions/s/messages', { content: 'Hi', agent: HALF }],
    ['POST', '/v1/runs/r/messages', { content: 'Hi', id: HALF }],
    ['POST', '/v1/runs/r/approvals/c', { type: 'approve', digest: 'd', id: HALF }],
    ['POST', '/v1/runs/r/approvals/c', { type: 'approve', digest: 'd', runId: HALF }],
    ['POST', '/v1/tokens', { runId: HALF }],
    ['POST', '/v1/agents/clerk/chat', { id: HALF, messages: [message] }],
    ['POST', '/v1/agents/clerk/chat', { id: 'c', messages: [{ ...message, id: HALF }] }],
  ])('%s %s %o', async (method, path, body) => {
    expect(await answer(createHandler(untouched), method, path, { body })).toMatchObject({
      status: 422,
      body: { code: 'invalid_request' },
    });
  });

  test.each<[string, object]>([
    ['/v1/responses', { model: HALF, input: 'Q' }],
    ['/v1/responses', { model: 'clerk', input: 'Q', previous_response_id: HALF }],
    ['/v1/chat/completions', { model: HALF, messages: [{ role: 'user', content: 'Q' }] }],
  ])('POST %s %o', async (path, body) => {
    const { status, body: refusal } = await answer<{ error: { code: string } }>(createHandler(untouched), 'POST', path, { body });
    expect([status, refusal.error.code]).toEqual([400, 'invalid_value']);
  });
});

/** Ids that no server keeps. */
const BAD_IDS: [string, string][] = [
  ['empty', ''],
  ['blank', ' \t'],
  ['too long', 'x'.repeat(1_001)],
  ['too long in UTF-8', 'ü'.repeat(501)],
  ['of 900 kB', 'x'.repeat(900_000)],
  ['with a NUL character', 'x\0y'],
  ['with half of a surrogate pair', HALF],
];

describe.each(BAD_IDS)('an id of a run that is %s is refused at once, without calling a server', (_, id) => {
  test.each<[string, string, object]>([
    ['runId', '/v1/runs', { ...start, runId: id }],
    ['previousRunId', '/v1/runs', { agent: 'clerk', input: 'Q', previousRunId: id }],
    ['runId', '/v1/programs', { program: 'note', runId: id }],
    ['resume.run', '/v1/programs', { program: 'note', resume: { run: id } }],
    ['id', '/v1/sessions', { agent: 'clerk', id }],
    ['runId', '/v1/runs/r/approvals/c', { type: 'approve', digest: 'd', runId: id }],
    ['runId', '/v1/runs/r/approvals/c', { type: 'reject', digest: 'd', runId: id }],
    ['runId', '/v1/runs/r/approvals/c', { type: 'respond', digest: 'd', content: 1, runId: id }],
    ['runId', '/v1/tokens', { runId: id }],
  ])('%s of POST %s', async (name, path, body) => {
    const { status, body: problem } = await answer(createHandler(untouched), 'POST', path, { body });
    const pointer = `#/${name.replace('.', '/')}`;
    expect([status, problem.code, problem.errors?.every((one) => one.pointer === pointer)]).toEqual([422, 'invalid_request', true]);
  });

  test('previous_response_id of POST /v1/responses', async () => {
    const body = { model: 'clerk', input: 'Q', previous_response_id: id };
    const refused = await answer<{ error: { param: string } }>(createHandler(untouched), 'POST', '/v1/responses', { body });
    expect([refused.status, refused.body.error.param]).toEqual([400, 'previous_response_id']);
  });
});

test.each(['x'.repeat(1_001), 'ü'.repeat(501), '%00', '%20'])(
  'an id in a path that is too long or blank is refused in the same way',
  async (id) => {
    for (const path of [`/v1/runs/${id}`, `/v1/runs/${id}/result`, `/v1/sessions/${id}`]) {
      const { status, body } = await answer(createHandler(untouched), 'GET', path);
      expect([status, body.errors?.[0]?.parameter]).toEqual([422, path.includes('sessions') ? 'sessionId' : 'runId']);
    }
  },
);

describe('a body that may be left out is an object if it is sent', () => {
  const paths = ['pause', 'resume', 'cancel', 'retry'].map((name) => `/v1/runs/r/${name}`);
  const ofSessions = ['interrupt', 'reset', 'refresh', 'close'].map((name) => `/v1/sessions/s/${name}`);
  test.each([...paths, ...ofSessions, '/v1/agents/clerk/chat/c/stop'])('%s', async (path) => {
    for (const body of [null, [], '', 'x', 0, 1, true, false, [null], [{}], [[]], 'null']) {
      expect(await answer(createHandler(untouched), 'POST', path, { body })).toMatchObject({
        status: 422,
        body: { code: 'invalid_request' },
      });
    }
  });
});

test('an id in a path that is not UTF-8 reaches the client as a text of whole characters', async () => {
  const ids: string[] = [];
  const handle = (runId: string): object => ({ runId, status: async () => ids.push(runId) });
  const handler = createHandler(clientWithRun({}, { handle }));
  for (const id of ['%ED%A0%BD', '%FF', '%']) await answer(handler, 'GET', `/v1/runs/${id}`);
  expect(ids).toHaveLength(3);
  expect(ids.filter((id) => !id.isWellFormed())).toEqual([]);
});

test('credentials of another tenant than the service acts for are refused', async () => {
  const as = (): never => {
    throw new UsageError('the client acts for a principal already');
  };
  const client = clientWithRun({ status: async () => ({}) }, { as });
  const caller = { id: 'c', scopes: ['admin'], principal: { tenant: 'umbrella' } } as const;
  const handler = createHandler(client, { authenticate: () => caller });
  expect(await answer(handler, 'GET', '/v1/runs/r')).toMatchObject({ status: 403, body: { code: 'forbidden' } });
});
