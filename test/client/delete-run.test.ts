import { Client } from '@temporalio/client';
import { temporal } from '@temporalio/proto';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { deleteRun } from '../../src/client/delete-run.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A server with runs that have ended, which it lists some time after they began. */
class Server {
  readonly #runs = new Map<string, { endedAt: number; listedAt: number; parent?: string }>();
  readonly removed: string[] = [];

  add(runId: string, run: { endedAt: number; listedAt: number; parent?: string }): void {
    this.#runs.set(runId, run);
  }

  get client(): Client {
    const run = (_: unknown, work: () => unknown): unknown => work();
    const workflowService = {
      describeWorkflowExecution: async ({ execution }: { execution: { workflowId: string } }) => ({
        workflowExecutionInfo: this.#infoOf(execution.workflowId),
      }),
      listWorkflowExecutions: async ({ query }: { query: string }) => ({
        executions: [...this.#runs]
          .filter(([runId, { listedAt }]) => listedAt <= Date.now() && isMeant(query, runId))
          .map(([runId]) => this.#infoOf(runId)),
      }),
      getWorkflowExecutionHistory: async () => ({ history: { events: [] } }),
      deleteWorkflowExecution: async ({ workflowExecution }: { workflowExecution: { workflowId: string } }) => {
        this.removed.push(workflowExecution.workflowId);
        this.#runs.delete(workflowExecution.workflowId);
      },
    };
    return new Client({ connection: { options: {}, workflowService, withDeadline: run, withAbortSignal: run } as never });
  }

  #infoOf(runId: string): temporal.api.workflow.v1.IWorkflowExecutionInfo {
    const run = this.#runs.get(runId);
    if (run === undefined) throw Object.assign(new Error('not found'), { code: 5, details: 'not found', metadata: { get: () => [] } });
    return temporal.api.workflow.v1.WorkflowExecutionInfo.fromObject({
      execution: { workflowId: runId, runId: `execution of ${runId}` },
      type: { name: 'agentRun' },
      status: 2,
      startTime: { seconds: 1 },
      closeTime: { seconds: Math.floor(run.endedAt / 1_000), nanos: (run.endedAt % 1_000) * 1_000_000 },
      ...(run.parent === undefined
        ? {}
        : { parentExecution: { workflowId: run.parent, runId: 'p' }, rootExecution: { workflowId: run.parent, runId: 'p' } }),
    });
  }
}

function isMeant(query: string, runId: string): boolean {
  const [, prefix, id] = /STARTS_WITH '([^']*)'|WorkflowId = '([^']*)'/.exec(query) ?? [];
  return prefix === undefined ? runId === id : runId.startsWith(prefix);
}

test('the descendants of a run that has just ended are removed with it, also if the server does not list them yet', async () => {
  const server = new Server();
  const now = Date.now();
  server.add('r', { endedAt: now - 100, listedAt: now });
  server.add('r/child', { endedAt: now - 200, listedAt: now + 1_000, parent: 'r' });
  const deleted = deleteRun(server.client, 'r', {});
  await vi.advanceTimersByTimeAsync(5_000);
  expect(await deleted).toBe('deleted');
  expect(server.removed).toEqual(['r/child', 'r']);
});

test('the removal of a run that ended a while ago waits for no list', async () => {
  const server = new Server();
  const now = Date.now();
  server.add('r', { endedAt: now - 60_000, listedAt: now });
  expect(await deleteRun(server.client, 'r', {})).toBe('deleted');
  expect(server.removed).toEqual(['r']);
});
