import { expect, test } from 'vitest';
import { utf8Length } from '../../src/domain/text.ts';
import { callTool, say, scriptedModel, together } from '../../src/testing/index.ts';
import { assistant } from './agents.ts';
import { executionStatus, historyOf, Testbed, until } from './testbed.ts';

interface WorkflowMetadata {
  currentDetails?: string;
  definition?: { queryDefinitions?: { name?: string; description?: string }[] };
}

test('in the Temporal UI a run reads as a story: named activities with summaries, and current details', async () => {
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
    ['resolveAgent', 'resolve agent assistant'],
    ['callModel', 'step 1 · model-1 · 1 message new'],
    ['search', 'search: Kipchoge marathon record'],
  ]);
  expect(story[3]?.[1]).toMatch(/^search: Kipchoge's "marathon" record Ω+…$/);
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
