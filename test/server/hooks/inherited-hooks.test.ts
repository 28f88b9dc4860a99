import { expect, test } from 'vitest';
import { defineAgent } from '../../../src/index.ts';
import { scriptedModel } from '../../../src/testing/index.ts';
import { Testbed } from '../testbed/testbed.ts';

const payer = defineAgent({ name: 'payer', model: 'child/m' });

test('a worker that lacks a hook of an ancestor refuses the descendant, and names the hook', async () => {
  await using testbed = await Testbed.open();
  await testbed.work({ agents: [payer], providers: { child: scriptedModel([]) }, missingTimeout: '1s' });
  const parent = { runId: 'lead-1', depth: 1, checkMs: 3_600_000, hooks: [{ name: 'guard', on: 'pre_tool_use', of: 'lead' }] };
  const { workflowId } = await testbed.client.temporal.workflow.start('agentRun', {
    args: [{ agent: 'payer', input: 'Pay', parent }],
    taskQueue: testbed.taskQueue,
    workflowId: `payer-${testbed.taskQueue}`,
  });
  const result = await testbed.client.handle(workflowId).result();
  expect(result).toMatchObject({
    status: 'error',
    errorCode: 'unknown_hook',
    error: expect.stringContaining('No agent "lead" in this worker, of which the run needs hook "guard" for "pre_tool_use"') as string,
  });
});
