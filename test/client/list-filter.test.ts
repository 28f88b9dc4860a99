import { status } from '@grpc/grpc-js';
import { Client } from '@temporalio/client';
import proto from '@temporalio/proto';
import { expect, test } from 'vitest';
import { countRuns, rankedRuns } from '../../src/client/ranked-runs.ts';
import { visibilityQuery } from '../../src/client/list.ts';
import type { RunStatus } from '../../src/core/domain/run.ts';

test('a list with an unknown status is refused before the server is asked, with the right name', () => {
  expect(() => visibilityQuery({ status: 'runing' as RunStatus })).toThrow(
    /the list: "status" is "runing": write one of .*"running".*Did you mean "running"\?/,
  );
});

/** A client whose server refuses queries with this text, and the queries that it got. */
function refusing(refused: string): { client: Parameters<typeof countRuns>[0]; asked: string[] } {
  const asked: string[] = [];
  const count = async (query: string): Promise<{ count: number }> => {
    asked.push(query);
    if (query.includes(refused)) throw Object.assign(new Error('no'), { code: status.INVALID_ARGUMENT, details: 'no', metadata: {} });
    return { count: 3 };
  };
  const client = { workflow: { count }, options: { namespace: 'acme' } };
  return { client: client as unknown as Parameters<typeof countRuns>[0], asked };
}

test('in a namespace without the start of runs, filters by time apply to the start of the newest execution', async () => {
  const { client, asked } = refusing('LonghaulStarted');
  const filter = { startedAfter: '2026-07-01T00:00:00Z', agent: 'assistant' };
  expect(await countRuns(client, filter, { by: 'agent' })).toMatchObject({ total: 3 });
  expect(asked.filter((query) => !query.includes('LonghaulStarted'))).toHaveLength(2);
  expect(asked.at(-1)).toContain("StartTime >= '2026-07-01T00:00:00.000Z'");
});

test('a filter that the server refuses in any form is explained, and asked no more often than needed', async () => {
  const { client, asked } = refusing('Nope');
  await expect(countRuns(client, { query: 'Nope = 1' }, { by: 'status' })).rejects.toThrow(/check the query "Nope = 1"/);
  expect(new Set(asked).size).toBe(asked.length);
});

test.each([
  [1_000, []],
  [1_001, [1_000]],
])('of %i runs, a list in another order than the server tells how many it sorted if it left some out', async (count, told) => {
  const executions = Array.from({ length: count }, (_, index) => ({
    execution: { workflowId: `r-${index}`, runId: 'first' },
    type: { name: 'agentRun' },
    status: 'WORKFLOW_EXECUTION_STATUS_COMPLETED',
    startTime: { seconds: 1 },
    closeTime: { seconds: 2 + index },
  }));
  const answer = proto.temporal.api.workflowservice.v1.ListWorkflowExecutionsResponse.fromObject({ executions });
  const connection = { workflowService: { listWorkflowExecutions: async () => answer } };
  const client = new Client({ connection: connection as never });
  const cut: number[] = [];
  const filter = { sort: 'duration' as const, limit: 1, onCut: (sorted: number) => void cut.push(sorted) };
  const list = rankedRuns(client, filter);
  expect((await Array.fromAsync(list)).map(({ runId }) => runId)).toEqual(['r-999']);
  expect(cut).toEqual(told);
});
