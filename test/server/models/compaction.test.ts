import { expect, test } from 'vitest';
import { z } from 'zod';
import type { ModelRequest } from '../../../src/core/domain/model.ts';
import { defineAgent, defineTool } from '../../../src/index.ts';
import { ACTIVITIES } from '../../../src/core/protocol.ts';
import { callTool, failWith, say, scriptedModel, type ScriptEntry, together } from '../../../src/testing/index.ts';
import type { CreateWorkerOptions } from '../../../worker/index.ts';
import { historyOf, Testbed } from '../testbed/testbed.ts';

const fetchPage = defineTool({
  name: 'fetch_page',
  description: 'Fetches a page',
  parameters: z.object({ page: z.number() }),
  execute: ({ page }) => `page ${page}: ${String(page).repeat(2_000)}`,
});

const reader = defineAgent({
  name: 'reader',
  model: 'scripted/model-1',
  instructions: 'Read.',
  tools: [fetchPage],
  limits: { steps: 50 },
  window: { maxBytes: 8_000, keepResults: 1, summaryModel: 'writer/small' },
});

/** Says a lot and fetches a page: results are evicted first, and later the texts are too long. */
const SCRIPT: ScriptEntry[] = [
  ...Array.from({ length: 8 }, (_, index) =>
    together(say(`note ${index} ${'n'.repeat(600)}`), callTool('fetch_page', { page: index }, `c${index}`)),
  ),
  say('done'),
];

interface Told {
  requests: readonly ModelRequest[];
  /** The request for the summary. */
  summaries: readonly ModelRequest[];
  result: object;
  executions: number;
  /** The number of times that each activity was scheduled in the last execution. */
  activities: Record<string, number>;
}

async function tell(options: Partial<CreateWorkerOptions> = {}, workers = 1): Promise<Told> {
  await using testbed = await Testbed.open();
  const scripted = scriptedModel(SCRIPT);
  const writer = scriptedModel([say('They read some pages.')], { repeatLast: true });
  for (let started = 0; started < workers; started += 1) {
    await testbed.work({ agents: [reader], providers: { scripted, writer }, ...options });
  }
  const run = await testbed.client.start(reader, { input: 'Read the pages', taskQueue: testbed.taskQueue });
  const { runId: _, startTime: __, endTime: ___, durationSeconds: ____, ...result } = await run.result();
  const activities: Record<string, number> = {};
  for (const { activityTaskScheduledEventAttributes: scheduled } of await historyOf(testbed, run)) {
    const name = scheduled?.activityType?.name;
    if (name) activities[name] = (activities[name] ?? 0) + 1;
  }
  return { requests: scripted.requests, summaries: writer.requests, result, executions: (await run.status()).executions, activities };
}

test('old results are replaced by markers, and then the older part by a summary, which an activity makes with its own model', async () => {
  const { requests, summaries, result, activities } = await tell();
  expect(result).toMatchObject({ status: 'completed', stepsUsed: 9, toolCallsTotal: 8, usage: { llmCalls: 9 + summaries.length } });
  expect(summaries.length).toBeGreaterThanOrEqual(1);
  expect(activities).toEqual({ resolveAgent: 1, [ACTIVITIES.callModel]: 9, [ACTIVITIES.summarize]: summaries.length, fetch_page: 8 });
  const texts = requests.map(({ conversation }) => JSON.stringify(conversation));
  expect(
    texts.some(
      (text) => text.includes('[removed to save space: the result of \\"fetch_page\\", 2012 bytes]') && !text.includes('Summary of'),
    ),
  ).toBe(true);
  expect(texts.at(-1)).toContain('Summary of the conversation so far:\\nThey read some pages.');
  expect(texts.at(-1)).toContain('7'.repeat(2_000));
  expect(
    texts.every((text) => text.startsWith('[{"author":"user","content":[{"type":"message","role":"user","content":"Read the pages"}]}')),
  ).toBe(true);
  expect(requests.every(({ instructions }) => instructions.join('') === 'Read.')).toBe(true);
  expect(summaries[0]).toMatchObject({ model: 'small', tools: [] });
  expect(JSON.stringify(summaries[0])).toContain('note 0');
});

test('a worker with a cold cache and a second worker send the same requests, byte for byte', async () => {
  const [warm, cold] = [await tell(), await tell({ transcriptCacheSize: 1 }, 2)];
  expect(JSON.stringify(cold.requests)).toBe(JSON.stringify(warm.requests));
  expect(JSON.stringify(cold.summaries)).toBe(JSON.stringify(warm.summaries));
  expect(cold.result).toEqual(warm.result);
});

test.each([undefined, 1])(
  'a run that continues as new sends the same requests too, with a transcript cache of %s bytes',
  async (transcriptCacheSize) => {
    const [whole, split] = [
      await tell(),
      await tell({ continueAsNew: { events: 30 }, ...(transcriptCacheSize === undefined ? {} : { transcriptCacheSize }) }),
    ];
    expect(split.executions).toBeGreaterThanOrEqual(3);
    expect(JSON.stringify(split.requests)).toBe(JSON.stringify(whole.requests));
    expect(JSON.stringify(split.summaries)).toBe(JSON.stringify(whole.summaries));
    expect(split.result).toEqual(whole.result);
  },
);

test('if a model says that the conversation is too long, it is called again with a shorter one', async () => {
  await using testbed = await Testbed.open();
  const roomy = defineAgent({ name: 'roomy', model: 'scripted/model-1', tools: [fetchPage], window: { keepResults: 1 } });
  const calls = [0, 1, 2].map((page) => callTool('fetch_page', { page }, `c${page}`));
  const scripted = scriptedModel([...calls, failWith('context_length_exceeded'), say('done')]);
  await testbed.work({ agents: [roomy], providers: { scripted } });
  const result = await testbed.client.run(roomy, { input: 'Q', taskQueue: testbed.taskQueue });
  expect(result).toMatchObject({ status: 'completed', stepsUsed: 4, usage: { llmCalls: 4 } });
  const [refused = '', shorter = ''] = scripted.requests.slice(3).map(({ conversation }) => JSON.stringify(conversation));
  expect(shorter.length).toBeLessThan(refused.length * 0.75);
  expect(shorter).toContain('2'.repeat(2_000));
});
