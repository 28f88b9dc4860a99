import type { ApplicationFailure } from '@temporalio/common';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { utf8Length } from '../../../src/core/domain/text.ts';
import { callTool, say, scriptedModel, together } from '../../../src/testing/index.ts';
import { defineAgent, defineTool } from '../../../src/index.ts';
import { assistant, search } from '../testbed/agents.ts';
import { clerk } from '../approvals/decision-agents.ts';
import { executionStatus, historyOf, Testbed, until } from '../testbed/testbed.ts';

interface WorkflowMetadata {
  currentDetails?: string;
  definition?: {
    queryDefinitions?: { name?: string; description?: string }[];
    updateDefinitions?: { name?: string; description?: string }[];
  };
}

test('in the Temporal UI a run has named activities with summaries, and current details', async () => {
  await using testbed = await Testbed.open();
  const query = `Kipchoge's "marathon" record ${'Ω'.repeat(500)}`;
  const scripted = scriptedModel([
    together(say('I need his pace first.'), callTool('search', { query: 'Kipchoge marathon record' }), callTool('search', { query })),
    say('17,000 hours'),
  ]);
  await testbed.work({ agents: [assistant], providers: { scripted } });
  const handle = await testbed.client.start(assistant, { input: 'How long?', taskQueue: testbed.taskQueue });
  await handle.result();

  const scheduled = (await historyOf(testbed, handle)).filter((event) => event.activityTaskScheduledEventAttributes);
  const story = scheduled.map((event) => [
    event.activityTaskScheduledEventAttributes?.activityType?.name,
    summaryOf(event.userMetadata?.summary?.data),
  ]);
  expect(story.slice(0, 3)).toEqual([
    ['resolveAgent', 'assistant'],
    ['callModel', 'step 1 · model-1 · 1 message new'],
    ['search', 'Kipchoge marathon record · I need his pace first.'],
  ]);
  expect(story[3]?.[1]).toMatch(/^Kipchoge's "marathon" record Ω+… · I need his pace first\.$/);
  expect(story[4]).toEqual(['callModel', 'step 2 · model-1 · 1 message new']);
  for (const event of scheduled) expect(event.userMetadata?.summary?.data?.length).toBeLessThanOrEqual(400);

  const metadata = await testbed.client.temporal.workflow.getHandle(handle.runId).query<WorkflowMetadata>('__temporal_workflow_metadata');
  expect(metadata.currentDetails).toContain('assistant: completed');
  expect(metadata.currentDetails).toContain('**Last thought**\n\n17,000 hours');
  expect(utf8Length(metadata.currentDetails ?? '')).toBeLessThan(2_000);
  expect(metadata.definition?.queryDefinitions).toContainEqual(
    expect.objectContaining({ name: 'status', description: 'Status, step, usage' }),
  );
});

test('in the Temporal UI the summary of a call begins with the label of its tool, if the tool has one', async () => {
  await using testbed = await Testbed.open();
  const labelled = defineTool({
    name: 'find',
    description: 'd',
    label: 'Find',
    parameters: z.object({ query: z.string() }),
    execute: () => 'found',
  });
  const agent = defineAgent({ name: 'finder', model: 'scripted/model-1', tools: [search, labelled] });
  const scripted = scriptedModel([
    together(callTool('search', { query: 'his pace' }), callTool('find', { query: 'his pace' })),
    say('done'),
  ]);
  await testbed.work({ agents: [agent], providers: { scripted } });
  const handle = await testbed.client.start(agent, { input: 'How long?', taskQueue: testbed.taskQueue });
  await handle.result();

  const scheduled = (await historyOf(testbed, handle)).filter((event) => event.activityTaskScheduledEventAttributes);
  const summaries = scheduled.map((event) => summaryOf(event.userMetadata?.summary?.data));
  expect(summaries).toEqual(expect.arrayContaining(['his pace', 'Find · his pace']));
});

test('a Schedule starts the same run as the client', async () => {
  await using testbed = await Testbed.open();
  await testbed.work({ agents: [assistant], providers: { scripted: scriptedModel([say('on time')]) } });
  const { schedule } = testbed.client.temporal;
  const args = [{ agent: 'assistant', input: 'Q' }];
  const handle = await schedule.create({
    scheduleId: testbed.taskQueue,
    spec: {},
    action: { type: 'startWorkflow', workflowType: 'agentRun', taskQueue: testbed.taskQueue, args },
  });
  await handle.trigger();
  let runId = '';
  await until(async () => {
    const [action] = (await handle.describe()).info.recentActions;
    runId = action?.action.workflow.workflowId ?? '';
    return runId !== '';
  }, 'the schedule to start the run');
  expect(await testbed.client.handle(runId).result()).toMatchObject({ status: 'completed', output: 'on time' });
  expect(await executionStatus(testbed, runId)).toBe('COMPLETED');
  await handle.delete();
});

function summaryOf(data: Uint8Array | null | undefined): unknown {
  return JSON.parse(Buffer.from(data ?? []).toString() || 'null');
}

test('a waiting run shows its pending call and the commands that decide it, is found by the call, and refuses a decision without a stack trace', async () => {
  await using testbed = await Testbed.open();
  const scripted = scriptedModel([together(say('I pay it back.'), callTool('refund', { amount: 5 }, 'c1')), say('done')]);
  await testbed.work({ agents: [clerk], providers: { scripted } });
  const run = await testbed.client.start(clerk, {
    input: 'Pay back\norder $42',
    principal: { tenant: 'acme', user: 'ada' },
    tags: ['shop'],
    taskQueue: testbed.taskQueue,
  });
  await until(async () => (await run.status()).status === 'pending_confirmation', 'the run waits');
  const workflow = testbed.client.temporal.workflow.getHandle(run.runId);
  const { currentDetails = '', definition } = await workflow.query<WorkflowMetadata>('__temporal_workflow_metadata');
  const shown = [
    'clerk: pending_confirmation',
    '- **For** ada of acme\n- **Tags** shop\n- **Asked** Pay back order &#36;42\n',
    '**Waits for a decision: refund**',
    '{"amount":5}',
    '*Send an Update*, `approve` or `reject`:',
    '**Last thought**\n\nI pay it back.',
  ];
  for (const text of [...shown, `npx longhaul approve ${run.runId} c1`, `npx longhaul reject ${run.runId} c1`])
    expect(currentDetails).toContain(text);
  // The form that is shown can be sent unchanged.
  const [, form = ''] = /`reject`:\n\n```json\n(.*)\n```/.exec(currentDetails) ?? [];
  const updates = definition?.updateDefinitions ?? [];
  expect(updates.map(({ name }) => name)).toEqual([
    'send',
    'pause',
    'resume',
    'approve',
    'reject',
    'respond',
    'revoke',
    'raise',
    'setPermissions',
    'interrupt',
    'close',
    'refresh',
    'reset',
  ]);
  expect(updates.every(({ description }) => description !== undefined && description !== '')).toBe(true);

  const query = `LonghaulWaitingFor = 'refund' AND WorkflowId = '${run.runId}'`;
  const found = async (): Promise<number> => (await testbed.client.temporal.workflow.count(query)).count;
  await until(async () => (await found()) === 1, 'the run is found by what it waits for');
  const refused: unknown = await workflow
    .executeUpdate('approve', { args: [{ callId: 'c1', id: 'd0', digest: 'another' }] })
    .catch((error: unknown) => (error as Error).cause);
  expect(refused).toMatchObject({ type: 'digest_mismatch' });
  expect((refused as ApplicationFailure).failure?.stackTrace ?? '').toBe('');
  expect(await workflow.executeUpdate('approve', { args: [JSON.parse(form)] })).toMatchObject({ status: 'decided' });
  await run.result();
  await until(async () => (await found()) === 0, 'a run that waits for nothing is not found');
});
