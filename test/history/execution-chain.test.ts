import type { Client } from '@temporalio/client';
import { ServiceError } from '@temporalio/client';
import { expect, test } from 'vitest';
import { executionChain } from '../../src/history/history-events.ts';

/** A server on which each execution has continued the named one; undefined for the first of a chain. */
function serverWith(continued: Record<string, string | undefined>): Client {
  const getWorkflowExecutionHistory = ({ execution }: { execution: { runId: string } }): Promise<unknown> => {
    const { runId } = execution;
    if (!Object.hasOwn(continued, runId)) return Promise.reject(gone());
    const started = { workflowExecutionStartedEventAttributes: { continuedExecutionRunId: continued[runId] ?? '' } };
    return Promise.resolve({ history: { events: [started] } });
  };
  return { options: { namespace: 'n' }, workflowService: { getWorkflowExecutionHistory } } as Partial<Client> as Client;
}

function gone(): Error {
  return new ServiceError('gone', { cause: Object.assign(new Error('not found'), { code: 5, details: 'not found', metadata: {} }) });
}

test('a run that never continued is one execution', async () => {
  expect(await executionChain(serverWith({ a: undefined }), 'w', 'a')).toEqual({ executionIds: ['a'], complete: true });
});

test('the executions of a run are in order, the oldest first', async () => {
  const chain = await executionChain(serverWith({ a: undefined, b: 'a', c: 'b' }), 'w', 'c');
  expect(chain).toEqual({ executionIds: ['a', 'b', 'c'], complete: true });
});

test('a chain reports that its beginning is missing', async () => {
  expect(await executionChain(serverWith({ b: 'a', c: 'b' }), 'w', 'c')).toEqual({ executionIds: ['b', 'c'], complete: false });
});
