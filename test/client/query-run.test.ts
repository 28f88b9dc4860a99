import { ServiceError } from '@temporalio/client';
import type { Client } from '@temporalio/client';
import { expect, test } from 'vitest';
import { queryRun } from '../../src/client/executions.ts';

/** A client whose queries have these outcomes, one after the other, and the number of queries that it got. */
function clientWith(...outcomes: (() => unknown)[]): { client: Client; sent: () => number } {
  let sent = 0;
  const query = async (): Promise<unknown> => {
    sent += 1;
    return outcomes[sent - 1]?.();
  };
  const client = { workflow: { getHandle: () => ({ query }) }, withDeadline: (_: number, work: () => Promise<unknown>) => work() };
  return { client: client as unknown as Client, sent: () => sent };
}

function bufferFull(): never {
  const details =
    'consistent query buffer is full, this may be caused by too many queries and workflow not able to process query fast enough';
  const cause = Object.assign(new Error(`8 RESOURCE_EXHAUSTED: ${details}`), { code: 8, details, metadata: {} });
  throw new ServiceError('Failed to query Workflow', { cause });
}

test('a query beside another one of the same run is sent again, and answered', async () => {
  const { client, sent } = clientWith(bufferFull, bufferFull, () => ({ status: 'running' }));
  expect(await queryRun(client, 'run-1', 'status')).toEqual({ status: 'running' });
  expect(sent()).toBe(3);
});
