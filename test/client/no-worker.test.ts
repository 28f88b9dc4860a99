import { Client, Connection } from '@temporalio/client';
import proto from '@temporalio/proto';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { watchForWorker } from '../../src/client/missing-workers.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A client of a server that describes each run as running, with this many events. */
function clientOf(historyLength: number): Client {
  const described = proto.temporal.api.workflowservice.v1.DescribeWorkflowExecutionResponse.fromObject({
    workflowExecutionInfo: {
      execution: { workflowId: 'r', runId: 'first' },
      type: { name: 'agentRun' },
      status: 'WORKFLOW_EXECUTION_STATUS_RUNNING',
      historyLength,
      taskQueue: 'desks',
      startTime: { seconds: 1 },
    },
  });
  const describe = (): Promise<unknown> => Promise.resolve(described);
  return new Client({ connection: Connection.lazy(), interceptors: { workflow: [{ describe: describe as never }] } });
}

/** The note that a caller who waits for the run gets within five seconds. */
async function toldWithin5s(client: Client): Promise<string[]> {
  const over = new AbortController();
  const told: string[] = [];
  void watchForWorker(client, 'r', over.signal, (line) => told.push(line));
  await vi.advanceTimersByTimeAsync(5_000);
  over.abort();
  return told;
}

test('a caller that waits is told within five seconds that no worker has taken the run, with its task queue', async () => {
  expect(await toldWithin5s(clientOf(2))).toEqual([expect.stringMatching(/^No worker has taken run "r" yet: .* "desks" /)]);
});

test('a caller whose run a worker has taken gets no note', async () => {
  expect(await toldWithin5s(clientOf(5))).toEqual([]);
});
