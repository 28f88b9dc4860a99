import { expect, test } from 'vitest';
import type { Client } from '@temporalio/client';
import { noticeOfStart } from '../../src/client/missing-workers.ts';

let namespaces = 0;

/** A client of a namespace of its own whose newest runs are of these agents. */
function clientWith(agents: string[], count = 0): { client: Client; asked: string[] } {
  const asked: string[] = [];
  const attribute = (name: string): object => ({ indexedFields: { LonghaulAgent: { data: Buffer.from(JSON.stringify(name)) } } });
  const client: object = {
    options: { namespace: `unseen-${(namespaces += 1)}` },
    workflow: {
      count: async () => {
        asked.push('count');
        return { count };
      },
    },
    workflowService: {
      listWorkflowExecutions: async () => {
        asked.push('list');
        return { executions: agents.map((name) => ({ searchAttributes: attribute(name) })) };
      },
    },
  };
  return { client: client as Client, asked };
}

const refnd = { kind: 'agent', name: 'refnd', runId: 'r' } as const;

test('the notice names the agents of the newest runs, and the nearest one', async () => {
  const { client } = clientWith(['clerk', 'refund', 'clerk']);
  expect(await noticeOfStart(client, refnd)).toBe(
    'No worker has run an agent "refnd" so far. Did you mean "refund"? Known: "clerk", "refund". The run is safe, and begins as soon as a worker has it.',
  );
});

test('without a run there are no names', async () => {
  const { client } = clientWith([]);
  expect(await noticeOfStart(client, { ...refnd, kind: 'program' })).toBe(
    'No worker has run a program "refnd" so far. The run is safe, and begins as soon as a worker has it.',
  );
});

test('a caller is told only the names that it may know', async () => {
  const { client } = clientWith(['refund', 'clerk']);
  const notice = await noticeOfStart(client, refnd, { mayName: (name) => name === 'clerk' });
  expect(notice).toContain('Known: "clerk".');
  expect(notice).not.toContain('refund');
});

test('ten names are listed at most', async () => {
  const { client } = clientWith(Array.from({ length: 30 }, (_, index) => `other-${index}`));
  expect(await noticeOfStart(client, refnd)).toMatch(/"other-9", …\. The run/);
});

test('the server is asked once for a name that a worker has had, and once a minute for the names', async () => {
  const had = clientWith(['refnd'], 2);
  for (let start = 0; start < 3; start += 1) expect(await noticeOfStart(had.client, refnd)).toBeUndefined();
  expect(had.asked).toEqual(['count']);
  const unknown = clientWith(['clerk']);
  for (let start = 0; start < 3; start += 1) await noticeOfStart(unknown.client, refnd);
  expect(unknown.asked).toEqual(['count', 'list', 'count', 'count']);
});
