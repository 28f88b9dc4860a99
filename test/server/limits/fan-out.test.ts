import { expect, test } from 'vitest';
import { z } from 'zod';
import { defineAgent, defineTool } from '../../../src/index.ts';
import { callTool, say, scriptedModel, together } from '../../../src/testing/index.ts';
import { historyOf, Testbed } from '../testbed/testbed.ts';

const CALLS = 200;
const ARGUMENT_CHARS = 5_000;
const RESULT_CHARS = 50_000;

const fetchPage = defineTool({
  name: 'fetch_page',
  description: 'Fetches a page',
  parameters: z.object({ number: z.number(), note: z.string() }),
  execute: ({ number }) => `page ${number}: ${'r'.repeat(RESULT_CHARS)}`,
});
const crawler = defineAgent({
  name: 'crawler',
  model: 'scripted/m',
  tools: [fetchPage],
  window: { maxTokens: 1_000_000, maxBytes: 1_200_000 },
});

test('200 calls in one response, with arguments of 5 kB and results of 50 kB each, complete; the model reads as much as its window holds', async () => {
  await using testbed = await Testbed.open();
  const calls = Array.from({ length: CALLS }, (_, number) =>
    callTool('fetch_page', { number, note: 'n'.repeat(ARGUMENT_CHARS) }, `c${number}`),
  );
  const [first = say(''), ...others] = calls;
  const scripted = scriptedModel([together(first, ...others), say('done')]);
  await testbed.work({ agents: [crawler], providers: { scripted } });
  const run = await testbed.client.start(crawler, { input: 'Q', taskQueue: testbed.taskQueue });
  const result = await run.result();
  expect(result).toMatchObject({ status: 'completed', toolCallsTotal: CALLS, stepsUsed: 2 });

  const events = await historyOf(testbed, run);
  const failedTasks = events.filter((event) => event.workflowTaskFailedEventAttributes);
  expect(failedTasks).toEqual([]);
  expect(events.filter((event) => (event.activityTaskStartedEventAttributes?.attempt ?? 1) > 1)).toEqual([]);

  const request = JSON.stringify(scripted.requests[1]?.conversation);
  expect(request).toContain(`page ${CALLS - 1}: `);
  expect(request).toContain('removed to save space');
  expect(request.length).toBeLessThan(1_500_000);
}, 120_000);
