import { Client } from '@temporalio/client';
import { defaultPayloadConverter } from '@temporalio/common';
import { expect, test } from 'vitest';
import { LonghaulError } from '../../../src/core/domain/errors.ts';
import { ROUTES } from '../../../src/server/routes/all-routes.ts';
import { OPENAI_ROUTES } from '../../../src/server/protocols/openai/openai-routes.ts';
import { createHandler } from '../../../src/server/index.ts';
import { answer, clientWithRun } from '../requests.ts';

/** A server whose runs were started by these ones. */
function startedBy(parents: Readonly<Record<string, string>>): Client {
  const getWorkflowExecutionHistory = async ({ execution }: { execution: { workflowId: string } }): Promise<object> => {
    const runId = parents[execution.workflowId];
    const input = { agent: 'a', input: 'Q', ...(runId === undefined ? {} : { parent: { runId } }) };
    const events = [{ workflowExecutionStartedEventAttributes: { input: { payloads: [defaultPayloadConverter.toPayload(input)] } } }];
    return { history: { events }, nextPageToken: new Uint8Array() };
  };
  return new Client({ connection: { options: {}, workflowService: { getWorkflowExecutionHistory } } as never });
}

const RECEIPT = { version: 1, id: 'm', status: 'queued', queued: 1 };

interface Service {
  /** What the callers have done. */
  done: string[];
  request: (method: string, path: string, body?: object) => Promise<number>;
}

/** A service whose runs are those of these agents, by their ids. Its caller may start "clerk". */
function serviceOf(agents: Readonly<Record<string, string>>, parents: Readonly<Record<string, string>> = {}): Service {
  const done: string[] = [];
  const runOf = (runId: string): object => {
    const status = async (): Promise<object> => {
      const agentName = agents[runId];
      if (agentName === undefined) throw new LonghaulError('run_not_found', 'No run');
      return { agentName, limits: { steps: 10 }, session: { turns: 1 } };
    };
    const others =
      (name: string): unknown =>
      async () => {
        done.push(name);
        return { ...RECEIPT, turn: 1 };
      };
    const run: object = new Proxy(
      { runId, status },
      { get: (known, name: string) => (name in known || name === 'then' ? known[name as 'status'] : others(name)) },
    );
    return run;
  };
  const client = clientWithRun(
    {},
    {
      temporal: startedBy(parents),
      handle: runOf,
      session: (_: unknown, { id }: { id: string }) => runOf(id),
      forget: async () => done.push('forget'),
    },
  );
  const caller = { id: 'k1', principal: 'all', scopes: ['admin'], agents: ['clerk'] } as const;
  const handler = createHandler(client, { authenticate: () => caller, tokenSecrets: ['s'.repeat(40)], onError: () => undefined });
  return { done, request: async (method, path, body) => (await answer(handler, method, path, body === undefined ? {} : { body })).status };
}

const BODIES: Readonly<Record<string, object>> = {
  sendMessage: { content: 'Hi' },
  sendToSession: { content: 'Hi' },
  askSession: { content: 'Hi' },
  raiseLimits: { limits: { steps: 20 } },
  raiseSessionLimits: { limits: { turns: 5 } },
  setPermissions: { permissions: {} },
  decide: { type: 'approve', digest: 'd' },
};

const CHANGES = [...ROUTES, ...OPENAI_ROUTES]
  .map(({ definition }) => definition)
  .filter(({ scope, path }) => scope !== 'public' && scope !== 'runs:read' && /\{(?:run|session)Id\}/.test(path))
  .map(({ id, method, path }) => [id, method, path] as const);

test.each(CHANGES)('a caller that may start some agents changes their runs alone: %s', async (id, method, path) => {
  const own = path.replaceAll(/\{\w+\}/g, 'r');
  const [ofClerk, ofAuditor] = [serviceOf({ r: 'clerk' }), serviceOf({ r: 'auditor' })];
  await ofClerk.request(method, own, BODIES[id]);
  expect(ofClerk.done).not.toEqual([]);
  expect([await ofAuditor.request(method, own, BODIES[id]), ofAuditor.done]).toEqual([403, []]);
});

test('all routes that change a run are among them', () => {
  expect(CHANGES.map(([id]) => id)).toEqual(expect.arrayContaining(['cancelRun', 'deleteRun', 'decide', 'closeSession', 'cancelResponse']));
});

test('the name of an agent that the caller may start does not open a session of another one', async () => {
  const service = serviceOf({ s: 'auditor' });
  expect(await service.request('POST', '/v1/sessions/s/messages', { content: 'Hi', agent: 'clerk' })).toBe(403);
  expect(service.done).toEqual([]);
});

test('a run that one of its agents has started counts as theirs, and the prefix of an id is no proof of that', async () => {
  const agents = { r: 'clerk', 'r/1': 'helper', 'r/1/2': 'auditor', 'r/other': 'auditor' };
  const service = serviceOf(agents, { 'r/1': 'r', 'r/1/2': 'r/1' });
  expect(await service.request('POST', '/v1/runs/r%2F1%2F2/pause')).toBe(200);
  expect(await service.request('POST', '/v1/runs/r%2Fother/pause')).toBe(403);
  expect(service.done).toEqual(['pause']);
});

test('a caller that may start some agents stops no chat of another one, removes no user, and makes no token that decides for others', async () => {
  const service = serviceOf({ r: 'auditor', c: 'auditor' });
  expect(await service.request('POST', '/v1/agents/auditor/chat/c/stop')).toBe(403);
  expect(await service.request('DELETE', '/v1/users/ada')).toBe(403);
  expect(await service.request('POST', '/v1/tokens', { runId: 'r', scopes: ['approvals:decide'] })).toBe(403);
  expect(service.done).toEqual([]);
  expect(await service.request('POST', '/v1/tokens', { runId: 'r' })).toBe(201);
  expect(await serviceOf({ r: 'clerk' }).request('POST', '/v1/tokens', { runId: 'r', scopes: ['approvals:decide'] })).toBe(201);
});

test('a caller that may start some agents starts sessions of them by a message', async () => {
  const service = serviceOf({});
  expect(await service.request('POST', '/v1/sessions/s/messages', { content: 'Hi', agent: 'clerk' })).toBe(200);
  expect(await service.request('POST', '/v1/sessions/s/messages', { content: 'Hi', agent: 'auditor' })).toBe(403);
  expect(service.done).toEqual(['send']);
});
