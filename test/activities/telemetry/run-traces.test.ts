import type { Client } from '@temporalio/client';
import { expect, test } from 'vitest';
import { RunTraces } from '../../../activities/telemetry/run-traces.ts';
import { traceOfStart } from '../../../src/telemetry/ids.ts';

const EXECUTION = { namespace: 'default', workflowId: 'clerk-1', executionId: 'e1', firstExecutionId: 'e1' };
const RUN = { namespace: 'default', runId: 'clerk-1', firstExecutionId: 'e1' };
const TRACEPARENT = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';

/** A client whose server is away. */
function unreachable(): { client: Client; asked: () => number } {
  let asked = 0;
  const client = {
    options: { namespace: 'default' },
    withDeadline: async () => {
      asked += 1;
      throw new Error('unreachable');
    },
  };
  return { client: client as never, asked: () => asked };
}

test.each([
  ['begins a trace', {}, traceOfStart(RUN, undefined)],
  ['is below its caller', { traceparent: TRACEPARENT }, traceOfStart(RUN, TRACEPARENT)],
  ['is a session', { isSession: true as const }, { ...traceOfStart(RUN, undefined), isSession: true }],
])('the server is not queried for the place of a run that %s and has begun in this process', async (_, beginning, expected) => {
  const traces = new RunTraces();
  const { client, asked } = unreachable();
  traces.began(EXECUTION, { key: '', ...beginning });
  expect(await traces.of(client, { workflowId: 'clerk-1', executionId: 'e1', key: '' })).toEqual(expected);
  expect(asked()).toBe(0);
});

test('a run inside a workflow of the user has another place than the workflow', async () => {
  const traces = new RunTraces();
  const { client } = unreachable();
  traces.began(EXECUTION, { key: 'a' });
  const trace = await traces.of(client, { workflowId: 'clerk-1', executionId: 'e1', key: 'a' });
  expect(trace).toEqual(traceOfStart({ ...RUN, runId: 'clerk-1/a' }, undefined));
  expect(await traces.of(client, { workflowId: 'clerk-1', executionId: 'e1', key: '' })).toBeUndefined();
});

test('the server is queried for the place of a child, and again if it has not answered', async () => {
  const traces = new RunTraces();
  const { client, asked } = unreachable();
  traces.began(EXECUTION, { key: '', isChild: true });
  const place = { workflowId: 'clerk-1', executionId: 'e1', key: '' };
  expect([await traces.of(client, place), await traces.of(client, place)]).toEqual([undefined, undefined]);
  expect(asked()).toBe(2);
});
