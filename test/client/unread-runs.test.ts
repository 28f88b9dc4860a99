import { Client } from '@temporalio/client';
import { temporal } from '@temporalio/proto';
import { describe, expect, test } from 'vitest';
import { LonghaulClient, type UnreadRun } from '../../src/client/index.ts';
import { createHandler } from '../../src/server/index.ts';

const { DescribeWorkflowExecutionResponse, ListWorkflowExecutionsResponse, QueryWorkflowResponse } = temporal.api.workflowservice.v1;

const json = (value: unknown): object => ({
  metadata: { encoding: Buffer.from('json/plain') },
  data: Buffer.from(JSON.stringify(value)),
});

const infoOf = (runId: string): object => ({
  execution: { workflowId: runId, runId: `execution of ${runId}` },
  type: { name: 'agentRun' },
  status: 1,
  startTime: { seconds: 1_800_000_000, nanos: 0 },
  historyLength: 5,
  taskQueue: 'q',
});

function grpcError(code: number, details: string): Error {
  return Object.assign(new Error(`${code} ${details}`), { code, details, metadata: { get: () => [] } });
}

interface RequestOfRun {
  execution: { workflowId: string };
}

/** A server with these waiting runs, each with a call, some of which it does not describe or query in time. */
function clientOf(runs: readonly string[], slow: ReadonlySet<string>): LonghaulClient {
  const ifInTime = <Answer>({ execution: { workflowId } }: RequestOfRun, answer: (runId: string) => Answer): Promise<Answer> =>
    slow.has(workflowId) ? Promise.reject(grpcError(4, 'context deadline exceeded')) : Promise.resolve(answer(workflowId));
  const workflowService = {
    listWorkflowExecutions: async () => ListWorkflowExecutionsResponse.fromObject({ executions: runs.map(infoOf) }),
    describeWorkflowExecution: (request: RequestOfRun) =>
      ifInTime(request, (runId) => DescribeWorkflowExecutionResponse.fromObject({ workflowExecutionInfo: infoOf(runId) })),
    queryWorkflow: (request: RequestOfRun) =>
      ifInTime(request, (runId) => {
        const pending = [{ callId: `call of ${runId}`, toolName: 'refund', digest: 'd', key: `${runId}/0`, kind: 'tool', arguments: {} }];
        const page = { agentName: 'clerk', about: { agentName: 'clerk' }, status: 'pending_confirmation', remembered: [] };
        return QueryWorkflowResponse.fromObject({ queryResult: { payloads: [json({ ...page, pending, total: 1 })] } });
      }),
    getWorkflowExecutionHistory: (request: RequestOfRun) => ifInTime(request, () => ({ history: { events: [] } })),
  };
  const run = (_: unknown, work: () => unknown): unknown => work();
  const connection = {
    options: { address: 'temporal.example:7233' },
    workflowService,
    plugins: [],
    withDeadline: run,
    withAbortSignal: run,
  };
  return new LonghaulClient(new Client({ connection: connection as never, namespace: 'default' }));
}

const RUNS = ['a', 'b', 'c'];
const MESSAGE = 'The Temporal server at "temporal.example:7233" no longer answers (no answer in time)';
const UNREAD = { runId: 'b', code: 'server_unreachable', message: expect.stringContaining(MESSAGE) as string };

describe('a list of several runs, one of which the server does not read in time,', () => {
  const client = clientOf(RUNS, new Set(['b']));

  test('has the approvals of the others, and names the run', async () => {
    const unread: UnreadRun[] = [];
    const found = await Array.fromAsync(client.approvals({ onUnread: (run) => unread.push(run) }));
    expect(found.map(({ runId }) => runId)).toEqual(['a', 'c']);
    expect(unread).toEqual([UNREAD]);
    const { items, unread: ofPage } = await client.approvalsPage({}, { pageSize: 10 });
    expect([items.map(({ runId }) => runId), ofPage]).toEqual([['a', 'c'], [UNREAD]]);
  });

  test('yields the others before it throws, if nobody is told of the run', async () => {
    const found: string[] = [];
    const reading = (async () => {
      for await (const { runId } of client.approvals()) found.push(runId);
    })();
    await expect(reading).rejects.toMatchObject({
      code: 'server_unreachable',
      message: expect.stringContaining('Run "b" could not be read'),
    });
    expect(found).toEqual(['a', 'c']);
  });

  test('has the run without its amounts', async () => {
    const { items, unread } = await client.listPage({ amounts: true }, { pageSize: 10 });
    expect(items.map(({ runId }) => runId)).toEqual(RUNS);
    expect(unread?.map(({ runId }) => runId)).toContain('b');
  });

  test('says so over HTTP, with the words of a problem, and logs the rest', async () => {
    const failures: unknown[] = [];
    const handler = createHandler(client, {
      agents: [],
      authenticate: () => ({ id: 'ann', principal: 'all', scopes: ['runs:read'] }),
      onError: (error) => failures.push(error),
    });
    const response = await handler(new Request('http://localhost/v1/approvals'));
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({
      approvals: [{ runId: 'a' }, { runId: 'c' }],
      unread: [{ runId: 'b', code: 'server_unreachable', message: expect.stringMatching(/The service has logged it as [0-9a-f-]+\.$/) }],
    });
    expect(failures).toMatchObject([{ code: 'server_unreachable' }]);
  });
});

test('a list fails if the server answers about no run any more', async () => {
  const runs = Array.from({ length: 30 }, (_, index) => `run-${index}`);
  const client = clientOf(runs, new Set(runs));
  await expect(client.approvalsPage({}, { pageSize: 50 })).rejects.toMatchObject({ code: 'server_unreachable' });
});
