import { describe, expect, test } from 'vitest';
import { ask, unit } from '../../../src/define/program/index.ts';
import { defineAgent, defineProgram } from '../../../src/index.ts';
import { type Caller, createHandler, type Handler } from '../../../src/server/index.ts';
import { checkedHandler } from '../checked-handler.ts';
import { answer, clientWithRun } from '../requests.ts';

const agents = ['clerk', 'refund-desk', 'translator'].map((name) => defineAgent({ name, model: 'p/m' }));

/** Names that were seen are kept for each namespace. */
let services = 0;

/** The starts of a service: `counted` is what the server answers to the question how many runs of an agent there are. */
function service(counted: () => Promise<{ count: number }> = async () => ({ count: 0 })): {
  client: ReturnType<typeof clientWithRun>;
  starts: unknown[];
  queries: string[];
} {
  const starts: unknown[] = [];
  const queries: string[] = [];
  const start = async (agent: unknown): Promise<{ runId: string }> => {
    starts.push(agent);
    return { runId: 'r' };
  };
  const session = (agent: unknown): object => ({ open: () => start(agent), send: () => start(agent) });
  const count = (query: string): Promise<{ count: number }> => {
    queries.push(query);
    return counted();
  };
  const workflowService = { listWorkflowExecutions: async () => ({ executions: [] }) };
  const temporal = { options: { namespace: `namespace-${(services += 1)}` }, workflow: { count }, workflowService };
  return { client: clientWithRun({ send: start }, { start, startProgram: start, session, temporal }), starts, queries };
}

const message = { id: 'm', role: 'user', parts: [{ type: 'text', text: 'Hi' }] };
const WAYS: [string, (agent: string) => [path: string, body: object]][] = [
  ['a run', (agent) => ['/v1/runs', { agent, input: 'Q' }]],
  ['a session', (agent) => ['/v1/sessions', { agent }]],
  ['the first message of a session', (agent) => ['/v1/sessions/s/messages', { agent, content: 'Hi' }]],
  ['a chat of the AI SDK', (agent) => [`/v1/agents/${agent}/chat`, { id: 'c', messages: [message] }]],
];

describe.each(WAYS)('a service that lists agents refuses another name for %s', (_, request) => {
  test.each([
    ['clrek', 'clerk'],
    ['Clerk', 'clerk'],
    ['clerkk', 'clerk'],
    ['clark', 'clerk'],
    ['refunddesk', 'refund-desk'],
    ['refund_desk', 'refund-desk'],
    ['refund-dsk', 'refund-desk'],
    ['translater', 'translator'],
    ['tarnslator', 'translator'],
    ['TRANSLATOR', 'translator'],
    ['billing', undefined],
    ['x', undefined],
  ])('"%s" for %s', async (written, meant) => {
    const { client, starts } = service();
    const [path, body] = request(written);
    const refused = await answer(await checkedHandler(client, { agents }), 'POST', path, { body });
    expect(refused).toMatchObject({ status: 404, body: { code: 'agent_not_found' } });
    expect(refused.body.detail).toContain(`"${written}"`);
    expect(refused.body.detail.includes('Did you mean')).toBe(meant !== undefined);
    expect(refused.body.detail).toContain(meant ?? 'no agent');
    expect(starts).toEqual([]);
  });
});

test('the details of a misspelt agent or program are refused with the nearest one that the caller may start', async () => {
  const review = defineProgram({ name: 'review', model: 'p/m', units: [unit('review', {}, [ask('Letter', 'Write')])] });
  const handler = await checkedHandler(service().client, { agents, programs: [review] });
  expect((await answer(handler, 'GET', '/v1/agents/clrek')).body.detail).toBe(
    'The service knows no agent "clrek" that this caller may start. Did you mean "clerk"?',
  );
  expect((await answer(handler, 'GET', '/v1/programs/reveiw')).body.detail).toBe(
    'The service knows no program "reveiw" that this caller may start. Did you mean "review"?',
  );
  const caller: Caller = { id: 'c', principal: 'all', scopes: ['runs:read'], agents: ['translator'] };
  const other = createHandler(service().client, { agents, programs: [review], authenticate: () => caller });
  expect((await answer(other, 'GET', '/v1/agents/clrek')).body.detail).not.toContain('Did you mean');
});

test('a name in the OpenAI protocol is refused with the nearest one as well', async () => {
  const { client } = service();
  const body = { model: 'clrek', input: 'Q' };
  const refused = await answer<{ error: { message: string } }>(createHandler(client, { agents }), 'POST', '/v1/responses', { body });
  expect([refused.status, refused.body.error.message]).toEqual([404, expect.stringContaining('Did you mean "clerk"?')]);
});

test('a caller does not see names of agents that it may not start', async () => {
  const caller: Caller = { id: 'c', principal: 'all', scopes: ['runs:write'], agents: ['clrek', 'translator'] };
  const handler = createHandler(service().client, { agents, authenticate: () => caller });
  const refused = await answer(handler, 'POST', '/v1/runs', { body: { agent: 'clrek', input: 'Q' } });
  expect(refused).toMatchObject({ status: 404, body: { detail: 'The service has no agent "clrek"' } });
});

const PATHS = [
  ['/v1/runs', 'agent', { input: 'Q' }],
  ['/v1/sessions', 'agent', {}],
  ['/v1/programs', 'program', {}],
] as const;

describe('a service that lists no agents starts any agent, and reports names that no worker has had', () => {
  const started = async (handler: Handler, path: string, body: object): Promise<{ status: number; body: { notice?: string } }> =>
    answer<{ notice?: string }>(handler, 'POST', path, { body });

  test.each(PATHS)('POST %s', async (path, kind, more) => {
    const { client, starts, queries } = service();
    const { status, body } = await started(await checkedHandler(client), path, { [kind]: "cl'erk", ...more });
    const type = kind === 'agent' ? 'agentRun' : 'programRun';
    expect([status, starts, queries]).toEqual([
      201,
      ["cl'erk"],
      [String.raw`WorkflowType = '${type}' AND LonghaulAgent = 'cl\'erk' AND LonghaulStatus IS NOT NULL`],
    ]);
    expect(body.notice).toBe(
      `No worker has run ${kind === 'agent' ? 'an agent' : 'a program'} "cl'erk" so far. The run is safe, and begins as soon as a worker has it.`,
    );
  });

  test('also with the first message of a session, and with no other one', async () => {
    const { client } = service();
    const receipts = [
      { status: 'queued', turn: 1 },
      { status: 'duplicate', turn: 1 },
      { status: 'queued', turn: 2 },
    ].map((one) => ({ version: 1, id: 'm', queued: 1, ...one }));
    const session = (): object => ({ send: async () => receipts.shift() });
    const handler = await checkedHandler(Object.assign(client, { session }));
    const sent = async (): Promise<object> => (await started(handler, '/v1/sessions/s/messages', { agent: 'clrek', content: 'Hi' })).body;
    const notice = 'No worker has run an agent "clrek" so far. The run is safe, and begins as soon as a worker has it.';
    expect(await sent()).toMatchObject({ turn: 1, notice });
    for (const turn of [1, 2]) {
      const receipt = await sent();
      expect(receipt).toMatchObject({ turn });
      expect(receipt).not.toHaveProperty('notice');
    }
  });

  test('and asks once for an agent that a worker has had', async () => {
    const { client, queries } = service(async () => ({ count: 3 }));
    const handler = await checkedHandler(client);
    for (const path of ['/v1/runs', '/v1/sessions', '/v1/runs']) {
      const body = path === '/v1/runs' ? { agent: 'once', input: 'Q' } : { agent: 'once' };
      expect((await started(handler, path, body)).body.notice).toBeUndefined();
    }
    expect(queries).toHaveLength(1);
  });

  test('and reports nothing if the server does not know', async () => {
    const { client } = service(async () => {
      throw new Error('no such attribute');
    });
    const body = { agent: 'unknown', input: 'Q' };
    expect(await started(await checkedHandler(client), '/v1/runs', body)).toMatchObject({ status: 201, body: { repeated: false } });
  });
});
